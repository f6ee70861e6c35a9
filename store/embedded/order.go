package embedded

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// item is a document's place in an order: by key, then by id, each by its bytes.
type item struct{ key, id string }

func (a item) compare(b item) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.id, b.id))
}

// behind is the smallest item that comes after a.
func (a item) behind() item { return item{a.key, a.id + "\x00"} }

// chunkItems is the length of a chunk after it was split. Adding to an order of
// 100,000 items moves at most a chunk and the few hundred headers of chunks.
const chunkItems = 256

// order keeps items sorted, in chunks that are never empty.
type order struct {
	chunks [][]item
}

// find is the place of x or, where it is not there, of the next greater item.
func (o *order) find(x item) (chunk, at int, found bool) {
	chunk, _ = slices.BinarySearchFunc(o.chunks, x, func(c []item, x item) int { return c[len(c)-1].compare(x) })
	if chunk < len(o.chunks) {
		at, found = slices.BinarySearchFunc(o.chunks[chunk], x, item.compare)
	}
	return chunk, at, found
}

// add puts x into its place; it may be there already.
func (o *order) add(x item) {
	chunk, at, found := o.find(x)
	if found {
		return
	}
	if chunk == len(o.chunks) {
		if chunk == 0 {
			o.chunks = append(o.chunks, nil)
		} else {
			chunk--
		}
		at = len(o.chunks[chunk])
	}
	grown := slices.Insert(o.chunks[chunk], at, x)
	o.chunks[chunk] = grown
	if len(grown) > 2*chunkItems {
		o.chunks[chunk] = grown[:chunkItems:chunkItems]
		o.chunks = slices.Insert(o.chunks, chunk+1, slices.Clone(grown[chunkItems:]))
	}
}

// remove takes x out; it may be gone already.
func (o *order) remove(x item) {
	chunk, at, found := o.find(x)
	if !found {
		return
	}
	o.chunks[chunk] = slices.Delete(o.chunks[chunk], at, at+1)
	if len(o.chunks[chunk]) == 0 {
		o.chunks = slices.Delete(o.chunks, chunk, chunk+1)
	}
}

// from runs through the items that are not before lo, upwards.
func (o *order) from(lo item) iter.Seq[item] {
	return func(yield func(item) bool) {
		chunk, at, _ := o.find(lo)
		for ; chunk < len(o.chunks); chunk, at = chunk+1, 0 {
			for _, x := range o.chunks[chunk][at:] {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// below runs through the items before hi, downwards.
func (o *order) below(hi item) iter.Seq[item] {
	return func(yield func(item) bool) {
		chunk, at, _ := o.find(hi)
		if chunk < len(o.chunks) && !downwards(o.chunks[chunk][:at], yield) {
			return
		}
		for chunk--; chunk >= 0; chunk-- {
			if !downwards(o.chunks[chunk], yield) {
				return
			}
		}
	}
}

// backwards runs through all items, downwards.
func (o *order) backwards() iter.Seq[item] {
	return func(yield func(item) bool) {
		for _, c := range slices.Backward(o.chunks) {
			if !downwards(c, yield) {
				return
			}
		}
	}
}

func downwards(items []item, yield func(item) bool) bool {
	for _, x := range slices.Backward(items) {
		if !yield(x) {
			return false
		}
	}
	return true
}
