package turnreader

import (
	"container/heap"
	"slices"

	"github.com/hippofire/hippofire/hippo"
)

// part is what one shard holds of the list. It never changes, so that lists of
// different times share the parts in which they agree: a shard that changed costs
// itself, and one that did not costs nothing.
type part struct {
	rev     int64
	entries map[hippo.MemoryID]hippo.Micros
	// items are the listable entries that belong in the shard, in the order of
	// the list.
	items []hippo.Item
	// heads are, in the same order, the first of each kind, as many as the list
	// block may show of it: what is past them no block can show.
	heads []hippo.Item
	kinds map[hippo.Kind]int
	bytes int64
}

// itemBytes is about what an item takes in memory beside its name, and its id,
// which stands in the map of entries as well.
const itemBytes = 150

// newPart makes a part of a shard's entries. before is the part of the same shard
// as it was read earlier, nil for none: what did not change since is taken from
// there, its name decoded and in order.
func newPart(naming hippo.Naming, belongs func(hippo.MemoryID) bool, rev int64, entries map[hippo.MemoryID]hippo.Micros, before *part) *part {
	if before == nil {
		before = &part{}
	}
	kept := make([]hippo.Item, 0, len(entries))
	for _, item := range before.items {
		if at, ok := entries[item.ID]; ok && at == item.UpdatedAt {
			kept = append(kept, item)
		}
	}
	var fresh []hippo.Item
	for id, at := range entries {
		if seen, ok := before.entries[id]; ok && seen == at || !belongs(id) {
			continue
		}
		if name, ok := naming.Name(id); ok {
			fresh = append(fresh, hippo.Item{ID: id, Name: name, UpdatedAt: at})
		}
	}
	slices.SortFunc(fresh, hippo.CompareItems)
	p := &part{rev: rev, entries: entries, items: merge(kept, fresh), kinds: make(map[hippo.Kind]int)}
	for _, item := range p.items {
		kind := hippo.KindOf(item.Name)
		if p.kinds[kind]++; p.kinds[kind] <= capOf(kind) {
			p.heads = append(p.heads, item)
		}
		p.bytes += int64(len(item.ID) + len(item.Name) + itemBytes)
	}
	return p
}

// merge makes one list of two that are in order. It may use the first one's room.
func merge(a, b []hippo.Item) []hippo.Item {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	all := make([]hippo.Item, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if hippo.CompareItems(a[0], b[0]) <= 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// inOrder yields the items of several lists, each of them in order, in one order.
func inOrder(lists [][]hippo.Item) func(yield func(hippo.Item) bool) {
	return func(yield func(hippo.Item) bool) {
		rest := byFirst(slices.DeleteFunc(slices.Clone(lists), func(l []hippo.Item) bool { return len(l) == 0 }))
		heap.Init(&rest)
		for len(rest) > 0 {
			if !yield(rest[0][0]) {
				return
			}
			if rest[0] = rest[0][1:]; len(rest[0]) == 0 {
				heap.Pop(&rest)
			} else {
				heap.Fix(&rest, 0)
			}
		}
	}
}

// byFirst is a heap of lists that are not empty, by their first items.
type byFirst [][]hippo.Item

func (b byFirst) Len() int           { return len(b) }
func (b byFirst) Less(i, j int) bool { return hippo.CompareItems(b[i][0], b[j][0]) < 0 }
func (b byFirst) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *byFirst) Push(list any)     { *b = append(*b, list.([]hippo.Item)) }
func (b *byFirst) Pop() any {
	last := len(*b) - 1
	list := (*b)[last]
	*b = (*b)[:last]
	return list
}
