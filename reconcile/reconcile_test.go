package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repairmsg"
)

func reconciler(f *fixture.Fixture) *reconcile.Reconciler {
	return reconcile.New(f.Fault, f.Layout.Naming, f.Asked)
}

func TestEveryNamedGenerationIsWritten(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		current := f.EmptyIndex()
		next := f.Announce(hippo.IndexVersion, 16)
		ids := f.SaveMemories(fixture.Names(100)...)
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); err != nil {
			t.Fatal(err)
		}
		f.WantEqual(current)
		f.WantEqual(next)
		for _, id := range ids[:50] {
			if err := f.Direct.DeleteMemory(t.Context(), fixture.Tenant, id); err != nil {
				t.Fatal(err)
			}
		}
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); err != nil {
			t.Fatal(err)
		}
		f.WantEqual(current)
		f.WantEqual(next)
	})
}

func TestNoIndexIsAcknowledgedAndAskedFor(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, f.SaveMemories("pages/a")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]repairmsg.Cause{repairmsg.NoIndex}, f.Asked.Causes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestGenerationWithALostShardIsLeftAndTheOtherWritten(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		current := f.EmptyIndex()
		next := f.Announce(hippo.IndexVersion, 16)
		ids := f.SaveMemories(fixture.Names(40)...)
		for _, shard := range current.ShardIDs() {
			f.DeleteIndexDocument(shard.String())
		}
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); err != nil {
			t.Fatal(err)
		}
		f.WantEqual(next)
		index, err := f.Direct.ReadIndex(t.Context(), fixture.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range index.Of(current) {
			if s != nil {
				t.Errorf("shard %s was created again", s.ID)
			}
		}
		if diff := cmp.Diff([]repairmsg.Cause{repairmsg.LostShard}, f.Asked.Causes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEventForAShardDeletedByHandIsAcknowledgedAndARebuildAskedFor(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		current := f.EmptyIndex()
		ids := f.SaveMemories(fixture.Names(40)...)
		lost := current.ShardOf(ids[0])
		f.DeleteIndexDocument(lost.String())
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]repairmsg.Cause{repairmsg.LostShard}, f.Asked.Causes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNewerFormatFailsAndOlderFormatIsAskedFor(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Announce(hippo.IndexVersion+1, 8)
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, f.SaveMemories("pages/a")); !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("newer format: %v, want unavailable", err)
		}
		f.DeleteIndexDocument("meta")
		f.Announce(hippo.IndexVersion-1, 8)
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, f.SaveMemories("pages/a")); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]repairmsg.Cause{repairmsg.OldFormat}, f.Asked.Causes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMetaThatMovesBetweenReadAndWriteIsFollowed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.EmptyIndex()
		ids := f.SaveMemories(fixture.Names(20)...)
		var once sync.Once
		var next hippo.Generation
		f.Fault.Before = func(_ context.Context, method string) error {
			if method == "WriteEntries" {
				once.Do(func() {
					next = f.Announce(hippo.IndexVersion, 16)
					f.Promote()
					if _, err := f.Direct.SweepIndex(t.Context(), fixture.Tenant); err != nil {
						t.Error(err)
					}
				})
			}
			return nil
		}
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); err != nil {
			t.Fatal(err)
		}
		f.WantEqual(next)
		if len(f.Asked.Causes()) > 0 {
			t.Errorf("asked for %v although no named generation lost a shard", f.Asked.Causes())
		}
	})
}

// rebuild fills a new generation, as a builder does, points meta at it and sweeps.
func rebuild(f *fixture.Fixture, shards int) {
	f.Helper()
	next := f.Announce(hippo.IndexVersion, shards)
	entries, err := f.Direct.ScanEntries(f.Context(), fixture.Tenant, "", 0)
	f.Must(err)
	var ids []hippo.MemoryID
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	f.Must(reconciler(f).ReconcileInto(f.Context(), fixture.Tenant, next, ids))
	f.Promote()
	_, err = f.Direct.SweepIndex(f.Context(), fixture.Tenant)
	f.Must(err)
}

func TestMetaChangesWhile64ReconcilesRun(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.EmptyIndex()
		names := fixture.Names(64)
		f.SaveMemories(names...)
		var wg sync.WaitGroup
		done := make(chan struct{})
		for _, name := range names {
			wg.Go(func() {
				id := f.ID(name)
				for round := 0; ; round++ {
					var err error
					if round%3 == 2 {
						err = f.Direct.DeleteMemory(t.Context(), fixture.Tenant, id)
					} else {
						err = f.Direct.SaveMemory(t.Context(), fixture.Tenant, hippo.Memory{ID: id, Name: name})
					}
					if err == nil {
						err = reconciler(f).Reconcile(t.Context(), fixture.Tenant, []hippo.MemoryID{id})
					}
					// So many changes of meta under one call are possible here, and its
					// event would be delivered again.
					if err != nil && !hippo.IsKind(err, hippo.Unavailable) {
						t.Error(err)
					}
					select {
					case <-done:
						if err == nil {
							return
						}
					default:
					}
				}
			})
		}
		for i := range 6 {
			rebuild(f, 8+8*(i%2))
		}
		close(done)
		wg.Wait()
		f.WantEqual(f.Meta().Current)
		if causes := f.Asked.Causes(); len(causes) > 0 {
			t.Errorf("asked for %v although no shard was lost", causes)
		}
	})
}

func TestPassingFailuresAreRetriedAndBounded(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		gen := f.EmptyIndex()
		ids := f.SaveMemories(fixture.Names(30)...)
		calls := 0
		var mu sync.Mutex
		f.Fault.Before = func(_ context.Context, method string) error {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls%3 == 0 {
				return hippo.Errorf(hippo.Unavailable, "", "injected")
			}
			return nil
		}
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); err != nil {
			t.Fatal(err)
		}
		f.Fault.Before = nil
		f.WantEqual(gen)

		f.Fault.Before = func(_ context.Context, method string) error {
			calls++
			return hippo.Errorf(hippo.Unavailable, "", "injected")
		}
		calls = 0
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); !hippo.IsKind(err, hippo.Unavailable) || calls > 10 {
			t.Errorf("after %d calls: %v, want unavailable after a few", calls, err)
		}
	})
}

func TestFullShardAsksForGrowthAndFailsForNow(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.EmptyIndex()
		f.Fault.Before = func(_ context.Context, method string) error {
			if method == "WriteEntries" {
				return hippo.Errorf(hippo.TooLarge, "", "injected")
			}
			return nil
		}
		err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, f.SaveMemories("pages/a"))
		if !hippo.IsKind(err, hippo.Unavailable) || !errors.Is(err, hippo.ErrShardFull) {
			t.Errorf("got %v, want unavailable because the shard is full", err)
		}
		if len(f.Asked.Causes()) == 0 || f.Asked.Causes()[0] != repairmsg.Refused {
			t.Errorf("asked for %v, want growth", f.Asked.Causes())
		}
	})
}

func TestABuilderLearnsAtOnceThatAShardHasNoRoomAndNobodyElseIsAsked(t *testing.T) {
	f := fixture.Embedded(t)
	gen := f.Announce(hippo.IndexVersion, 8)
	ids := f.SaveMemories("pages/a")
	writes := 0
	f.Fault.Before = func(_ context.Context, method string) error {
		if method == "WriteEntries" {
			writes++
			return hippo.Errorf(hippo.TooLarge, "", "injected")
		}
		return nil
	}
	err := reconciler(f).ReconcileInto(t.Context(), fixture.Tenant, gen, ids)
	if !hippo.IsKind(err, hippo.TooLarge) || !errors.Is(err, hippo.ErrShardFull) || !strings.Contains(err.Error(), gen.ShardOf(ids[0]).String()) {
		t.Errorf("got %v, want that %s has no room", err, gen.ShardOf(ids[0]))
	}
	if causes := f.Asked.Causes(); writes != 1 || len(causes) > 0 {
		t.Errorf("%d writes, and asked for %v; want one write and nobody asked", writes, causes)
	}
}

func TestUnlistableIdsAreLeftAlone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		gen := f.EmptyIndex()
		ids := append(f.SaveMemories("pages/a"), "not base64url!", "QR")
		if err := reconciler(f).Reconcile(t.Context(), fixture.Tenant, ids); err != nil {
			t.Fatal(err)
		}
		f.WantEqual(gen)
	})
}
