package turnreader

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

func TestListsThatAreInOrderMakeOneThatIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := make([][]hippo.Item, rapid.IntRange(1, 40).Draw(t, "lists"))
		var want []hippo.Item
		for i := range rapid.IntRange(0, 200).Draw(t, "items") {
			at := rapid.Int64Range(1, 20).Draw(t, "at")
			item := hippo.Item{ID: hippo.MemoryID(fmt.Sprint(i)), Name: fmt.Sprint(i), UpdatedAt: hippo.Micros(at)}
			want = append(want, item)
			n := rapid.IntRange(0, len(lists)-1).Draw(t, "list")
			lists[n] = append(lists[n], item)
		}
		slices.SortFunc(want, hippo.CompareItems)
		for _, l := range lists {
			slices.SortFunc(l, hippo.CompareItems)
		}
		stop := rapid.IntRange(0, len(want)).Draw(t, "stop")
		var got []hippo.Item
		for item := range inOrder(lists) {
			if got = append(got, item); len(got) == stop {
				break
			}
		}
		want = want[:cmp.Or(stop, len(want))]
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
