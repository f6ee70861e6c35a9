package repair_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
)

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
