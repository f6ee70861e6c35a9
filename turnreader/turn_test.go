package turnreader_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/tokens"
	"github.com/hippofire/hippofire/turnreader"
)

type reading struct {
	*fixture.Fixture
	*turnreader.Reader
	index *turnreader.Index
}

func newReader(f *fixture.Fixture) *reading { return newReaderAsking(f, f.Asked) }

func newReaderAsking(f *fixture.Fixture, asker turnreader.Asker) *reading {
	index := turnreader.NewIndex(f.Fault, f.Layout.Naming, asker, 64<<20, f.Log())
	options := turnreader.Options{Tokens: tokens.FourChars}
	if f.Wire != nil { // an emulator on a busy machine answers late
		options.Deadline = time.Minute
	}
	return &reading{f, turnreader.New(f.Fault, f.Layout, index, options), index}
}

// indexed writes memories and their entries.
func (r *reading) indexed(names ...string) {
	r.Helper()
	r.SaveMemories(names...)
	r.reconcile(names...)
}

// reconcile writes the entries of memories.
func (r *reading) reconcile(names ...string) {
	r.Helper()
	var ids []hippo.MemoryID
	for _, name := range names {
		ids = append(ids, r.ID(name))
	}
	r.Must(reconcile.New(r.Direct, r.Layout.Naming, r.Asked).Reconcile(r.Context(), fixture.Tenant, ids))
}

func (r *reading) turn() turnreader.Turn {
	r.Helper()
	turn, err := r.Turn(r.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread})
	r.Must(err)
	return turn
}

func block(t turnreader.Turn, kind turnreader.BlockKind) turnreader.Block {
	for _, b := range t.Blocks {
		if b.Kind == kind {
			return b
		}
	}
	return turnreader.Block{}
}

// listed are the names in the memory list, in order.
func listed(t turnreader.Turn) []string {
	var names []string
	for line := range strings.Lines(block(t, turnreader.MemoryList).Text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			names = append(names, name)
		}
	}
	return names
}

// scanned are the names that a scan lists, in order.
func (r *reading) scanned() []string {
	r.Helper()
	entries, err := r.Direct.ScanEntries(r.Context(), fixture.Tenant, "", 0)
	r.Must(err)
	var names []string
	for _, item := range r.Layout.Naming.Items(entries) {
		names = append(names, item.Name)
	}
	return names
}

func TestListFromIndexIsTheListFromAScan(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.SaveMemories("pages/before")
		if turn := r.turn(); turn.Ledger.Index != turnreader.Scan || !slices.Equal(listed(turn), r.scanned()) {
			t.Errorf("without an index: %s %v", turn.Ledger.Index, listed(turn))
		}
		f.EmptyIndex()
		r.indexed(append(fixture.Names(60), "pages/before")...)
		for _, want := range []turnreader.Source{turnreader.Cold, turnreader.Warm, turnreader.Warm} {
			turn := r.turn()
			if turn.Ledger.Index != want {
				t.Errorf("index is %s, want %s", turn.Ledger.Index, want)
			}
			if diff := cmp.Diff(r.scanned(), listed(turn)); diff != "" {
				t.Errorf("%s list differs from the scan: %s", want, diff)
			}
			r.indexed("pages/00007")
		}
	})
}

func TestNamesOfEveryShapeAreListed(t *testing.T) {
	all := []string{
		"184.174.14.109", "notes.2026.md", "a/b", "a%2Fb", "https://a.b/c?d=1#e%2F", "?>?>", "🚲 Räder", "`", `\`, "__x__",
		strings.Repeat("n", hippo.Base64URL.MaxNameBytes()),
	}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.SaveMemories(all...)
		scanned, _, err := r.index.Known(t.Context(), fixture.Tenant)
		f.Must(err)
		f.EmptyIndex()
		r.reconcile(all...)
		indexed, source, err := r.index.Known(t.Context(), fixture.Tenant)
		f.Must(err)
		for _, known := range []*turnreader.Known{scanned, indexed} {
			latestFirst := names(known)
			slices.Reverse(latestFirst)
			if diff := cmp.Diff(all, latestFirst); diff != "" {
				t.Error(diff)
			}
		}
		if resp := r.list(turnreader.ListRequest{Names: all}); source != turnreader.Cold || len(resp.Missing) > 0 {
			t.Errorf("%s: not known are %q", source, resp.Missing)
		}
	})
}

func TestUpdatedAtOfEveryShape(t *testing.T) {
	moment := time.Date(2026, 5, 1, 12, 0, 0, 123456789, time.UTC)
	for name, versions := range map[string][]any{
		"nanoseconds":                     {moment},
		"missing":                         {nil},
		"a string":                        {"2026-05-01T12:00:00Z"},
		"a number":                        {int64(1777636800)},
		"year 9999":                       {time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)},
		"before 1970":                     {time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		"earlier than the version before": {moment, moment.Add(-time.Hour)},
		"a timestamp, then none":          {moment, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				r := newReader(f)
				f.EmptyIndex()
				r.indexed("pages/before", "pages/after")
				for _, at := range versions {
					fields := map[string]any{"name": "pages/odd", "content": "text"}
					if at != nil {
						fields["updated_at"] = at
					}
					f.PutMemory(f.ID("pages/odd"), fields)
					r.reconcile("pages/odd")
					if diff := cmp.Diff(r.scanned(), listed(r.turn())); diff != "" {
						t.Error(diff)
					}
				}
				f.WantEqual(f.Meta().Current)
			})
		})
	}
}

func TestDeletedMemoryLeavesAListThatIsHeld(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(30)...)
		r.turn()
		f.DeleteMemories("pages/00007")
		r.reconcile("pages/00007")
		turn := r.turn()
		if diff := cmp.Diff(r.scanned(), listed(turn)); diff != "" || turn.Ledger.Index != turnreader.Warm {
			t.Errorf("%s: %s", turn.Ledger.Index, diff)
		}
	})
}

func TestEntryInTheWrongShardIsNotListed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		gen := f.EmptyIndex()
		r.indexed("pages/a", "pages/b")
		id := f.ID("pages/a")
		wrong := hippo.ShardID{Gen: gen.ID, N: (gen.ShardOf(id).N + 1) % gen.Shards}
		f.Must(f.Direct.WriteEntries(t.Context(), fixture.Tenant, []hippo.ShardTarget{{Shard: wrong, IDs: []hippo.MemoryID{id}}}))
		if diff := cmp.Diff(r.scanned(), listed(r.turn())); diff != "" {
			t.Error(diff)
		}
	})
}

func Test1000MemoriesWithEqualUpdatedAt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		all := fixture.Names(1000)
		at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		var group errgroup.Group
		group.SetLimit(16)
		for _, name := range all {
			group.Go(func() error {
				return f.Direct.SaveMemory(t.Context(), fixture.Tenant, hippo.Memory{ID: f.ID(name), Name: name, UpdatedAt: hippo.MicrosOf(at)})
			})
		}
		f.Must(group.Wait())
		r.reconcile(all...)
		known, source, err := r.index.Known(t.Context(), fixture.Tenant)
		f.Must(err)
		if diff := cmp.Diff(all, names(known)); diff != "" || source != turnreader.Cold {
			t.Errorf("%s: %s", source, diff)
		}
	})
}

func TestDocumentIdsThatStandForNoNameAreInNeitherList(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed("A") // its id is QQ
		for _, id := range []hippo.MemoryID{"1865_v3.1", "QR", hippo.MemoryID(strings.Repeat("Q", 1500))} {
			f.PutMemory(id, map[string]any{"name": "a name"})
			f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(t.Context(), fixture.Tenant, []hippo.MemoryID{id}))
		}
		for _, got := range [][]string{listed(r.turn()), r.scanned()} {
			if diff := cmp.Diff([]string{"A"}, got); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestWarmTurnReadsMetaAndChangedShardsOnly(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(50)...)
		documents := func() int {
			for _, read := range r.turn().Ledger.Reads {
				if strings.HasPrefix(read.Query, "ReadIndex") {
					return read.Documents
				}
			}
			return 0
		}
		if got := documents(); got != 9 {
			t.Errorf("cold: %d documents, want meta and 8 shards", got)
		}
		if got := documents(); got != 1 {
			t.Errorf("warm, nothing changed: %d documents, want meta alone", got)
		}
		r.indexed("pages/00001")
		if got := documents(); got != 2 {
			t.Errorf("warm, one shard changed: %d documents, want 2", got)
		}
	})
}

func TestLedgerIsWhatWentOverTheWire(t *testing.T) {
	f := fixture.Firestore(t)
	r := newReader(f)
	f.SaveMemories(fixture.Names(50)...)
	r.thread(45, 5)
	for _, step := range []struct {
		from    turnreader.Source
		arrange func()
	}{
		{turnreader.Scan, func() {}},
		{turnreader.Cold, func() { f.EmptyIndex(); r.reconcile(fixture.Names(50)...) }},
		{turnreader.Warm, func() {}},
		{turnreader.Warm, func() { r.indexed("pages/00001") }},
	} {
		step.arrange()
		before := f.Wire.Total()
		turn := r.turn()
		after := f.Wire.Total()
		if reads, bytes := after.Reads-before.Reads, after.Bytes-before.Bytes; turn.Ledger.Index != step.from || reads != turn.Ledger.Documents || bytes != turn.Ledger.Bytes {
			t.Errorf("%s: the ledger says %d documents and %d bytes from %s, the wire %d and %d", step.from, turn.Ledger.Documents, turn.Ledger.Bytes, turn.Ledger.Index, reads, bytes)
		}
		list := r.list(turnreader.ListRequest{})
		if reads, bytes := f.Wire.Total().Reads-after.Reads, f.Wire.Total().Bytes-after.Bytes; reads != list.Documents || bytes != list.Bytes {
			t.Errorf("%s: ListMemories says %d documents and %d bytes, the wire %d and %d", step.from, list.Documents, list.Bytes, reads, bytes)
		}
	}
}

func TestWarmReadThatTheStoreRefusesIsReadCold(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReader(f)
	f.EmptyIndex()
	r.indexed("pages/a")
	r.turn()
	r.indexed("pages/b")
	for _, kind := range []hippo.ErrorKind{hippo.Internal, hippo.Invalid} {
		f.Fault.Before = f.FailAll("ReadIndexSince", hippo.Errorf(kind, "", "the query requires an index"))
		turn := r.turn()
		if got := listed(turn); turn.Ledger.Index != turnreader.Cold || !slices.Equal(got, r.scanned()) {
			t.Errorf("%s: %v from %s", kind, got, turn.Ledger.Index)
		}
	}
	f.Fault.Before = f.FailAll("ReadIndexSince", hippo.Errorf(hippo.Unavailable, "", "down"))
	if _, source, err := r.index.Known(t.Context(), fixture.Tenant); !hippo.IsKind(err, hippo.Unavailable) || source != turnreader.Warm {
		t.Errorf("a store that is down was asked again: %s, %v", source, err)
	}
}

func TestShardThenMetaDeletedByHandLeaveTurnsRight(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		gen := f.EmptyIndex()
		watching := newReader(f)
		watching.indexed(fixture.Names(20)...)
		want := watching.scanned()
		watching.turn()
		for _, id := range []string{gen.ShardIDs()[2].String(), "meta"} {
			f.DeleteIndexDocument(id)
			turn := newReader(f).turn()
			if turn.Ledger.Index != turnreader.Scan {
				t.Errorf("without %s the index is %s, want a scan", id, turn.Ledger.Index)
			}
			if diff := cmp.Diff(want, listed(turn)); diff != "" {
				t.Errorf("without %s: %s", id, diff)
			}
			if diff := cmp.Diff(want, listed(watching.turn())); diff != "" {
				t.Errorf("without %s, in a process that holds the index: %s", id, diff)
			}
		}
		causes := f.Asked.Causes()
		if len(causes) < 2 || causes[0] != repairmsg.LostShard || causes[1] != repairmsg.NoIndex {
			t.Errorf("asked for %v, want a rebuild for each", causes)
		}
	})
}

func TestShardsLeftOverFromAnotherGenerationAreNotRead(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(10)...)
		f.Announce(hippo.IndexVersion, 16)
		f.Promote() // nobody sweeps
		r.indexed(fixture.Names(10)...)
		f.DeleteMemories("pages/00003")
		r.reconcile("pages/00003")
		turn := r.turn()
		if diff := cmp.Diff(r.scanned(), listed(turn)); diff != "" || turn.Ledger.Index != turnreader.Cold {
			t.Errorf("%s: %s", turn.Ledger.Index, diff)
		}
	})
}

func TestMetaOfANewerVersionIsScannedAndNotAskedFor(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Announce(hippo.IndexVersion+1, 8)
		f.Promote()
		r := newReader(f)
		f.SaveMemories("pages/a")
		if turn := r.turn(); turn.Ledger.Index != turnreader.Scan || len(listed(turn)) != 1 {
			t.Errorf("%s %v", turn.Ledger.Index, listed(turn))
		}
		if causes := f.Asked.Causes(); len(causes) != 0 {
			t.Errorf("asked for %v", causes)
		}
	})
}

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

// thread saves n messages, a minute apart, and records an episode for each run of
// size of them.
func (r *reading) thread(n, size int) []hippo.Message {
	r.Helper()
	start := hippo.MicrosOf(time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC))
	messages := make([]hippo.Message, n)
	for i := range messages {
		messages[i] = hippo.Message{
			ID: hippo.MessageID(fmt.Sprintf("m%04d", i)), Role: hippo.User, Content: fmt.Sprintf("message %d", i),
			CreatedAt: start + hippo.Micros(i)*hippo.Micros(time.Minute/time.Microsecond),
		}
	}
	for chunk := range slices.Chunk(messages, 100) {
		_, err := r.Direct.SaveMessages(r.Context(), fixture.Tenant, fixture.Thread, chunk)
		r.Must(err)
	}
	if size > 0 {
		for i := 0; i+size <= n; i += size {
			r.episode(messages[i], messages[i+size-1], fmt.Sprintf("stretch %d", i/size))
		}
	}
	return messages
}

func (r *reading) episode(from, to hippo.Message, gist string, wrote ...string) {
	r.Helper()
	pass := hippo.Pass{Stretch: hippo.Stretch{From: from.Position(), To: to.Position()}, Hash: gist, Gist: gist}
	for _, name := range wrote {
		pass.Writes = append(pass.Writes, hippo.Write{ID: r.ID(name), Name: name})
	}
	_, err := r.Direct.RecordPass(r.Context(), fixture.Tenant, fixture.Thread, pass)
	r.Must(err)
	var ids []hippo.MemoryID
	for _, w := range pass.Writes {
		ids = append(ids, w.ID)
	}
	r.Must(reconcile.New(r.Direct, r.Layout.Naming, r.Asked).Reconcile(r.Context(), fixture.Tenant, ids))
}

// gists are the lines of the buffer, and whether the gap line is there.
func gists(t turnreader.Turn) (gists []string, gap bool) {
	b := block(t, turnreader.BufferBlock)
	for _, l := range b.Lines {
		gists = append(gists, l.Gist)
	}
	return gists, strings.Contains(b.Text, "more of this thread")
}

func stretches(numbers ...int) []string {
	var out []string
	for _, n := range numbers {
		out = append(out, fmt.Sprintf("stretch %d", n))
	}
	return out
}

func TestThreadThatFitsItsWindowCostsNoBuffer(t *testing.T) {
	for _, n := range []int{0, 1, 29, 30} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			r := newReader(f)
			f.EmptyIndex()
			r.thread(n, 1)
			turn := r.turn()
			if b := block(turn, turnreader.BufferBlock); b.Text != "" {
				t.Errorf("%d messages: a buffer of %d tokens", n, b.Tokens)
			}
			if slices.ContainsFunc(turn.Ledger.Reads, func(read hippo.Reads) bool { return strings.Contains(read.Query, "Episode") }) {
				t.Errorf("%d messages: episodes were read: %v", n, turn.Ledger.Reads)
			}
			if got := len(block(turn, turnreader.RecentBlock).Messages); got != n {
				t.Errorf("%d messages are shown, want %d", got, n)
			}
		})
	}
}

func TestThreadsOf1And11And12And13And30Stretches(t *testing.T) {
	for _, test := range []struct {
		stretches int // of two messages each, all of them before the window
		want      []string
		gap       bool
	}{
		{1, stretches(0), false},
		{11, stretches(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), false},
		{12, stretches(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), false},
		{13, stretches(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), true},
		{30, stretches(0, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29), true},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			r := newReader(f)
			f.EmptyIndex()
			messages := r.thread(2*test.stretches+30, 0)
			for i := range test.stretches {
				r.episode(messages[2*i], messages[2*i+1], fmt.Sprintf("stretch %d", i))
			}
			got, gap := gists(r.turn())
			if diff := cmp.Diff(test.want, got); diff != "" || gap != test.gap {
				t.Errorf("%d stretches: gap %v, want %v: %s", test.stretches, gap, test.gap, diff)
			}
		})
	}
}

func TestStretchThatStraddlesTheWindowCountsAsOlder(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		messages := r.thread(40, 0)
		r.episode(messages[0], messages[4], "stretch 0")
		r.episode(messages[5], messages[14], "stretch 1") // the window begins at 10
		r.episode(messages[15], messages[39], "stretch 2")
		got, gap := gists(r.turn())
		if diff := cmp.Diff(stretches(0, 1), got); diff != "" || gap {
			t.Errorf("gap %v: %s", gap, diff)
		}
	})
}

func TestPointersFollowMovesAndAreOtherwiseDropped(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		messages := r.thread(40, 0)
		names := []string{"pages/kept", "pages/renamed", "pages/twice", "pages/deleted", "pages/circle a"}
		r.episode(messages[0], messages[1], "all", names...)
		r.indexed("pages/new name", "pages/second", "pages/third", "pages/circle b")
		move := func(at int, from, into string) {
			pass := hippo.Pass{Stretch: hippo.Stretch{From: messages[at].Position(), To: messages[at].Position()}, Hash: "h", Moves: []hippo.Move{{From: f.ID(from), Into: f.ID(into)}}}
			_, err := f.Direct.RecordPass(t.Context(), fixture.Tenant, fixture.Thread, pass)
			f.Must(err)
			f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(t.Context(), fixture.Tenant, pass.Touched()))
		}
		move(2, "pages/renamed", "pages/new name")
		move(3, "pages/twice", "pages/second")
		move(4, "pages/second", "pages/third")
		move(5, "pages/circle a", "pages/circle b")
		f.PutDocument(hippo.Fill(f.Layout.Paths.Move, "t", string(f.ID("pages/circle b"))), map[string]any{"into": string(f.ID("pages/circle a"))})
		f.DeleteMemories("pages/deleted", "pages/circle b")
		f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(t.Context(), fixture.Tenant, []hippo.MemoryID{f.ID("pages/deleted"), f.ID("pages/circle b")}))

		lines := block(r.turn(), turnreader.BufferBlock).Lines
		if len(lines) != 1 {
			t.Fatalf("%d lines, want 1", len(lines))
		}
		if diff := cmp.Diff([]string{"pages/kept", "pages/new name", "pages/third"}, lines[0].Pointers); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBufferIsTheSameForAnyNewMessage(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.thread(60, 3)
		var texts []string
		for _, content := range []string{"stretch 1", "what about stretch 4?", "", "🚲"} {
			turn, err := r.Turn(t.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread, Message: &hippo.Message{ID: "new", Role: hippo.User, Content: content}})
			f.Must(err)
			texts = append(texts, block(turn, turnreader.BufferBlock).Text)
		}
		if texts[0] == "" || len(slices.Compact(texts)) != 1 {
			t.Error("the buffer depends on the new message")
		}
	})
}

func TestStoredNewMessageIsShownOnce(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReader(f)
	messages := r.thread(5, 0)
	turn, err := r.Turn(t.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread, Message: &messages[4]})
	f.Must(err)
	if recent, fresh := block(turn, turnreader.RecentBlock).Messages, block(turn, turnreader.MessageBlock).Messages; len(recent) != 4 || len(fresh) != 1 {
		t.Errorf("%d recent and %d new messages, want 4 and 1", len(recent), len(fresh))
	}
}

func TestBufferOfANewMessageThatWasStoredLongAgoHidesNothing(t *testing.T) {
	r := newReader(fixture.Embedded(t))
	r.EmptyIndex()
	messages := r.say("user: "+words(20), "assistant: "+words(200), "user: "+words(200), "assistant: "+words(200))
	r.episode(messages[1], messages[3], "stretch 0")
	turn := r.ask(turnreader.Request{Message: &messages[0], Budget: tokensOf(400), Contract: &contract.Contract{Include: map[contract.Block]contract.Rule{
		contract.Buffer: {Rank: 2, MaxTokens: tokensOf(370)}, contract.RecentMessages: {Rank: 1},
	}}})
	if got, _ := gists(turn); shown(turn) != "" || len(got) != 1 {
		t.Errorf("shown %q; the buffer has %v", shown(turn), got)
	}
}

func TestCapsAreCountedByKind(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReader(f)
	var names []string
	for i := range 130 {
		names = append(names, fmt.Sprintf("pages/%d", i), fmt.Sprintf("sources/%d", i), fmt.Sprintf("journal/%d", i), fmt.Sprint(i))
	}
	f.SaveMemories(names...)
	turn := r.turn()
	if n := len(listed(turn)); n != 120+40+60+60 {
		t.Errorf("%d names are listed", n)
	}
	if text := block(turn, turnreader.MemoryList).Text; !strings.Contains(text, "70 journal, 70 other, 10 pages, 90 sources") {
		t.Errorf("what is past the caps is not counted: %s", text[len(text)-200:])
	}
}

func TestTurnOfAnUnknownThreadIsEmpty(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		if turn := newReader(f).turn(); len(turn.Blocks) != 0 {
			t.Errorf("%+v", turn.Blocks)
		}
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
