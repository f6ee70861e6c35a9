// Package paging reads lists that come in pages.
package paging

import (
	"iter"

	"github.com/hippofire/hippofire/hippo"
)

// size is how many ids one call asks for.
const size = 300

// All yields a list of ids to its end, or to the first error.
func All[T any](page func(from hippo.Cursor, limit int) ([]T, hippo.Cursor, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for from := (hippo.Cursor{}); ; {
			ids, next, err := page(from, size)
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			if next.IsZero() {
				return
			}
			from = next
		}
	}
}
