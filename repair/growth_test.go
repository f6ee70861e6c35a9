package repair_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// growTo is how many memories TestAStoreGrowsAThousandfoldWhileItIsInUse ends
// with. docs/repair.md names the command for 500,000.
var growTo = flag.Int("grow", 100_000, "memories at the end of TestAStoreGrowsAThousandfoldWhileItIsInUse")

// fill gives the tenant memories, and entries for them in eight shards, of which
// nobody has looked at the size. Where a shard is full it is Invalid.
func (r *repairing) fill(names ...string) error {
	r.Helper()
	gen := r.Meta().Current
	if gen.IsZero() {
		gen = r.EmptyIndex()
	}
	for some := range slices.Chunk(r.SaveMemories(names...), 400) {
		for _, target := range gen.Place(some) {
			if err := r.Direct.WriteEntries(r.Context(), fixture.Tenant, []hippo.ShardTarget{target}); err != nil {
				return err
			}
		}
	}
	return nil
}

// asking is what a part asks for, as messages of the topic.
func (r *repairing) asker() *repairmsg.Asker { return repairmsg.NewAsker(r.topic, nil) }

// carryOut handles the messages that were asked for, and says for which causes.
func (r *repairing) carryOut() []repairmsg.Cause {
	r.Helper()
	var causes []repairmsg.Cause
	for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
		causes = append(causes, m.Cause)
		r.Must(r.Handle(r.Context(), m))
	}
	return causes
}

// wantGrown demands a whole and right index of more shards, none over half of its
// budget.
func (r *repairing) wantGrown(shards int) {
	r.Helper()
	gen := r.Meta().Current
	if gen.Shards <= shards {
		r.Errorf("the index still has %d shards", gen.Shards)
	}
	r.WantEqual(gen)
	r.wantNoLeftovers()
}

func TestGrowthIsAskedForByAColdRead(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.Must(r.fill(fixture.LongNames(400, 8)...))
		index := turnreader.NewIndex(f.Direct, f.Layout.Naming, r.asker(), 1<<30, f.Log())
		known, source, err := index.Known(t.Context(), fixture.Tenant)
		if err != nil || source != turnreader.Cold || known.Len() != 400 {
			t.Fatalf("%d memories, %s, %v", known.Len(), source, err)
		}
		if diff := cmp.Diff([]repairmsg.Cause{repairmsg.FullShard}, r.carryOut()); diff != "" {
			t.Error(diff)
		}
		r.wantGrown(8)
		known, _, err = index.Known(t.Context(), fixture.Tenant)
		if err != nil || known.Len() != 400 {
			t.Errorf("%d memories after the growth, %v", known.Len(), err)
		}
	})
}

func TestGrowthIsDoneByTheNightlyRepair(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.Must(r.fill(fixture.LongNames(400, 8)...))
		r.nightly()
		r.wantGrown(8)
		if diff := cmp.Diff(map[hippo.FindingType]int{hippo.Oversize: 1}, r.report().Findings); diff != "" {
			t.Errorf("report: %s", diff)
		}
	})
}

func TestGrowthIsAskedForByAProcessThatAdded500EntriesToAShard(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.EmptyIndex()
		ids := f.SaveMemories(fixture.LongNames(500, 8)...)
		looks := 0
		f.Fault.Before = func(_ context.Context, method string) error {
			if method == "ReadIndexSince" {
				looks++
			}
			return nil
		}
		reconciler := reconcile.New(f.Fault, f.Layout.Naming, r.asker())
		for i, some := range [][]hippo.MemoryID{ids[:250], ids[250:499]} {
			f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, some))
			if looks != 0 {
				t.Errorf("the shard was looked at after %d batches", i+1)
			}
		}
		f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, ids[499:]))
		if looks != 1 {
			t.Errorf("after 500 entries the shard was looked at %d times, want once", looks)
		}
		if diff := cmp.Diff([]repairmsg.Cause{repairmsg.FullShard}, r.carryOut()); diff != "" {
			t.Error(diff)
		}
		r.wantGrown(8)
	})
}

func TestAProcessThatAdded500ShortEntriesAsksForNothing(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.EmptyIndex()
		reconciler := reconcile.New(f.Direct, f.Layout.Naming, f.Asked)
		ids := f.SaveMemories(fixture.Names(600)...)
		for range 8 {
			f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, ids))
		}
		if causes := f.Asked.Causes(); len(causes) > 0 {
			t.Errorf("asked for %v", causes)
		}
	})
}

func TestALookAtAShardThatFailsIsMadeAgain(t *testing.T) {
	f := fixture.Embedded(t)
	f.EmptyIndex()
	ids := f.SaveMemories(fixture.LongNames(501, 8)...)
	f.Fault.Before = f.FailOnce("ReadIndexSince", hippo.Errorf(hippo.Unavailable, "", "injected"))
	var log strings.Builder
	reconciler := reconcile.New(f.Fault, f.Layout.Naming, f.Asked).LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, ids[:500]))
	if causes := f.Asked.Causes(); len(causes) > 0 {
		t.Fatalf("asked for %v although the look failed", causes)
	}
	if !strings.Contains(log.String(), "injected") {
		t.Errorf("the log does not say why the look failed: %q", &log)
	}
	f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, ids[500:501]))
	if diff := cmp.Diff([]repairmsg.Cause{repairmsg.FullShard}, f.Asked.Causes()); diff != "" {
		t.Error(diff)
	}
}

func TestAGrowthThatCannotBeAskedForIsLoggedAndDoesNotReadTheShardAtEveryWrite(t *testing.T) {
	f := fixture.Embedded(t)
	f.EmptyIndex()
	ids := f.SaveMemories(fixture.LongNames(500, 8)...)
	looks := 0
	f.Fault.Before = func(_ context.Context, method string) error {
		if method == "ReadIndexSince" {
			looks++
		}
		return nil
	}
	var log strings.Builder
	reconciler := reconcile.New(f.Fault, f.Layout.Naming, repairmsg.NewAsker(repairmsg.Nobody{}, nil)).LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, ids))
	for _, id := range ids[:10] {
		f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, []hippo.MemoryID{id}))
	}
	if looks != 1 {
		t.Errorf("the shard was looked at %d times, want once", looks)
	}
	if n := strings.Count(log.String(), "no repair asked for"); n != 1 {
		t.Errorf("%d lines say that nobody could be asked, want one: %q", n, &log)
	}
	f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, ids))
	if looks != 2 {
		t.Errorf("after 500 more entries the shard was looked at %d times, want twice", looks)
	}
}

func TestAShardIsRefusedForItsSizeBeforeAnyoneAskedForGrowth(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.EmptyIndex()
		ids := f.SaveMemories(fixture.LongNames(720, 8)...)
		// Two processes, so that neither has written 500 entries when it is full.
		for i, some := range [][]hippo.MemoryID{ids[:350], ids[350:690]} {
			f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(t.Context(), fixture.Tenant, some))
			if causes := f.Asked.Causes(); len(causes) > 0 {
				t.Fatalf("process %d asked for %v", i, causes)
			}
		}
		reconciler := reconcile.New(f.Direct, f.Layout.Naming, r.asker())
		err := reconciler.Reconcile(t.Context(), fixture.Tenant, ids[690:])
		if !errors.Is(err, hippo.ErrShardFull) || !hippo.ErrorKindOf(err).Retry() {
			t.Fatalf("error %v, want one that a full shard is named in and that asks for another delivery", err)
		}
		if diff := cmp.Diff([]repairmsg.Cause{repairmsg.Refused}, r.carryOut()); diff != "" {
			t.Error(diff)
		}
		f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, ids[690:]))
		r.nightly() // the fuller half of what had been one shard may be due again
		r.wantGrown(8)
	})
}

func TestIDsThatMeetInOneShardDoNotMakeTheIndexGrowForEver(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{})
	f.SaveMemories(fixture.LongNames(400, 128)...)
	r.handle(ask())
	for range 10 {
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.FullShard})
	}
	if gen := f.Meta().Current; gen.Shards != 64 {
		t.Errorf("the index has %d shards, want 64, eight times what its size needs", gen.Shards)
	}
	if c := r.wantChecked(true); c.Counts[hippo.Oversize] != 1 {
		t.Errorf("the check counts %v, want a shard that is too large", c.Counts)
	}
}

func TestABuildWhoseIDsFitIntoNoNumberOfShardsEnds(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{})
	f.SaveMemories(fixture.LongNames(720, 128)...)
	for range 2 { // the second message carries on what the first has left
		err := r.Handle(t.Context(), ask())
		next := f.Meta().Next
		if hippo.ErrorKindOf(err) != hippo.TooLarge || !strings.Contains(fmt.Sprint(err), string(next.ID)+"-") {
			t.Fatalf("got %v, want too large, and which shard of %s", err, next.ID)
		}
		if n := len(f.Index().Shards); next.Shards != 64 || n != 64 {
			t.Errorf("%d shards are there and next has %d, want 64, eight times what its size needs", n, next.Shards)
		}
	}
	if causes := f.Asked.Causes(); len(causes) > 0 {
		t.Errorf("the builder asked for %v", causes)
	}
}

func TestIDsAreSoLongThatAShardHolds700(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{})
	var names []string
	for i := range 6000 {
		names = append(names, fixture.LongName(i))
	}
	f.SaveMemories(names...)
	r.handle(ask()) // its first guess is eight shards, of which each would need 1.1 MB
	gen := f.Meta().Current
	r.wantGrown(8)
	if gen.Shards > 32 {
		t.Errorf("%d shards for 6,000 memories", gen.Shards)
	}
}

func TestABuildWhoseShardWouldHoldMoreThan700LongIDsBeginsAgainWithMoreShards(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.SaveMemories(fixture.LongNames(720, 8)...)
		r.handle(ask())
		if shards := f.Meta().Current.Shards; shards != 16 {
			t.Errorf("the index was built with %d shards, want twice the eight in which it found no room", shards)
		}
		r.nightly() // each half of what had been one shard is due again
		r.wantGrown(16)
	})
}

func TestGrowthInTheMiddleOfA10000MemoryImport(t *testing.T) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("pages/%06d%s", i, strings.Repeat("x", i%2*800)) // ids of 16 and of 1,083 bytes
	}
	t.Run("embedded", func(t *testing.T) { importGrows(t, fixture.Embedded(t), names) })
	// Fewer do where a quarter meets in one shard.
	names = fixture.Names(2000)
	for i, name := range fixture.LongNames(len(names)/4, 8) {
		names[4*i] = name
	}
	t.Run("firestore", func(t *testing.T) { importGrows(t, fixture.Firestore(t), names) })
}

func importGrows(t *testing.T, f *fixture.Fixture, names []string) {
	r := newRepairer(f, repair.Options{PageSize: 1000})
	r.handle(ask())
	reconciler := reconcile.New(f.Direct, f.Layout.Naming, r.asker())
	const batch = 500
	half, read, built := len(names)/2, false, 0
	imported := func() {
		if len(names) > 0 {
			f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, f.SaveMemories(names[:batch]...)))
			names = names[batch:]
		}
	}
	f.Fault.After = func(_ context.Context, method string) error {
		switch method {
		case "ScanEntries":
			imported()
		case "PromoteGeneration":
			built++
		}
		return nil
	}
	for len(names) > 0 {
		imported()
		r.carryOut()
		if len(names) <= half && !read { // a reader comes by, cold
			read = true
			_, _, err := turnreader.NewIndex(f.Direct, f.Layout.Naming, r.asker(), 1<<30, f.Log()).Known(t.Context(), fixture.Tenant)
			f.Must(err)
		}
	}
	r.carryOut()
	f.Fault.After = nil
	if built == 0 {
		t.Error("the index did not grow during the import")
	}
	r.nightly()
	r.wantRight()
}

func TestAStoreGrowsAThousandfoldWhileItIsInUse(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{})
	reconciler := reconcile.New(f.Direct, f.Layout.Naming, repairmsg.NewAsker(r.topic, ticking()))
	warm := turnreader.NewIndex(f.Direct, f.Layout.Naming, r.asker(), 1<<40, f.Log())
	name := func(i int) string { return fmt.Sprintf("pages/%060d", i) }
	shards, memories, grown := []int{}, 0, 0
	for _, size := range []int{100, 20_000, 50_000, 100_000, 500_000} {
		if size > *growTo {
			break
		}
		for memories < size {
			var names []string
			for range min(1000, size-memories) {
				names = append(names, name(memories))
				memories++
			}
			f.Must(reconciler.Reconcile(t.Context(), fixture.Tenant, f.SaveMemories(names...)))
			for _, cause := range r.carryOut() {
				if cause == repairmsg.FullShard {
					grown++
				}
			}
		}
		gen := f.Meta().Current
		shards = append(shards, gen.Shards)
		if found := hippo.ShardFindings(gen, f.Index()); len(found) > 0 {
			t.Errorf("%d memories: %v", size, found)
		}
		var meter hippo.Meter
		ctx := hippo.WithMeter(t.Context(), &meter)
		for range 2 { // the first sees the new generation
			known, _, err := warm.Known(ctx, fixture.Tenant)
			f.Must(err)
			if known.Len() != size {
				t.Errorf("a turn lists %d of %d memories", known.Len(), size)
			}
		}
		// Nothing changed since: a query for each 29 shards, each of which answers
		// with meta.
		before := meter.Total().Documents
		_, source, err := warm.Known(ctx, fixture.Tenant)
		f.Must(err)
		if read, want := meter.Total().Documents-before, (gen.Shards+28)/29; read != want || source != turnreader.Warm {
			t.Errorf("%d memories in %d shards: a %s turn read %d documents, want %d", size, gen.Shards, source, read, want)
		}
		f.WantEqual(gen)
	}
	t.Logf("shards: %v; %d times a process that wrote 500 entries asked for more", shards, grown)
	if !slices.IsSorted(shards) || shards[len(shards)-1] <= 29 {
		t.Errorf("shards %v, want more and more, and in the end more than one query can name", shards)
	}
}

func TestATurnReadsMoreShardsThanOneQueryCanName(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		gen := f.Announce(hippo.IndexVersion, 64)
		f.Promote()
		ids := f.SaveMemories(fixture.Names(200)...)
		r.hook(ids...)
		index := turnreader.NewIndex(f.Direct, f.Layout.Naming, f.Asked, 1<<30, f.Log())
		turn := func(want turnreader.Source, documents int) {
			t.Helper()
			var meter hippo.Meter
			known, source, err := index.Known(hippo.WithMeter(t.Context(), &meter), fixture.Tenant)
			f.Must(err)
			scan, err := f.Direct.ScanEntries(t.Context(), fixture.Tenant, "", 0)
			f.Must(err)
			if diff := cmp.Diff(f.Layout.Naming.Items(scan), slices.Collect(known.All())); diff != "" {
				t.Errorf("a %s turn differs from the scan (-scan +turn):\n%s", source, diff)
			}
			if read := meter.Total().Documents; source != want || read != documents {
				t.Errorf("a %s turn read %d documents, want a %s one that reads %d", source, read, want, documents)
			}
		}
		turn(turnreader.Cold, 1+64)
		turn(turnreader.Warm, 3) // meta, by each of three queries
		// One memory changes in a shard of each query, and one goes.
		changed := map[int]bool{}
		for _, id := range ids[1:] {
			if query := gen.ShardOf(id).N / 29; !changed[query] {
				changed[query] = true
				name, _ := f.Layout.Naming.Name(id)
				r.hook(f.SaveMemories(name)...)
			}
		}
		if len(changed) != 3 {
			t.Fatalf("shards of the queries %v changed, want one of each of three", changed)
		}
		turn(turnreader.Warm, 3+3)
		f.DeleteMemories("pages/00000")
		r.hook(ids[0])
		turn(turnreader.Warm, 3+1)
		if causes := f.Asked.Causes(); len(causes) > 0 {
			t.Errorf("asked for %v", causes)
		}
	})
}
