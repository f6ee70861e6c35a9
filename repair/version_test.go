package repair_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// program is everything that one version of the program runs.
type program struct {
	*repair.Repairer
	hook  *reconcile.Reconciler
	index *turnreader.Index
}

func newProgram(r *repairing, store hippo.Store) program {
	hook := reconcile.New(store, r.Layout.Naming, r.asker())
	return program{
		Repairer: repair.New(store, r.Layout.Naming, hook, r.topic, r.Log(), repair.Options{PageSize: 7}),
		hook:     hook,
		index:    turnreader.NewIndex(store, r.Layout.Naming, r.asker(), 1<<20, r.Log()),
	}
}

// turn demands the list that a scan gives.
func (p program) turn(r *repairing) turnreader.Source {
	r.Helper()
	known, source, err := p.index.Known(r.Context(), fixture.Tenant)
	r.Must(err)
	scan, err := r.Direct.ScanEntries(r.Context(), fixture.Tenant, "", 0)
	r.Must(err)
	if diff := cmp.Diff(r.Layout.Naming.Items(scan), slices.Collect(known.All())); diff != "" {
		r.Errorf("a %s turn differs from the scan (-scan +turn):\n%s", source, diff)
	}
	return source
}

func TestAnOldAndANewProgramSideBySideDoNotRebuildInTurns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		var versions []int
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "AnnounceGeneration" {
				versions = append(versions, f.Meta().Next.Version)
			}
			return nil
		}
		older := newProgram(r, f.Fault)
		newer := newProgram(r, fixture.Newer{Store: f.Fault, By: 1})
		names := fixture.Names(20)
		f.SaveMemories(names...)
		f.Must(older.Handle(t.Context(), ask()))
		if source := older.turn(r); source != turnreader.Cold {
			t.Errorf("the old program's turn was a %s one", source)
		}

		// The new program comes up: its turn scans and asks, and the old program,
		// to which the message goes first, leaves it alone.
		if source := newer.turn(r); source != turnreader.Scan {
			t.Errorf("the new program's first turn was a %s one", source)
		}
		m, ok := r.topic.take()
		if !ok || m.Cause != repairmsg.OldFormat {
			t.Fatalf("the new program asked for %v", m)
		}
		f.Must(older.Handle(t.Context(), m))
		f.Must(newer.Handle(t.Context(), m))
		if source := newer.turn(r); source != turnreader.Cold {
			t.Errorf("the new program's turn after the rebuild was a %s one", source)
		}

		// Side by side: both are asked and told of everything.
		for round := range 2 {
			ids := f.SaveMemories(names[round], names[10+round])
			if err := older.hook.Reconcile(t.Context(), fixture.Tenant, ids); !hippo.ErrorKindOf(err).Retry() {
				t.Errorf("the old program's hook: %v, want an error that asks for another delivery", err)
			}
			f.Must(newer.hook.Reconcile(t.Context(), fixture.Tenant, ids))
			for _, cause := range []repairmsg.Cause{repairmsg.Nightly, repairmsg.OldFormat, repairmsg.NoIndex} {
				if err := older.Handle(t.Context(), repairmsg.Message{Tenant: fixture.Tenant, Cause: cause}); !hippo.IsKind(err, hippo.Conflict) {
					t.Errorf("the old program's repair: %v, want a conflict", err)
				}
				f.Must(newer.Handle(t.Context(), repairmsg.Message{Tenant: fixture.Tenant, Cause: cause}))
			}
			if source := older.turn(r); source != turnreader.Scan {
				t.Errorf("the old program's turn was a %s one", source)
			}
			if source := newer.turn(r); source != turnreader.Warm {
				t.Errorf("the new program's turn was a %s one", source)
			}
			if m, ok := r.topic.take(); ok {
				t.Errorf("somebody asked for %v", m)
			}
		}
		if diff := cmp.Diff([]int{hippo.IndexVersion, hippo.IndexVersion + 1}, versions); diff != "" {
			t.Errorf("versions of the indexes that were begun: %s", diff)
		}
	})
}

func TestANewProgramReplacesWhatAnOldOneIsBuilding(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		older := newProgram(r, f.Fault)
		newer := newProgram(r, fixture.Newer{Store: f.Direct, By: 1})
		names := fixture.Names(30)
		f.SaveMemories(names...)
		pages := 0
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ScanEntries" {
				if pages++; pages == 2 {
					return newer.Handle(t.Context(), ask())
				}
			}
			return nil
		}
		if err := older.Handle(t.Context(), ask()); !hippo.IsKind(err, hippo.Conflict) {
			t.Errorf("the old program's build ended with %v, want a conflict", err)
		}
		f.Fault.After = nil
		if pages != 2 {
			t.Errorf("the old program scanned %d pages, want none after the new one took over", pages)
		}
		if current := f.Meta().Current; current.Version != hippo.IndexVersion+1 {
			t.Errorf("the index is %+v, want one of the newer version", current)
		}
		newer.turn(r)
		older.turn(r)
		r.wantNoLeftovers()
	})
}
