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
	// IfUpdatedAt, where not nil, is the UpdatedAt that the pass saw: the write is
	// refused with Conflict where the memory has another one by now.
	IfUpdatedAt *Micros
}

// Move says that a memory was renamed or merged into another.
type Move struct {
	From, Into MemoryID
}

// Pass is what one memory pass filed about a stretch.
type Pass struct {
	Stretch
	// Hash is of everything that the caller sent. A receipt that knows it means
	// that this pass was recorded before.
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

// maxReplaced is how many replaced passes a receipt remembers. One that is sent
// again after so many others took its place is taken for a new one.
const maxReplaced = 20

// Receipt is what is kept of the passes recorded under one key: the hash of the
// one that counts, and those of the passes it replaced, latest last.
type Receipt struct {
	Hash     string
	Replaced []string
}

// knows says whether a pass of this hash was recorded, be it that another took
// its place since.
func (r Receipt) knows(hash string) bool {
	return r.Hash == hash || slices.Contains(r.Replaced, hash)
}

// replacedBy is the receipt once another pass counts.
func (r Receipt) replacedBy(hash string) Receipt {
	next := Receipt{Hash: hash}
	if r.Hash != "" {
		next.Replaced = append(slices.Clone(r.Replaced), r.Hash)
	}
	next.Replaced = next.Replaced[max(0, len(next.Replaced)-maxReplaced):]
	return next
}

// PassPlan is what a store writes for a pass, all in one commit.
type PassPlan struct {
	// Repeated says that the receipt knows the pass and nothing is written.
	Repeated bool
	Receipt  Receipt
	Writes   []Write
	Deletes  []MemoryID
	Moves    []Move
	// Settled are the memories that the pass wrote, here or by itself: a move away
	// from one has ended.
	Settled []MemoryID
	// Episode is nil where the pass has no line; an episode that an earlier pass
	// left under the same key is then deleted.
	Episode *Episode
	// Missing lists what the pass claims to have written but is not there.
	Missing []MemoryID
}

// PlanPass decides what recording a pass writes: receipt is what was found under
// the pass's key, zero where there is none, and found holds the memories of
// p.Touched that exist. Its errors are of kind Conflict, where a memory changed
// since the pass saw it, NotFound, where a move leads to nothing, and Invalid,
// where the pass itself removes what a move leads to.
func PlanPass(p Pass, receipt Receipt, found map[MemoryID]Micros) (PassPlan, error) {
	written := make(map[MemoryID]bool)
	for _, w := range p.Writes {
		written[w.ID] = true
	}
	plan := PassPlan{Repeated: receipt.knows(p.Hash), Receipt: receipt}
	for _, id := range p.Wrote {
		if _, ok := found[id]; !ok && (plan.Repeated || !written[id]) {
			plan.Missing = append(plan.Missing, id)
		}
	}
	if plan.Repeated {
		return plan, nil
	}
	for i, w := range p.Writes {
		if at, ok := found[w.ID]; w.IfUpdatedAt != nil && (!ok || at != *w.IfUpdatedAt) {
			return PassPlan{}, Errorf(Conflict, fmt.Sprintf("writes[%d].if_updated_at", i), "%q changed since the pass read it", w.Name)
		}
	}
	there := func(id MemoryID) bool { _, ok := found[id]; return ok || written[id] }
	var err error
	if plan.Moves, err = p.movesToTheirEnds(there); err != nil {
		return PassPlan{}, err
	}
	plan.Receipt, plan.Writes, plan.Deletes = receipt.replacedBy(p.Hash), p.Writes, p.removed()
	for _, id := range slices.Concat(ids(p.Writes), p.Wrote) {
		if there(id) && !slices.Contains(plan.Deletes, id) && !slices.Contains(plan.Settled, id) {
			plan.Settled = append(plan.Settled, id)
		}
	}
	if p.Gist != "" {
		plan.Episode = &Episode{Stretch: p.Stretch, Gist: p.Gist, Blocked: p.Blocked, Handle: HandleOf(p.To), Pointers: plan.Settled}
	}
	return plan, nil
}

func ids(writes []Write) []MemoryID {
	out := make([]MemoryID, len(writes))
	for i, w := range writes {
		out[i] = w.ID
	}
	return out
}

// removed lists what the pass deletes or moves away, each once.
func (p Pass) removed() []MemoryID {
	gone := slices.Clone(p.Deletes)
	for _, m := range p.Moves {
		if !slices.Contains(gone, m.From) {
			gone = append(gone, m.From)
		}
	}
	return gone
}

// movesToTheirEnds leads each move past those memories that the pass moves on
// itself.
func (p Pass) movesToTheirEnds(there func(MemoryID) bool) ([]Move, error) {
	into := make(map[MemoryID]MemoryID)
	for _, m := range p.Moves {
		into[m.From] = m.Into
	}
	gone := p.removed()
	var moves []Move
	for i, m := range p.Moves {
		end := m.Into
		for range p.Moves {
			if next, ok := into[end]; ok {
				end = next
			}
		}
		field := fmt.Sprintf("moves[%d].into", i)
		switch {
		case slices.Contains(gone, end):
			return nil, Errorf(Invalid, field, "the pass removes the memory that this leads to")
		case !there(end):
			return nil, Errorf(NotFound, field, "no such memory")
		}
		moves = append(moves, Move{From: m.From, Into: end})
	}
	return moves, nil
}

// PassResult says what recording a pass did.
type PassResult struct {
	Repeated bool
	Missing  []MemoryID
	// Episode is what was written or was there before; nil without a line.
	Episode *Episode
}
