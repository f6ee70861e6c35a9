package turnreader

import (
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// Source says how a list was come by.
type Source string

// The sources of a list.
const (
	Warm Source = "warm" // from this process's cache, brought up to date
	Cold Source = "cold" // from the whole index
	Scan Source = "scan" // from the memories, where there is no index to read
)

// Known is what a tenant knows, as one read saw it: every listable memory, in the
// order of the list. It never changes.
type Known struct {
	naming hippo.Naming
	gen    hippo.Generation // zero where the list is from a scan
	parts  []*part          // by shard, or a single one
	at     time.Time
	total  int
	bytes  int64
	block  ListBlock
}

// About what a Known takes in memory beside its items, each of its parts, and what
// the scan said of a name. Many tenants know little.
const (
	knownBytes   = 800
	partBytes    = 350
	verdictBytes = 50
)

// newKnown makes a Known of its parts; before is an earlier one, nil for none,
// which has names scanned already.
func newKnown(naming hippo.Naming, gen hippo.Generation, parts []*part, at time.Time, before *Known) *Known {
	k := &Known{naming: naming, gen: gen, parts: parts, at: at, bytes: knownBytes}
	for _, p := range parts {
		k.total += len(p.items)
		k.bytes += partBytes + p.bytes
	}
	var scanned verdicts
	if before != nil {
		scanned = before.block.scanned
	}
	k.block = listBlock(parts, k.total, scanned)
	k.bytes += int64(len(k.block.Text))
	for text := range k.block.scanned {
		k.bytes += int64(len(text) + verdictBytes)
	}
	return k
}

// scannedKnown is the list that a scan of the memories gives.
func scannedKnown(naming hippo.Naming, entries []hippo.Entry) *Known {
	times := make(map[hippo.MemoryID]hippo.Micros, len(entries))
	for _, e := range entries {
		times[e.ID] = e.UpdatedAt
	}
	all := newPart(naming, func(hippo.MemoryID) bool { return true }, 0, times, nil)
	return newKnown(naming, hippo.Generation{}, []*part{all}, time.Time{}, nil)
}

// knownOf reads a whole generation; false where a shard of it is missing.
func knownOf(naming hippo.Naming, gen hippo.Generation, shards []*hippo.Shard, at time.Time) (*Known, bool) {
	parts := make([]*part, len(shards))
	for n, s := range shards {
		if s == nil {
			return nil, false
		}
		parts[n] = partOf(naming, gen, s, nil)
	}
	return newKnown(naming, gen, parts, at, nil), true
}

func partOf(naming hippo.Naming, gen hippo.Generation, s *hippo.Shard, before *part) *part {
	belongs := func(id hippo.MemoryID) bool { return gen.ShardOf(id) == s.ID }
	return newPart(naming, belongs, s.Rev, s.Entries, before)
}

// with is k with newer shards in the place of its own.
func (k *Known) with(read hippo.IndexRead) *Known {
	parts := slices.Clone(k.parts)
	changed := false
	for i := range read.Shards {
		if s := &read.Shards[i]; s.ID.Gen == k.gen.ID && s.ID.N < len(parts) {
			parts[s.ID.N], changed = partOf(k.naming, k.gen, s, parts[s.ID.N]), true
		}
	}
	if !changed {
		same := *k
		same.at = read.At
		return &same
	}
	return newKnown(k.naming, k.gen, parts, read.At, k)
}

// seen lists the revisions of k's shards.
func (k *Known) seen() []int64 {
	revs := make([]int64, len(k.parts))
	for n, p := range k.parts {
		revs[n] = p.rev
	}
	return revs
}

// Len counts the listed memories.
func (k *Known) Len() int { return k.total }

// Has says whether a memory is listed.
func (k *Known) Has(id hippo.MemoryID) bool {
	_, ok := k.find(id)
	return ok
}

// find is a listed memory, by its id.
func (k *Known) find(id hippo.MemoryID) (hippo.Item, bool) {
	shard := 0
	if !k.gen.IsZero() {
		shard = k.gen.ShardOf(id).N
	}
	at, ok := k.parts[shard].entries[id]
	if !ok {
		return hippo.Item{}, false
	}
	name, ok := k.naming.Name(id)
	return hippo.Item{ID: id, Name: name, UpdatedAt: at}, ok
}

// All yields the list in its order.
func (k *Known) All() iter.Seq[hippo.Item] { return k.behind(hippo.Item{}) }

// behind yields what stands in the list behind an item, which need not be listed;
// the zero item stands before all.
func (k *Known) behind(item hippo.Item) iter.Seq[hippo.Item] {
	lists := make([][]hippo.Item, len(k.parts))
	for n, p := range k.parts {
		lists[n] = p.items
		if item != (hippo.Item{}) {
			first := sort.Search(len(p.items), func(i int) bool { return hippo.CompareItems(p.items[i], item) > 0 })
			lists[n] = p.items[first:]
		}
	}
	return inOrder(lists)
}

// ofKind counts the memories of a kind.
func (k *Known) ofKind(kind hippo.Kind) int {
	n := 0
	for _, p := range k.parts {
		n += p.kinds[kind]
	}
	return n
}
