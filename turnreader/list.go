package turnreader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
)

// How many names of each kind, and in all, a turn shows.
const (
	maxListed = 300
	capOther  = 60
)

var capByKind = map[hippo.Kind]int{"pages": 120, "sources": 40, "notebook": 60}

// ListBlock is the memory list as a turn shows it.
type ListBlock struct {
	Text string
	// Shown and Total count memories; Hidden counts by kind what a cap left out.
	Shown, Total int
	Hidden       map[hippo.Kind]int
}

func listBlock(items []hippo.Item) ListBlock {
	b := ListBlock{Total: len(items), Hidden: make(map[hippo.Kind]int)}
	var lines []string
	shown := make(map[hippo.Kind]int)
	for _, item := range items {
		kind := hippo.KindOf(item.Name)
		limit, ok := capByKind[kind]
		if !ok {
			limit = capOther
		}
		if shown[kind] == limit || b.Shown == maxListed {
			b.Hidden[kind]++
			continue
		}
		shown[kind]++
		b.Shown++
		lines = append(lines, "- "+item.Name)
	}
	if len(items) == 0 {
		return b
	}
	if len(b.Hidden) > 0 {
		lines = append(lines, "Not shown here: "+counts(b.Hidden)+".")
	}
	b.Text = prompttext.Block{
		Title: "MEMORIES",
		Note:  fmt.Sprintf("Names of the memories on file (%d), latest change first. They are the agent's own records, not the user's words; open_memory reads one.", len(items)),
		Lines: lines,
	}.String()
	return b
}

// counts says how many of each kind, such as "12 pages, 3 other".
func counts(byKind map[hippo.Kind]int) string {
	kinds := make([]string, 0, len(byKind))
	for kind := range byKind {
		kinds = append(kinds, string(kind))
	}
	slices.Sort(kinds)
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", byKind[hippo.Kind(kind)], kind)
	}
	return strings.Join(kinds, ", ")
}
