package repair_test

import (
	"context"
	"fmt"
	"slices"
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

// topic is a Publisher that keeps messages until they are taken.
type topic struct {
	mu       sync.Mutex
	messages []repairmsg.Message
}

func (t *topic) Publish(_ context.Context, m repairmsg.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.messages = append(t.messages, m)
	return nil
}

func (t *topic) take() (repairmsg.Message, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.messages) == 0 {
		return repairmsg.Message{}, false
	}
	m := t.messages[0]
	t.messages = t.messages[1:]
	return m, true
}

type repairing struct {
	*fixture.Fixture
	*repair.Repairer
	topic *topic
}

func newRepairer(f *fixture.Fixture, options repair.Options) *repairing {
	r := &repairing{Fixture: f, topic: &topic{}}
	reconciler := reconcile.New(f.Fault, f.Layout.Naming, f.Asked)
	r.Repairer = repair.New(f.Fault, f.Layout.Naming, reconciler, r.topic, f.Log(), options)
	return r
}

// handle carries out a message and whatever it leaves for later.
func (r *repairing) handle(m repairmsg.Message) {
	r.Helper()
	r.Must(r.topic.Publish(r.Context(), m))
	for range 1000 {
		m, ok := r.topic.take()
		if !ok {
			return
		}
		r.Must(r.Handle(r.Context(), m))
	}
	r.Fatal("the repair never ends")
}

func (r *repairing) nightly() {
	r.Helper()
	r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.Nightly})
}

// report is the stored report of the last repair.
func (r *repairing) report() hippo.Report {
	r.Helper()
	report, err := r.Direct.Report(r.Context(), fixture.Tenant)
	r.Must(err)
	return report
}

func (r *repairing) wantChecked(equal bool) repair.Check {
	r.Helper()
	c, err := r.Check(r.Context(), fixture.Tenant)
	r.Must(err)
	if c.Equal != equal {
		r.Errorf("check: equal is %v, want %v: %v", c.Equal, equal, c.Findings)
	}
	return c
}

func TestFirstBuild(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 7})
		f.SaveMemories(fixture.Names(50)...)
		if c := r.wantChecked(false); c.Counts[hippo.Absent] == 0 {
			t.Errorf("the check of a store without index found %v", c.Counts)
		}
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex})
		r.wantChecked(true)
		f.WantEqual(f.Meta().Current)
	})
}

func TestEachFindingIsFoundAndMended(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(30)...)
		r.nightly()
		gen := f.Meta().Current

		f.SaveMemories("pages/new")                               // missing
		f.SaveMemories("pages/00001")                             // stale
		f.DeleteMemories("pages/00002")                           // orphan
		f.PutMemory("not base64url!", map[string]any{"name": ""}) // unindexable
		c := r.wantChecked(false)
		want := map[hippo.FindingType]int{hippo.Missing: 1, hippo.Stale: 1, hippo.Orphan: 1, hippo.Unindexable: 1}
		if diff := cmp.Diff(want, c.Counts); diff != "" {
			t.Error(diff)
		}
		r.nightly()
		r.wantChecked(true)
		f.WantEqualBut(gen, hippo.Unindexable)
		if diff := cmp.Diff(want, r.report().Findings); diff != "" {
			t.Errorf("report: %s", diff)
		}
	})
}

func TestMisplacedAndDuplicateEntriesAreRemoved(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		ids := f.SaveMemories(fixture.Names(20)...)
		r.nightly()
		gen := f.Meta().Current
		wrong := func(id hippo.MemoryID) hippo.ShardID {
			return hippo.ShardID{Gen: gen.ID, N: (gen.ShardOf(id).N + 1) % gen.Shards}
		}
		f.Must(f.Direct.WriteEntries(t.Context(), fixture.Tenant, []hippo.ShardTarget{{Shard: wrong(ids[0]), IDs: ids[:1]}}))
		f.Must(f.Direct.WriteEntries(t.Context(), fixture.Tenant, []hippo.ShardTarget{{Shard: wrong(ids[1]), IDs: ids[1:2]}}))
		f.Must(f.Direct.RemoveEntries(t.Context(), fixture.Tenant, hippo.ShardTarget{Shard: gen.ShardOf(ids[1]), IDs: ids[1:2]}))
		c := r.wantChecked(false)
		if diff := cmp.Diff(map[hippo.FindingType]int{hippo.Duplicate: 1, hippo.Misplaced: 1}, c.Counts); diff != "" {
			t.Error(diff)
		}
		r.nightly()
		r.wantChecked(true)
		f.WantEqual(gen)
	})
}

func TestSecondRepairWritesNoIndexDocument(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(35)...)
		r.nightly()
		r.nightly()
		if report := r.report(); report.Writes != 0 || len(report.Findings) != 0 || report.Rebuilt || report.Memories != 35 {
			t.Errorf("a repair of a right index reports %+v", report)
		}
	})
}

func TestLostShardAndLostMetaAreRebuilt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(30)...)
		r.nightly()
		old := f.Meta().Current
		f.DeleteIndexDocument(old.ShardIDs()[3].String())
		r.wantChecked(false)
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.LostShard})
		r.wantChecked(true)
		if diff := cmp.Diff(map[hippo.FindingType]int{hippo.Absent: 1}, r.report().Findings); diff != "" {
			t.Errorf("report: %s", diff)
		}
		if f.Meta().Current == old {
			t.Error("the generation with the lost shard is still the current one")
		}
		f.DeleteIndexDocument("meta")
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex})
		r.wantChecked(true)
		index, err := f.Direct.ReadIndex(t.Context(), fixture.Tenant)
		f.Must(err)
		if len(index.Shards) != f.Meta().Current.Shards {
			t.Errorf("%d shards are there, want those %d of the current generation alone", len(index.Shards), f.Meta().Current.Shards)
		}
	})
}

func TestLateAskersRebuildNothing(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{})
	f.SaveMemories(fixture.Names(10)...)
	for range 12 {
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex})
	}
	built := f.Meta()
	r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.LostShard})
	if diff := cmp.Diff(built, f.Meta()); diff != "" {
		t.Errorf("an index that needed nothing was built again: %s", diff)
	}
}

// ticking is a clock that moves on a minute each time it is read.
func ticking() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Minute)
		return now
	}
}

func TestRunsThatEndAfterEachPageFinishTogether(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10, RunFor: time.Second, Now: ticking()})
		f.SaveMemories(fixture.Names(45)...)
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex})
		f.WantEqual(f.Meta().Current)
		if n := r.report().Memories; n != 45 {
			t.Errorf("the build reports %d memories, want 45", n)
		}
		f.SaveMemories("pages/new", "zzz")
		r.nightly()
		f.WantEqual(f.Meta().Current)
		if report := r.report(); report.Memories != 47 || report.Findings[hippo.Missing] != 2 {
			t.Errorf("the repair in parts reports %+v", report)
		}
	})
}

func TestAMessageThatCarriesTheRunOfAnotherTenantWritesNoReportThere(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		r.nightly()
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.Continue, Run: &hippo.Report{Tenant: "other", Cause: "nightly", Reads: 1000}})
		if report, err := f.Direct.Report(t.Context(), "other"); !hippo.IsKind(err, hippo.NotFound) {
			t.Errorf("the other tenant has the report %+v, %v", report, err)
		}
		if report := r.report(); report.Reads < 1000 {
			t.Errorf("the message's own tenant has %+v, want the run's figures", report)
		}
	})
}

func TestChangesDuringABuildAreInTheNewGeneration(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 5})
		names := fixture.Names(30)
		f.SaveMemories(names...)
		hook := reconcile.New(f.Direct, f.Layout.Naming, f.Asked)
		scanned := 0
		f.Fault.After = func(ctx context.Context, method string) error {
			if method != "ScanEntries" {
				return nil
			}
			scanned++
			fresh := f.SaveMemories(fmt.Sprintf("a/%d", scanned), fmt.Sprintf("z/%d", scanned), names[scanned])
			f.DeleteMemories(names[10+scanned])
			return hook.Reconcile(ctx, fixture.Tenant, append(fresh, f.ID(names[10+scanned])))
		}
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex})
		f.WantEqual(f.Meta().Current)
	})
}

func TestShardDeletedWhileItIsFilledIsReplaced(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		ids := f.SaveMemories(fixture.Names(40)...)
		var once sync.Once
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "WriteEntries" { // of the first page; the last id is in the last one
				once.Do(func() { f.DeleteIndexDocument(f.Meta().Next.ShardOf(ids[39]).String()) })
			}
			return nil
		}
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex})
		f.WantEqual(f.Meta().Current)
	})
}

func TestTwoBuildersAtOnceBuildOneIndex(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(40)...)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := r.Handle(t.Context(), repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		f.WantEqual(f.Meta().Current)
	})
}

func TestNightlyMessageReachesEveryTenant(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		var want []hippo.TenantID
		for i := range 7 {
			tenant := hippo.TenantID(fmt.Sprintf("tenant-%d", i))
			want = append(want, tenant)
			f.Must(f.Direct.SaveMemory(t.Context(), tenant, hippo.Memory{ID: f.ID("pages/a"), Name: "pages/a"}))
		}
		f.Must(r.Handle(t.Context(), repairmsg.Message{Cause: repairmsg.Nightly}))
		var got []hippo.TenantID
		for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
			got = append(got, m.Tenant)
			f.Must(r.Handle(t.Context(), m))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, tenant := range want {
			if c, err := r.Check(t.Context(), tenant); err != nil || !c.Equal {
				t.Errorf("%s: %+v %v", tenant, c, err)
			}
		}
	})
}

func TestNewerFormatIsLeftAlone(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{})
	f.SaveMemories("pages/a")
	f.Announce(hippo.IndexVersion+1, 8)
	before := f.Meta()
	err := r.Handle(t.Context(), repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.Nightly})
	if !hippo.IsKind(err, hippo.Conflict) || hippo.Conflict.Retry() {
		t.Errorf("error %v, want a conflict, with which the message is dropped", err)
	}
	if diff := cmp.Diff(before, f.Meta()); diff != "" {
		t.Errorf("an index of a newer format was touched: %s", diff)
	}
}
