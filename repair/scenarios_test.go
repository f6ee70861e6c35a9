package repair_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
)

func ask() repairmsg.Message {
	return repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex}
}

func nightly() repairmsg.Message {
	return repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.Nightly}
}

// hook is what the trigger's events end in.
func (r *repairing) hook(ids ...hippo.MemoryID) {
	r.Helper()
	r.Must(reconcile.New(r.Direct, r.Layout.Naming, r.Asked).Reconcile(r.Context(), fixture.Tenant, ids))
}

// wantRight demands an index that is equal to the memories, and that a second
// repair has nothing to do.
func (r *repairing) wantRight() {
	r.Helper()
	r.WantEqual(r.Meta().Current)
	before := r.revisions()
	r.nightly()
	if after := r.revisions(); !maps.Equal(before, after) {
		r.Errorf("a second repair wrote the index: %v became %v", before, after)
	}
	r.WantEqual(r.Meta().Current)
}

func (r *repairing) revisions() map[string]int64 {
	r.Helper()
	index := r.Index()
	revs := map[string]int64{"meta": index.Meta.Stamp.UnixMicro()}
	for _, s := range index.Shards {
		revs[s.ID.String()] = s.Rev
	}
	return revs
}

func TestATenthOfAThousandEventsIsLostWhileMemoriesAreWrittenDuringTheRepair(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		const memories = 500
		random := rand.New(rand.NewPCG(5, 5))
		r := newRepairer(f, repair.Options{PageSize: 60})
		names := fixture.Names(memories)
		f.SaveMemories(names...)
		r.nightly()

		dropped := 0
		deliver := func(ids ...hippo.MemoryID) {
			for _, id := range ids {
				if random.IntN(10) == 0 {
					dropped++
				} else {
					r.hook(id)
				}
			}
		}
		change := func(n int) {
			for range n {
				name := names[random.IntN(memories)]
				if random.IntN(4) == 0 {
					f.DeleteMemories(name)
					deliver(f.ID(name))
				} else {
					deliver(f.SaveMemories(name)...)
				}
			}
		}
		change(1000)
		lost := dropped
		during := map[hippo.MemoryID]bool{}
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ScanEntries" {
				for range 10 {
					name := names[random.IntN(memories)]
					id := f.SaveMemories(name)[0]
					if random.IntN(10) == 0 {
						dropped++
						during[id] = true
					} else {
						delete(during, id)
						r.hook(id)
					}
				}
			}
			return nil
		}
		r.nightly()
		f.Fault.After = nil
		if lost == 0 || dropped == lost {
			t.Fatalf("%d events were lost before the repair and %d in all: nothing is tested", lost, dropped)
		}
		for _, found := range f.Findings(f.Meta().Current) {
			if !during[found.ID] {
				t.Errorf("what was lost before the repair began is still wrong: %v", found)
			}
		}
		r.nightly()
		r.wantRight()
	})
}

func TestAMemoryOf300KBWhoseEventNeverCame(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.SaveMemories(fixture.Names(5)...)
		r.nightly()
		id := f.ID("pages/large")
		f.PutMemory(id, map[string]any{"name": "pages/large", "content": strings.Repeat("x", 300<<10)})
		var before int64
		if f.Wire != nil {
			before = f.Wire.Total().Bytes
		}
		r.nightly()
		if f.Wire != nil {
			if moved := f.Wire.Total().Bytes - before; moved > 100<<10 {
				t.Errorf("the repair moved %d bytes: content has no part in it", moved)
			}
		}
		if found := r.report().Findings; !maps.Equal(found, map[hippo.FindingType]int{hippo.Missing: 1}) {
			t.Errorf("findings %v, want one that is missing", found)
		}
		r.wantRight()
	})
}

func TestTwoRepairsAtOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		names := fixture.Names(60)
		f.SaveMemories(names...)
		r.nightly()
		f.SaveMemories(names[:30]...)
		f.DeleteMemories(names[30:40]...)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := r.Handle(t.Context(), nightly()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		r.wantRight()
	})
}

func TestTheSameRepairMessageTwelveTimes(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10, RunFor: time.Nanosecond, Now: ticking()})
		names := fixture.Names(45)
		f.SaveMemories(names...)
		for range 12 {
			f.Must(r.topic.Publish(t.Context(), ask()))
		}
		built := 0
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "AnnounceGeneration" {
				built++
			}
			return nil
		}
		r.handle(ask())
		if built != 1 {
			t.Errorf("13 messages began %d builds, want one", built)
		}
		f.SaveMemories(names[:20]...)
		for range 12 {
			f.Must(r.topic.Publish(t.Context(), nightly()))
		}
		r.handle(nightly())
		r.wantRight()
	})
}

func TestHostClockIs90SecondsOffEitherWay(t *testing.T) {
	for _, skew := range []time.Duration{-90 * time.Second, 90 * time.Second} {
		t.Run(skew.String(), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				r := newRepairer(f, repair.Options{PageSize: 10, Now: func() time.Time { return time.Now().Add(skew) }})
				names := fixture.Names(30)
				f.SaveMemories(names...)
				r.nightly()
				f.SaveMemories(names[:5]...)
				f.DeleteMemories(names[20:]...)
				r.nightly()
				if found := r.report().Findings; found[hippo.Stale] != 5 || found[hippo.Orphan] != 10 {
					t.Errorf("findings %v", found)
				}
				r.wantRight()
			})
		})
	}
}

func TestTheLastPageOfAScanIsExactlyFull(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(30)...)
		r.nightly()
		gen := f.Meta().Current
		// An orphan behind the last memory is in no page but the one to infinity.
		ghosts := f.SaveMemories("zzz")
		f.Must(f.Direct.WriteEntries(t.Context(), fixture.Tenant, gen.Place(ghosts)))
		f.DeleteMemories("zzz")
		r.nightly()
		if found := r.report().Findings; !maps.Equal(found, map[hippo.FindingType]int{hippo.Orphan: 1}) {
			t.Errorf("findings %v, want one orphan", found)
		}
		r.wantRight()
	})
}

func TestAMemoryIsCreatedBehindTheCursorBeforeItAndAtIt(t *testing.T) {
	for _, build := range []bool{true, false} {
		t.Run(map[bool]string{true: "of a build", false: "of a repair"}[build], func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				r := newRepairer(f, repair.Options{PageSize: 10})
				names := fixture.Names(30)
				f.SaveMemories(names...)
				message := ask()
				if !build {
					r.nightly()
					message = nightly()
				}
				scans := 0
				f.Fault.After = func(_ context.Context, method string) error {
					if method != "ScanEntries" {
						return nil
					}
					if scans++; scans == 2 {
						// The cursor stands at the 20th: it is written anew, deleted and
						// created again; others come up on either side of it.
						f.DeleteMemories(names[19])
						r.hook(f.SaveMemories(names[19], "pages/00004a", "pages/00025a")...)
					}
					return nil
				}
				r.handle(message)
				f.Fault.After = nil
				if scans < 3 {
					t.Fatalf("%d pages were scanned, want 3 or more", scans)
				}
				r.wantRight()
			})
		})
	}
}

func TestARepairOfAStoreWith20000UnindexableIds(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{})
	const bad = 20_000
	for i := range bad {
		f.PutMemory(hippo.MemoryID(fmt.Sprintf("no name %d", i)), map[string]any{"name": "x"})
	}
	f.SaveMemories(fixture.Names(10)...)
	r.nightly()
	r.nightly()
	report := r.report()
	if diff := cmp.Diff(map[hippo.FindingType]int{hippo.Unindexable: bad}, report.Findings); diff != "" || report.Writes != 0 {
		t.Errorf("%d writes, findings: %s", report.Writes, diff)
	}
	c := r.wantChecked(true)
	if c.Counts[hippo.Unindexable] != bad {
		t.Errorf("the check counts %v", c.Counts)
	}
	if len(c.Findings) >= bad {
		t.Errorf("the check lists %d findings", len(c.Findings))
	}
}

func TestASecondRepairWritesNoIndexDocumentByTheWire(t *testing.T) {
	f := fixture.Firestore(t)
	r := newRepairer(f, repair.Options{PageSize: 100})
	f.SaveMemories(fixture.Names(250)...)
	r.nightly()
	before := f.Wire.Total()
	r.nightly()
	after := f.Wire.Total()
	if written := after.Writes - before.Writes; written != 1 {
		t.Errorf("the second repair wrote %d documents, want the report alone", written)
	}
	// Each memory once, meta and the shards once, and meta for each further page.
	want := 250 + 1 + f.Meta().Current.Shards + 2
	if read := after.Reads - before.Reads - 1; read > want { // reading meta here is one
		t.Errorf("the second repair read %d documents, want %d at most", read, want)
	}
	if report := r.report(); report.Reads > want || report.Writes != 0 {
		t.Errorf("the report tells of %d reads and %d writes", report.Reads, report.Writes)
	}
}

func TestAMessageForAFinishedGenerationDoesNothing(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 5, RunFor: time.Nanosecond, Now: ticking()})
		f.SaveMemories(fixture.Names(20)...)
		var late []repairmsg.Message
		f.Must(r.topic.Publish(t.Context(), ask()))
		for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
			late = append(late, m)
			f.Must(r.Handle(t.Context(), m))
		}
		before := r.revisions()
		for _, m := range late {
			r.handle(m)
		}
		if after := r.revisions(); !maps.Equal(before, after) {
			t.Errorf("messages that came again wrote the index: %v became %v", before, after)
		}
		if len(late) < 4 {
			t.Errorf("the build took %d messages, want several", len(late))
		}
	})
}
