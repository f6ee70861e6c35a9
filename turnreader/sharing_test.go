package turnreader_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// hundred builds a hundred turns at once and demands that each has the scan's list.
func (r *reading) hundred(from ...turnreader.Source) {
	r.Helper()
	want := r.scanned()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			turn, err := r.Turn(r.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread})
			if err != nil || !slices.Contains(from, turn.Ledger.Index) {
				r.Errorf("%s: %v, want %s", turn.Ledger.Index, err, from)
				return
			}
			if diff := cmp.Diff(want, listed(turn)); diff != "" {
				r.Error(diff)
			}
		})
	}
	wg.Wait()
}

// calls counts the calls of a method from now on.
func (r *reading) calls(of string) *atomic.Int32 {
	var n atomic.Int32
	r.Fault.Before = func(_ context.Context, method string) error {
		if method == of {
			n.Add(1)
		}
		return nil
	}
	return &n
}

func TestHundredTurnsAtOnceOnAMissingIndexScanOnceEachAtMostAndAskForOneRebuild(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.SaveMemories(fixture.Names(30)...)
		var published atomic.Int32
		r := newReaderAsking(f, repairmsg.NewAsker(publisher(func() { published.Add(1) }), nil))
		scans := r.calls("ScanEntries")
		r.hundred(turnreader.Scan)
		if published.Load() != 1 || scans.Load() > 100 {
			t.Errorf("%d rebuilds asked for and %d scans, want 1 and at most 100", published.Load(), scans.Load())
		}
	})
}

func TestHundredTurnsAtOnceOnAColdIndex(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(30)...)
		reads := r.calls("ReadIndex")
		r.hundred(turnreader.Cold, turnreader.Warm)
		if n := reads.Load(); n > 100 || len(f.Asked.Causes()) > 0 {
			t.Errorf("%d reads of the index, asked for %v", n, f.Asked.Causes())
		}
	})
}

// Where a read takes a while, a hundred turns at once need two: one has begun
// before the others came, and they share the next.
func TestHundredTurnsAtOnceShareTwoReads(t *testing.T) {
	for _, test := range []struct {
		from   turnreader.Source
		method string
	}{{turnreader.Scan, "ScanEntries"}, {turnreader.Cold, "ReadIndex"}} {
		t.Run(string(test.from), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fixture.Embedded(t)
				r := newReader(f)
				f.SaveMemories(fixture.Names(30)...)
				if test.from == turnreader.Cold {
					f.EmptyIndex()
					r.reconcile(fixture.Names(30)...)
				}
				var calls atomic.Int32
				f.Fault.Before = func(_ context.Context, method string) error {
					if method == test.method {
						calls.Add(1)
						time.Sleep(time.Second)
					}
					return nil
				}
				r.hundred(test.from)
				if n := calls.Load(); n != 2 {
					t.Errorf("%d calls of %s, want 2", n, test.method)
				}
			})
		})
	}
}

// hanging is an Asker that gets no answer.
type hanging struct{}

func (hanging) Ask(ctx context.Context, _ hippo.TenantID, _ repairmsg.Cause) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRepairThatCannotBeAskedForCostsNoTurnItsList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fixture.Embedded(t)
		f.SaveMemories(fixture.Names(3)...)
		r := newReaderAsking(f, hanging{})
		f.Fault.Before = slow(2*time.Second, "ScanEntries")
		r.hundred(turnreader.Scan)
	})
}

type publisher func()

func (p publisher) Publish(context.Context, repairmsg.Message) error { p(); return nil }

func TestTurnDoesNotJoinAReadThatBeganBeforeIt(t *testing.T) {
	f := fixture.Embedded(t)
	f.EmptyIndex()
	r := newReader(f)
	r.indexed("pages/a")
	r.turn()
	stalled, release := make(chan struct{}), make(chan struct{})
	var reads atomic.Int32
	f.Fault.After = func(_ context.Context, method string) error {
		if method == "ReadIndexSince" && reads.Add(1) == 1 {
			close(stalled)
			<-release
		}
		return nil
	}
	first := make(chan turnreader.Turn)
	go func() { first <- r.turn() }()
	<-stalled
	r.indexed("pages/b")
	if turn := r.turn(); !slices.Contains(listed(turn), "pages/b") {
		t.Error("a turn took a list that was read before the memory was indexed")
	}
	close(release)
	<-first
	if turn := r.turn(); !slices.Contains(listed(turn), "pages/b") {
		t.Error("an older snapshot replaced a newer one")
	}
}

func TestWriteByRecordEpisodeWhileARefreshIsStalledIsInTheNextTurn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed("pages/a")
		r.thread(2, 0)
		r.turn()
		stalled, release := make(chan struct{}), make(chan struct{})
		var reads atomic.Int32
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ReadIndexSince" && reads.Add(1) == 1 {
				close(stalled)
				<-release
			}
			return nil
		}
		first := make(chan turnreader.Turn, 1)
		go func() { first <- r.turn() }()
		<-stalled
		w := episodewriter.New(f.Fault, f.Layout.Naming, []string{"user"}, reconcile.New(f.Fault, f.Layout.Naming, f.Asked).Reconcile, f.Log())
		resp, err := w.Record(t.Context(), episodewriter.Request{
			Tenant: fixture.Tenant, Thread: fixture.Thread, From: "m0000", To: "m0001",
			Writes: []episodewriter.Write{{Name: "pages/filed", Content: "text"}},
		})
		if err != nil || !resp.Indexed {
			t.Errorf("%+v, %v", resp, err)
		}
		if turn := r.turn(); !slices.Contains(listed(turn), "pages/filed") {
			t.Errorf("the next turn lists %v", listed(turn))
		}
		close(release)
		<-first
		if turn := r.turn(); !slices.Contains(listed(turn), "pages/filed") {
			t.Error("the stalled refresh replaced what is newer")
		}
	})
}

// tenantThatKnowsItsName gives a tenant an index of one memory, named as it is.
func (r *reading) tenantThatKnowsItsName(tenant hippo.TenantID) error {
	ctx, id := r.Context(), hippo.MemoryID(base64.RawURLEncoding.EncodeToString([]byte(tenant)))
	if err := r.Direct.SaveMemory(ctx, tenant, hippo.Memory{ID: id, Name: string(tenant)}); err != nil {
		return err
	}
	meta, err := r.Direct.AnnounceGeneration(ctx, tenant, hippo.Meta{}, hippo.Generation{ID: hippo.NewGenerationID(), Shards: 8, Version: hippo.IndexVersion})
	if err != nil {
		return err
	}
	if _, err := r.Direct.PromoteGeneration(ctx, tenant, meta); err != nil {
		return err
	}
	return reconcile.New(r.Direct, r.Layout.Naming, r.Asked).Reconcile(ctx, tenant, []hippo.MemoryID{id})
}

func Test300TenantsUnderASmallCache(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		index := turnreader.NewIndex(f.Fault, f.Layout.Naming, f.Asked, 20_000, f.Log())
		var made errgroup.Group
		made.SetLimit(16)
		for i := range 300 {
			made.Go(func() error { return r.tenantThatKnowsItsName(hippo.TenantID(fmt.Sprintf("tenant-%d", i))) })
		}
		f.Must(made.Wait())
		var all errgroup.Group
		all.SetLimit(50)
		for i := range 600 {
			all.Go(func() error {
				tenant := hippo.TenantID(fmt.Sprintf("tenant-%d", i%300))
				known, _, err := index.Known(t.Context(), tenant)
				if err == nil && (known.Len() != 1 || !known.Has(f.ID(string(tenant)))) {
					err = fmt.Errorf("%s is given %v", tenant, names(known))
				}
				return err
			})
		}
		f.Must(all.Wait())
	})
}

func Test1000TurnsLeakNoGoroutine(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(10)...)
		r.turn()
		before := runtime.NumGoroutine()
		for range 1000 {
			r.turn()
		}
		for range 100 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
	})
}
