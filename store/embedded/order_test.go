package embedded

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// exported makes items comparable by cmp.
var exported = cmp.AllowUnexported(item{})

func TestOrderBehavesAsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.Custom(func(t *rapid.T) item {
			return item{rapid.StringMatching(`[ab]{0,2}`).Draw(t, "key"), rapid.StringMatching(`[ab\x00]{0,5}`).Draw(t, "id")}
		})
		var o order
		model := map[item]bool{}
		for _, x := range rapid.SliceOfN(items, 0, 60).Draw(t, "items") {
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				o.remove(x)
				delete(model, x)
			} else {
				o.add(x)
				model[x] = true
			}
		}
		compareOrder(t, &o, model, items.Draw(t, "bound"))
	})
}

// compareOrder holds an order against a set, from a bound in both directions.
func compareOrder(t rapid.TB, o *order, model map[item]bool, bound item) {
	t.Helper()
	var all, below, from []item
	for x := range model {
		all = append(all, x)
		if x.compare(bound) < 0 {
			below = append(below, x)
		} else {
			from = append(from, x)
		}
	}
	for _, s := range [][]item{all, below, from} {
		slices.SortFunc(s, item.compare)
	}
	slices.Reverse(below)
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	for name, c := range map[string]struct {
		got  iter.Seq[item]
		want []item
	}{
		"from the start": {o.from(item{}), all}, "from a bound": {o.from(bound), from},
		"below a bound": {o.below(bound), below}, "backwards": {o.backwards(), backwards},
	} {
		if diff := cmp.Diff(c.want, slices.Collect(c.got), exported); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOrderOfManyChunksStaysSorted(t *testing.T) {
	const n = 20 * chunkItems
	var o order
	model := map[item]bool{}
	for i := range n {
		x := item{id: string(rune('a'+i%7)) + string(rune(0x100+i*31%n))}
		o.add(x)
		model[x] = true
	}
	if len(o.chunks) < 10 {
		t.Fatalf("%d chunks, want the order to have been split", len(o.chunks))
	}
	bound := item{id: "d"}
	compareOrder(t, &o, model, bound)
	for x := range model {
		if x.compare(bound) > 0 && x.id < "f" {
			o.remove(x)
			delete(model, x)
		}
	}
	compareOrder(t, &o, model, bound)
}

func TestAnOrderStopsWhereItsReaderStops(t *testing.T) {
	var o order
	for _, id := range []string{"a", "b", "c"} {
		o.add(item{id: id})
	}
	for name, seq := range map[string]iter.Seq[item]{"from": o.from(item{}), "below": o.below(item{id: "z"}), "backwards": o.backwards()} {
		seen := 0
		for range seq {
			seen++
			break
		}
		if seen != 1 {
			t.Errorf("%s: %d items after a break, want 1", name, seen)
		}
	}
}
