package turnreader

import (
	"slices"
	"sync"
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
	Items  []hippo.Item
	gen    hippo.Generation
	shards []*hippo.Shard
	at     time.Time
	bytes  int64
	ids    func() map[hippo.MemoryID]bool
	block  func() ListBlock
}

// itemBytes is about what an item takes in memory beside its id and name, which
// stand in a shard's map as well.
const itemBytes = 150

func newKnown(items []hippo.Item) *Known {
	k := &Known{Items: items}
	k.ids = sync.OnceValue(func() map[hippo.MemoryID]bool {
		ids := make(map[hippo.MemoryID]bool, len(items))
		for _, item := range items {
			ids[item.ID] = true
		}
		return ids
	})
	k.block = sync.OnceValue(func() ListBlock { return listBlock(items) })
	for _, item := range items {
		k.bytes += int64(2*len(item.ID) + len(item.Name) + itemBytes)
	}
	return k
}

// knownOf reads a whole generation; false where a shard of it is missing.
func knownOf(naming hippo.Naming, gen hippo.Generation, shards []*hippo.Shard, at time.Time) (*Known, bool) {
	var entries []hippo.Entry
	for _, s := range shards {
		if s == nil {
			return nil, false
		}
		entries = slices.Grow(entries, len(s.Entries))
		for id, updated := range s.Entries {
			if gen.ShardOf(id) == s.ID {
				entries = append(entries, hippo.Entry{ID: id, UpdatedAt: updated})
			}
		}
	}
	k := newKnown(naming.Items(entries))
	k.gen, k.shards, k.at = gen, shards, at
	return k, true
}

// with is k with newer shards in the place of its own.
func (k *Known) with(naming hippo.Naming, read hippo.IndexRead) *Known {
	shards := slices.Clone(k.shards)
	changed := false
	for i := range read.Shards {
		if s := &read.Shards[i]; s.ID.Gen == k.gen.ID && s.ID.N < len(shards) {
			shards[s.ID.N], changed = s, true
		}
	}
	if !changed {
		same := *k
		same.at = read.At
		return &same
	}
	fresh, _ := knownOf(naming, k.gen, shards, read.At)
	return fresh
}

// seen lists the revisions of k's shards.
func (k *Known) seen() []int64 {
	revs := make([]int64, len(k.shards))
	for n, s := range k.shards {
		revs[n] = s.Rev
	}
	return revs
}

// Has says whether a memory is listed.
func (k *Known) Has(id hippo.MemoryID) bool { return k.ids()[id] }
