package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hippofire/hippofire/functions"
)

// target is a function as it is deployed.
type target struct {
	entryPoint string
	// name is the function's name and that of its account, behind the prefix.
	name string
	// writes says that the function writes the database, asks that it publishes
	// to the repair topic.
	writes, asks bool
	// size are the flags of its instances.
	size func(s Settings) []any
}

// targets has every function, whether or not this tree registers it. One that is
// not here is not deployed, and a test says so.
var targets = []target{
	{"IndexHook", "index-hook", true, true, hookSize},
	{"Repair", "repair", true, true, repairSize},
	{"TurnContext", "turn-context", false, true, httpSize},
	{"RecordEpisode", "record-episode", true, true, httpSize},
	{"SaveTurn", "save-turn", true, false, httpSize},
	{"ListMemories", "list-memories", false, true, httpSize},
	{"OpenMemory", "open-memory", false, false, httpSize},
	{"OpenStretch", "open-stretch", false, false, httpSize},
	{"SearchHistory", "search-history", false, false, httpSize},
}

// hookSize: one instance coalesces what it holds at once, so few instances with
// many requests each make the largest batches. More than one request at a time
// needs a whole CPU.
func hookSize(s Settings) []any {
	return size(s.HookConcurrency, "512Mi", "60s", 0, s.HookMaxInstances)
}

// repairSize: an event function ends at 540 s. A run does a part of its work and
// publishes a message for the rest, well before that.
func repairSize(Settings) []any { return size(4, "1Gi", "540s", 0, 5) }

func httpSize(s Settings) []any { return size(40, "512Mi", "60s", s.MinInstances, s.MaxInstances) }

func size(concurrency int, memory, timeout string, least, most int) []any {
	return []any{
		"--concurrency=" + strconv.Itoa(concurrency), "--cpu=1", "--memory=" + memory, "--timeout=" + timeout,
		"--min-instances=" + strconv.Itoa(least), "--max-instances=" + strconv.Itoa(most),
	}
}

// deployed are the targets that this tree registers, those of events first.
func deployed() ([]target, error) {
	var list []target
	for _, name := range slices.Concat(functions.EventNames(), functions.HTTPNames()) {
		at := slices.IndexFunc(targets, func(t target) bool { return t.entryPoint == name })
		if at < 0 {
			return nil, fmt.Errorf("nothing says how %s is deployed: add it to scripts/internal/deploy/targets.go", name)
		}
		list = append(list, targets[at])
	}
	return list, nil
}

// triggered says whether events call the function.
func (t target) triggered() bool { return t.entryPoint == "IndexHook" || t.entryPoint == "Repair" }
