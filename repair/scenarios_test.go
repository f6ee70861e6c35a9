package repair_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

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

var errKilled = errors.New("killed")

// A killer ends the process at its n-th store call, before or after the call is
// made: from then on the process makes none.
type killer struct {
	mu    sync.Mutex
	left  int
	after bool
}

func (k *killer) arm(f *fixture.Fixture) {
	f.Fault.Before = func(context.Context, string) error { return k.count(!k.after) }
	f.Fault.After = func(context.Context, string) error { return k.count(false) }
	if k.after {
		f.Fault.Before = func(context.Context, string) error { return k.dead() }
		f.Fault.After = func(context.Context, string) error { return k.count(true) }
	}
}

func (k *killer) dead() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left <= 0 {
		return errKilled
	}
	return nil
}

func (k *killer) count(counts bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if counts {
		k.left--
	}
	if k.left <= 0 {
		return errKilled
	}
	return nil
}

func (k *killer) fired() bool { return k.dead() != nil }

// untilKilledNever runs a life of a process that is killed at its first call,
// then one that is killed at its second, and so on until one reaches its end.
func untilKilledNever(f *fixture.Fixture, life func(n int)) {
	const mostCalls = 500
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			if n > mostCalls {
				f.Fatalf("the process still makes calls after %d", n)
			}
			k := &killer{left: n, after: after}
			k.arm(f)
			life(n)
			f.Fault.Before, f.Fault.After = nil, nil
			if !k.fired() {
				break
			}
		}
	}
}

func TestARepairThatIsKilledAfterEachPageInTurn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10, RunFor: time.Nanosecond, Now: ticking()})
		names := fixture.Names(45)
		f.SaveMemories(names...)
		r.nightly()
		f.SaveMemories(names[5:40]...)
		scans := 0
		kill := 0
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ScanEntries" {
				if scans++; scans == kill {
					return errKilled
				}
			}
			return nil
		}
		for kill = 1; kill <= 5; kill++ {
			scans = 0
			f.SaveMemories(names[kill], names[40-kill])
			f.Must(r.topic.Publish(t.Context(), nightly()))
			for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
				if err := r.Handle(t.Context(), m); err != nil {
					f.Must(r.topic.Publish(t.Context(), m)) // it is delivered again
				}
			}
			if scans != 6 {
				t.Errorf("killed after page %d: %d pages were scanned, want 5 and one of them again", kill, scans)
			}
			f.WantEqual(f.Meta().Current)
		}
		f.Fault.After = nil
		r.wantRight()
	})
}

func TestABuilderIsKilledBetweenAnyTwoOfItsStepsAndASecondOneIsBesideIt(t *testing.T) {
	for name, second := range map[string]bool{"its message comes again": false, "a second builder comes first": true} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				r := newRepairer(f, repair.Options{PageSize: 5})
				names := fixture.Names(12)
				f.SaveMemories(names...)
				beside := repair.New(f.Direct, f.Layout.Naming, reconcile.New(f.Direct, f.Layout.Naming, f.Asked), r.topic, f.Log(), repair.Options{PageSize: 5})
				untilKilledNever(f, func(n int) {
					f.DeleteIndexDocument("meta")
					if err := r.Handle(t.Context(), ask()); err != nil && second {
						r.hook(f.SaveMemories(names[n%12])...)
						f.Must(beside.Handle(t.Context(), ask()))
					}
					f.Fault.Before, f.Fault.After = nil, nil
					f.Must(r.Handle(t.Context(), ask())) // what was not acknowledged is delivered again
					r.hook(f.SaveMemories(names[n%12])...)
					f.WantEqual(f.Meta().Current)
					r.wantNoLeftovers()
				})
			})
		})
	}
}

// wantNoLeftovers demands that the index is one generation.
func (r *repairing) wantNoLeftovers() {
	r.Helper()
	index := r.Index()
	if !index.Meta.Next.IsZero() || len(index.Shards) != index.Meta.Current.Shards {
		r.Errorf("%d shards are there, and meta says %+v", len(index.Shards), index.Meta)
	}
}

func TestAnOperatorDeletesMetaInTheMiddle(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		names := fixture.Names(12)
		f.SaveMemories(names...)
		for at := 1; ; at++ {
			r := newRepairer(f, repair.Options{PageSize: 5})
			calls, deleted := 0, false
			var mu sync.Mutex
			f.Fault.After = func(context.Context, string) error {
				mu.Lock()
				defer mu.Unlock()
				if calls++; calls == at {
					deleted = true
					f.DeleteIndexDocument("meta")
				}
				return nil
			}
			r.handle(ask())
			f.Fault.After = nil
			if !deleted {
				break
			}
			if f.Meta().Current.IsZero() { // it was deleted when all was done: the next reader asks
				r.handle(ask())
			}
			f.WantEqual(f.Meta().Current)
			r.wantNoLeftovers()
			f.DeleteIndexDocument("meta")
		}
	})
}

func TestAPushIsAcknowledgedAfterItsDeadline(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		names := fixture.Names(45)
		f.SaveMemories(names...)
		r.nightly()
		f.SaveMemories(names[:40]...)
		scans, inMiddle, goOn := 0, make(chan struct{}), make(chan struct{})
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ScanEntries" {
				if scans++; scans == 3 {
					close(inMiddle)
					<-goOn
				}
			}
			return nil
		}
		late := make(chan error)
		go func() { late <- r.Handle(t.Context(), nightly()) }()
		<-inMiddle
		// The deadline has passed: the same message comes again, and a memory
		// changes behind the place where the first run stands.
		second := newRepairer(&fixture.Fixture{TB: t, Layout: f.Layout, Direct: f.Direct, Fault: f.Unfaulted(), Asked: f.Asked}, repair.Options{PageSize: 10})
		second.nightly()
		r.hook(f.SaveMemories(names[44])...)
		close(goOn)
		f.Must(<-late)
		f.Fault.After = nil
		r.wantRight()
	})
}

func TestAnEmptyTenantAndOneWithoutADocumentOfItsOwn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.PutDocument(fmt.Sprintf(tenantDocument(f), "empty"), map[string]any{"plan": "free"})
		f.Must(f.Direct.SaveMemory(t.Context(), "orphaned", hippo.Memory{ID: f.ID("pages/a"), Name: "pages/a"}))
		r.handle(repairmsg.Message{Cause: repairmsg.Nightly})
		for tenant, memories := range map[hippo.TenantID]int{"empty": 0, "orphaned": 1} {
			c, err := r.Check(t.Context(), tenant)
			if err != nil || !c.Equal || c.Memories != memories {
				t.Errorf("%s: %+v %v, want an equal index of %d memories", tenant, c, err, memories)
			}
		}
	})
}

// tenantDocument is the path of a tenant's own document.
func tenantDocument(f *fixture.Fixture) string {
	before, _, _ := strings.Cut(f.Layout.Paths.Memory, "{tenant}")
	return before + "%s"
}

func TestTwoThousandTenants(t *testing.T) {
	const tenants = 2000
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		var group errgroup.Group
		group.SetLimit(32)
		for i := range tenants {
			group.Go(func() error {
				return f.Direct.SaveMemory(t.Context(), hippo.TenantID(fmt.Sprintf("t%04d", i)), hippo.Memory{ID: "YQ", Name: "a"})
			})
		}
		f.Must(group.Wait())
		var meter hippo.Meter
		f.Must(r.Handle(hippo.WithMeter(t.Context(), &meter), repairmsg.Message{Cause: repairmsg.Nightly}))
		sent := map[hippo.TenantID]int{}
		for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
			sent[m.Tenant]++
		}
		if len(sent) != tenants {
			t.Errorf("%d tenants got a message, want %d", len(sent), tenants)
		}
		for tenant, n := range sent {
			if n != 1 {
				t.Errorf("%s got %d messages", tenant, n)
			}
		}
		if read := meter.Total().Documents; read > tenants+tenants/100 {
			t.Errorf("listing %d tenants read %d documents", tenants, read)
		}
	})
}

func TestAFanOutThatRunsOutOfTimeIsCarriedOn(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{RunFor: time.Nanosecond, Now: ticking()})
	const tenants = 350
	for i := range tenants {
		f.Must(f.Direct.SaveMemory(t.Context(), hippo.TenantID(fmt.Sprintf("t%04d", i)), hippo.Memory{ID: "YQ", Name: "a"}))
	}
	f.Must(r.topic.Publish(t.Context(), repairmsg.Message{Cause: repairmsg.Nightly}))
	sent, runs := map[hippo.TenantID]int{}, 0
	for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
		if m.Tenant != "" {
			sent[m.Tenant]++
			continue
		}
		runs++
		f.Must(r.Handle(t.Context(), m))
	}
	if len(sent) != tenants || runs < 4 {
		t.Errorf("%d tenants got a message in %d runs, want all %d in several", len(sent), runs, tenants)
	}
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
