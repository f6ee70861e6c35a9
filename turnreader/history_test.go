package turnreader_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/indexhook"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// step is one thing that happens to a tenant.
type step struct {
	Do   string
	Name int
	// At is the kind of updated_at that is written.
	At string
	// Pick chooses among the events that are under way.
	Pick int
}

// What happens to a tenant whose index nobody disturbs, and what else may. Half of
// the histories are calm, so that a process goes on with what it holds.
var (
	calm = []string{"write", "write", "write", "delete", "deliver", "deliver", "deliver twice", "deliver all at once", "read", "read", "repair"}
	wild = append([]string{"lose a shard", "lose meta", "begin a generation"}, calm...)
)

// steps draws what happens.
var steps = rapid.Custom(func(t *rapid.T) []step {
	from := rapid.SampledFrom([][]string{calm, wild}).Draw(t, "from")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			Do:   rapid.SampledFrom(from).Draw(t, "do"),
			Name: rapid.IntRange(0, 11).Draw(t, "name"),
			At:   rapid.SampledFrom([]string{"now", "equal", "missing", "a string", "the past", "year 9999"}).Draw(t, "at"),
			Pick: rapid.IntRange(0, 1000).Draw(t, "pick"),
		}
	}), 0, 40).Draw(t, "steps")
})

// history is a tenant to whom things happen.
type history struct {
	*reading
	hook     *indexhook.Hook
	repairer *repair.Repairer
	// underWay are memories whose event has not been delivered for the last time.
	underWay []string
}

func newHistory(f *fixture.Fixture) *history {
	h := &history{reading: newReader(f)}
	r := reconcile.New(f.Fault, f.Layout.Naming, f.Asked)
	h.hook = indexhook.New(f.Layout, "(default)", r.Reconcile, f.Log())
	h.repairer = repair.New(f.Fault, f.Layout.Naming, r, repairmsg.Nobody{}, f.Log(), repair.Options{PageSize: 5})
	return h
}

// deliver hands the event of a memory to the hook.
func (h *history) deliver(name string) {
	h.Helper()
	path := hippo.Fill(h.Layout.Paths.Memory, string(fixture.Tenant), string(h.ID(name)))
	data, err := docevent.Change{Project: "p", Database: "(default)", Path: path}.Encode()
	h.Must(err)
	if err := h.hook.Handle(h.Context(), "e", data); err != nil {
		h.Errorf("the event of %s: %v", name, err)
	}
}

func (h *history) deliverAll(names []string) {
	h.Helper()
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() { h.deliver(name) })
	}
	wg.Wait()
}

func (h *history) write(s step) {
	h.Helper()
	name := fmt.Sprintf("pages/%d", s.Name)
	fields := map[string]any{"name": name, "content": "text"}
	switch s.At {
	case "now":
		fields["updated_at"] = time.Now()
	case "equal":
		fields["updated_at"] = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	case "a string":
		fields["updated_at"] = "yesterday"
	case "the past":
		fields["updated_at"] = time.Date(1970, 1, 1, 0, 0, s.Pick, 999, time.UTC)
	case "year 9999":
		fields["updated_at"] = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
	}
	h.PutMemory(h.ID(name), fields)
	h.underWay = append(h.underWay, name)
}

// happen does one step.
func (h *history) happen(s step) {
	h.Helper()
	switch s.Do {
	case "write":
		h.write(s)
	case "delete":
		name := fmt.Sprintf("pages/%d", s.Name)
		h.DeleteMemories(name)
		h.underWay = append(h.underWay, name)
	case "deliver", "deliver twice":
		if len(h.underWay) == 0 {
			return
		}
		i := s.Pick % len(h.underWay)
		h.deliver(h.underWay[i])
		if s.Do == "deliver" {
			h.underWay = slices.Delete(h.underWay, i, i+1)
		}
	case "deliver all at once":
		h.deliverAll(h.underWay)
		h.underWay = nil
	case "read":
		_, _, err := h.index.Known(h.Context(), fixture.Tenant)
		h.Must(err)
	case "lose a shard":
		if gen := h.Meta().Current; !gen.IsZero() {
			h.DeleteIndexDocument(hippo.ShardID{Gen: gen.ID, N: s.Pick % gen.Shards}.String())
		}
	case "lose meta":
		h.DeleteIndexDocument("meta")
	case "repair":
		h.Must(h.repairer.Handle(h.Context(), repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex}))
	case "begin a generation":
		if meta := h.Meta(); meta.Next.IsZero() {
			h.Announce(hippo.IndexVersion, 8+8*(s.Pick%2))
		}
	}
}

// settle delivers what is under way, in the order that is given, and carries out
// the repair that was asked for.
func (h *history) settle(order []int) {
	h.Helper()
	for _, i := range order {
		if i < len(h.underWay) {
			h.deliver(h.underWay[i])
		}
	}
	h.deliverAll(h.underWay)
	h.Must(h.repairer.Handle(h.Context(), repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex}))
}

func names(k *turnreader.Known) []string {
	var all []string
	for item := range k.All() {
		all = append(all, item.Name)
	}
	return all
}

// live runs a history to its end and demands that the index, read by one that has
// watched all along and by a new one, lists what a scan lists.
func (h *history) live(all []step, order []int) (why string) {
	h.Helper()
	for _, s := range all {
		h.happen(s)
	}
	h.settle(order)
	want := h.scanned()
	fresh := turnreader.NewIndex(h.Fault, h.Layout.Naming, h.Asked, 1<<20, h.Log())
	for who, index := range map[string]*turnreader.Index{"one that watched": h.index, "a new one": fresh} {
		known, source, err := index.Known(context.WithoutCancel(h.Context()), fixture.Tenant)
		if err != nil || source == turnreader.Scan {
			return fmt.Sprintf("%s reads by %s: %v", who, source, err)
		}
		if diff := cmp.Diff(want, names(known)); diff != "" {
			return fmt.Sprintf("%s differs from the scan: %s", who, diff)
		}
	}
	for _, found := range h.Findings(h.Meta().Current) {
		return fmt.Sprintf("the index differs from the memories: %v", found)
	}
	return ""
}

// order is how the events of the end are shuffled.
var order = rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})

func TestRandomHistoriesEndWithTheListOfAScan(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			if why := newHistory(fixture.Embedded(t)).live(steps.Draw(rt, "steps"), order.Draw(rt, "order")); why != "" {
				rt.Fatal(why)
			}
		})
	})
	t.Run("firestore", func(t *testing.T) {
		for seed := range 8 {
			happened := steps.Example(seed)
			if why := newHistory(fixture.Firestore(t)).live(happened, order.Example(seed)); why != "" {
				t.Errorf("%+v: %s", happened, why)
			}
		}
	})
}
