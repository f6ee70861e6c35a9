package hippo

import (
	"fmt"
	"slices"
)

// What one memory pass may file. All of it goes into one commit, which stays
// under gRPC's default of 4 MiB; a memory stays under Firestore's 1 MiB for a
// document, with room for the fields that others add.
const (
	MaxPassMemories = 100
	MaxPassBytes    = 3 << 20
	MaxMemoryBytes  = 900 << 10
)

// Memory is a long-term record: the truth of which the index is derived.
type Memory struct {
	ID      MemoryID
	Name    string
	Content string
	// UpdatedAt is the record's own time where it has one, else the time of the
	// document's last write. Zero asks a write for the store's time.
	UpdatedAt Micros
}

// Write is a memory as a pass files it.
type Write struct {
	ID      MemoryID
	Name    string
	Content string
	// IfUpdatedAt, where not zero, is the UpdatedAt that the pass saw: the write
	// is refused with Conflict where the memory has another one by now.
	IfUpdatedAt Micros
}

// Move says that a memory was renamed or merged into another.
type Move struct {
	From, Into MemoryID
}

// Pass is what one memory pass filed about a stretch.
type Pass struct {
	Stretch
	// Hash is of everything that the caller sent. A receipt with the same hash
	// means that this pass was recorded before.
	Hash    string
	Writes  []Write
	Deletes []MemoryID
	Moves   []Move
	// Wrote names memories that the pass wrote by itself.
	Wrote []MemoryID
	// Gist is the episode's line; where it is empty no episode is written.
	Gist    string
	Blocked string
}

// Touched lists every memory that the pass names, each once, in order.
func (p Pass) Touched() []MemoryID {
	var ids []MemoryID
	for _, w := range p.Writes {
		ids = append(ids, w.ID)
	}
	ids = append(ids, p.Deletes...)
	ids = append(ids, p.Wrote...)
	for _, m := range p.Moves {
		ids = append(ids, m.From, m.Into)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// PassPlan is what a store writes for a pass, all in one commit.
type PassPlan struct {
	// Repeated says that the receipt is there already and nothing is written.
	Repeated bool
	Writes   []Write
	Deletes  []MemoryID
	Moves    []Move
	// Episode is nil where the pass has no line; an episode that an earlier pass
	// left under the same key is then deleted.
	Episode *Episode
	// Missing lists what the pass claims to have written but is not there.
	Missing []MemoryID
}

// PlanPass decides what recording a pass writes: receipt is the hash found under
// the pass's key, empty where there is none, and found holds the memories of
// p.Touched that exist. Its errors are of kind Conflict, where a memory changed
// since the pass saw it, and NotFound, where a move leads to nothing.
func PlanPass(p Pass, receipt string, found map[MemoryID]Micros) (PassPlan, error) {
	var plan PassPlan
	for _, id := range p.Wrote {
		if _, ok := found[id]; !ok {
			plan.Missing = append(plan.Missing, id)
		}
	}
	if receipt == p.Hash {
		plan.Repeated = true
		return plan, nil
	}
	written := make(map[MemoryID]bool)
	for i, w := range p.Writes {
		if at, ok := found[w.ID]; w.IfUpdatedAt != 0 && (!ok || at != w.IfUpdatedAt) {
			return PassPlan{}, Errorf(Conflict, fmt.Sprintf("writes[%d].if_updated_at", i), "%q changed since the pass read it", w.Name)
		}
		written[w.ID] = true
	}
	plan.Writes, plan.Deletes, plan.Moves = p.Writes, slices.Clone(p.Deletes), p.Moves
	for i, m := range p.Moves {
		if _, ok := found[m.Into]; !ok && !written[m.Into] {
			return PassPlan{}, Errorf(NotFound, fmt.Sprintf("moves[%d].into", i), "no such memory")
		}
		if !slices.Contains(plan.Deletes, m.From) {
			plan.Deletes = append(plan.Deletes, m.From)
		}
	}
	if p.Gist != "" {
		plan.Episode = &Episode{Stretch: p.Stretch, Gist: p.Gist, Blocked: p.Blocked, Handle: HandleOf(p.To), Pointers: pointers(p, found)}
	}
	return plan, nil
}

// pointers lists the memories that the pass wrote, in the order it named them.
func pointers(p Pass, found map[MemoryID]Micros) []MemoryID {
	var ids []MemoryID
	add := func(id MemoryID) {
		if !slices.Contains(ids, id) && !slices.Contains(p.Deletes, id) {
			ids = append(ids, id)
		}
	}
	for _, w := range p.Writes {
		add(w.ID)
	}
	for _, id := range p.Wrote {
		if _, ok := found[id]; ok {
			add(id)
		}
	}
	return ids
}

// PassResult says what recording a pass did.
type PassResult struct {
	Repeated bool
	Missing  []MemoryID
	// Episode is what was written or was there before; nil without a line.
	Episode *Episode
}
