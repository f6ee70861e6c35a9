package firestoredb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/firestoredb"
	"github.com/hippofire/hippofire/store/firestoredb/indexcheck"
	"github.com/hippofire/hippofire/store/schema"
)

const tenant, thread = "tenant", "thread"

var layout = hippo.DefaultLayout()

// built gives a store an empty index.
func built(t testing.TB, s hippo.Store, shards int) hippo.Generation {
	t.Helper()
	ctx := t.Context()
	gen := hippo.Generation{ID: hippo.NewGenerationID(), Shards: shards, Version: hippo.IndexVersion}
	meta, err := s.AnnounceGeneration(ctx, tenant, hippo.Meta{}, gen)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PromoteGeneration(ctx, tenant, meta); err != nil {
		t.Fatal(err)
	}
	return gen
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inOrder makes messages a minute apart.
func inOrder(n int) []hippo.Message {
	messages := make([]hippo.Message, n)
	for i := range messages {
		messages[i] = hippo.Message{
			ID: hippo.MessageID(fmt.Sprintf("m%03d", i)), Role: hippo.User, Content: "text", Terms: []string{"word"},
			CreatedAt: hippo.MicrosOf(time.Date(2026, 3, 1, 9, i, 0, 0, time.UTC)),
		}
	}
	return messages
}

func TestMeterSaysWhatTheWireSays(t *testing.T) {
	var wire firestoredb.WireCounter
	h := open(t, layout, wire.DialOptions()...)
	s := h.store
	gen := built(t, s, 8)
	messages := inOrder(5)
	to := messages[2].Position()
	stretch := hippo.Stretch{From: messages[0].Position(), To: to}
	pass := hippo.Pass{Stretch: stretch, Hash: "h", Gist: "line", Writes: []hippo.Write{{ID: "c", Name: "c"}}, Moves: []hippo.Move{{From: "b", Into: "c"}}}
	end := hippo.Position{At: messages[4].CreatedAt + 1}
	err1 := func(_ any, err error) error { return err }
	for _, step := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"SaveMemory", func(ctx context.Context) error {
			return s.SaveMemory(ctx, tenant, hippo.Memory{ID: "a", Name: "a", Content: "text"})
		}},
		{"SaveMemory with a time", func(ctx context.Context) error { return s.SaveMemory(ctx, tenant, hippo.Memory{ID: "b", UpdatedAt: 1}) }},
		{"Memory", func(ctx context.Context) error { return err1(s.Memory(ctx, tenant, "a")) }},
		{"MemoryTimes", func(ctx context.Context) error {
			return err1(s.MemoryTimes(ctx, tenant, []hippo.MemoryID{"a", "none", "b"}))
		}},
		{"ScanEntries", func(ctx context.Context) error { return err1(s.ScanEntries(ctx, tenant, "", 0)) }},
		{"ScanEntries past the end", func(ctx context.Context) error { return err1(s.ScanEntries(ctx, tenant, "z", 5)) }},
		{"CountMemories", func(ctx context.Context) error { return err1(s.CountMemories(ctx, tenant)) }},
		{"WriteEntries", func(ctx context.Context) error {
			return s.WriteEntries(ctx, tenant, gen.Place([]hippo.MemoryID{"a", "b", "none"}))
		}},
		{"ReadIndex", func(ctx context.Context) error { return err1(s.ReadIndex(ctx, tenant)) }},
		{"ReadIndexSince, all changed", func(ctx context.Context) error {
			return err1(s.ReadIndexSince(ctx, tenant, gen, []int64{-1, -1, -1, -1, -1, -1, -1, -1}))
		}},
		{"ReadIndexSince, none changed", func(ctx context.Context) error {
			return err1(s.ReadIndexSince(ctx, tenant, gen, []int64{9, 9, 9, 9, 9, 9, 9, 9}))
		}},
		{"RemoveEntries", func(ctx context.Context) error {
			return s.RemoveEntries(ctx, tenant, hippo.ShardTarget{Shard: gen.ShardOf("a"), IDs: []hippo.MemoryID{"a"}})
		}},
		{"Meta", func(ctx context.Context) error { return err1(s.Meta(ctx, tenant)) }},
		{"SweepIndex", func(ctx context.Context) error { return err1(s.SweepIndex(ctx, tenant)) }},
		{"SaveMessages", func(ctx context.Context) error { return err1(s.SaveMessages(ctx, tenant, thread, messages)) }},
		{"SaveMessages again", func(ctx context.Context) error { return err1(s.SaveMessages(ctx, tenant, thread, messages)) }},
		{"RecentMessages", func(ctx context.Context) error { return err1(s.RecentMessages(ctx, tenant, thread, 3)) }},
		{"MessagesIn", func(ctx context.Context) error {
			return err1(s.MessagesIn(ctx, tenant, thread, stretch, hippo.Position{}, 10))
		}},
		{"MessagesBefore", func(ctx context.Context) error { return err1(s.MessagesBefore(ctx, tenant, thread, end, 10)) }},
		{"MessagesWithTerm", func(ctx context.Context) error {
			return err1(s.MessagesWithTerm(ctx, tenant, thread, "word", end, 2))
		}},
		{"Positions", func(ctx context.Context) error {
			return err1(s.Positions(ctx, tenant, thread, []hippo.MessageID{"m001", "none"}))
		}},
		{"CountMessages", func(ctx context.Context) error { return err1(s.CountMessages(ctx, tenant, thread)) }},
		{"RecordPass", func(ctx context.Context) error { return err1(s.RecordPass(ctx, tenant, thread, pass)) }},
		{"RecordPass again", func(ctx context.Context) error { return err1(s.RecordPass(ctx, tenant, thread, pass)) }},
		{"Moves", func(ctx context.Context) error { return err1(s.Moves(ctx, tenant, []hippo.MemoryID{"b", "c"})) }},
		{"EpisodesBefore", func(ctx context.Context) error { return err1(s.EpisodesBefore(ctx, tenant, thread, end, 12)) }},
		{"EpisodesAfter", func(ctx context.Context) error { return err1(s.EpisodesAfter(ctx, tenant, thread, end, 12)) }},
		{"EpisodeByHandle", func(ctx context.Context) error {
			return err1(s.EpisodeByHandle(ctx, tenant, thread, hippo.HandleOf(to)))
		}},
		{"CountEpisodes", func(ctx context.Context) error { return err1(s.CountEpisodes(ctx, tenant, thread)) }},
		{"SaveReport", func(ctx context.Context) error { return s.SaveReport(ctx, hippo.Report{Tenant: tenant}) }},
		{"Report", func(ctx context.Context) error { return err1(s.Report(ctx, tenant)) }},
		{"Tenants", func(ctx context.Context) error { _, _, err := s.Tenants(ctx, hippo.Cursor{}, 10); return err }},
		{"Threads", func(ctx context.Context) error { _, _, err := s.Threads(ctx, tenant, hippo.Cursor{}, 10); return err }},
		{"DeleteMemory", func(ctx context.Context) error { return s.DeleteMemory(ctx, tenant, "a") }},
	} {
		var meter hippo.Meter
		before := wire.Total()
		if err := step.do(hippo.WithMeter(t.Context(), &meter)); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		after := wire.Total()
		want := hippo.Reads{Documents: after.Reads - before.Reads, Bytes: after.Bytes - before.Bytes, Writes: after.Writes - before.Writes}
		if want == (hippo.Reads{}) {
			t.Errorf("%s: the wire saw nothing", step.name)
		}
		if diff := cmp.Diff(want, meter.Total()); diff != "" {
			t.Errorf("%s (-wire +meter):\n%s", step.name, diff)
		}
	}
}

func TestWarmReadingOfAnUnchangedIndexIsOneDocument(t *testing.T) {
	var wire firestoredb.WireCounter
	s := open(t, layout, wire.DialOptions()...).store
	gen := built(t, s, 16)
	before := wire.Total().Reads
	read, err := s.ReadIndexSince(t.Context(), tenant, gen, make([]int64, 16))
	ok(t, err)
	if n := wire.Total().Reads - before; n != 1 || read.Meta.Current != gen || len(read.Shards) != 0 {
		t.Errorf("%d documents read, meta of %v, %d shards; want one, of %v, none", n, read.Meta.Current, len(read.Shards), gen)
	}
}

func TestLongestKeyIsIndexedAndLongerOnesAreRefused(t *testing.T) {
	s := open(t, layout).store
	gen := built(t, s, 8)
	for _, tc := range []struct {
		id   string
		want hippo.ErrorKind
	}{
		{strings.Repeat("k", hippo.MaxEntryKeyBytes+1), hippo.Invalid},
		{strings.Repeat("k", hippo.MaxDocumentIDBytes), hippo.Invalid},
		{"__reserved__", hippo.Invalid},
		{"\xff", hippo.Invalid},
		{"", hippo.Invalid},
	} {
		if err := s.WriteEntries(t.Context(), tenant, gen.Place([]hippo.MemoryID{hippo.MemoryID(tc.id)})); !hippo.IsKind(err, tc.want) {
			t.Errorf("an id of %d bytes: error %v, want one of kind %q", len(tc.id), err, tc.want)
		}
	}
	for _, c := range []string{"k", "`", ".", "\\", "😀"} {
		id := hippo.MemoryID(strings.Repeat(c, hippo.MaxEntryKeyBytes/len(c)))
		ok(t, s.SaveMemory(t.Context(), tenant, hippo.Memory{ID: id, UpdatedAt: 7}))
		ok(t, s.WriteEntries(t.Context(), tenant, gen.Place([]hippo.MemoryID{id})))
		read, err := s.ReadIndex(t.Context(), tenant)
		ok(t, err)
		if shard := read.Of(gen)[gen.ShardOf(id).N]; shard.Entries[id] != 7 {
			t.Errorf("%q: the longest key is not in its shard", c)
		}
	}
}

func TestShardOverItsSizeIsTooLargeAndStaysAsItWas(t *testing.T) {
	h := open(t, layout)
	gen := built(t, h.store, 8)
	shard := hippo.ShardID{Gen: gen.ID, N: 0}
	entries := map[string]any{}
	for i := range 745 {
		entries[fmt.Sprintf("%01390d", i)] = int64(i)
	}
	path := hippo.Fill(layout.Paths.Index, tenant, shard.String())
	ok(t, h.PutDocument(t.Context(), path, map[string]any{"shard": shard.String(), "gen": string(gen.ID), "rev": int64(3), "e": entries}))
	target := hippo.ShardTarget{Shard: shard}
	for i := range 20 {
		id := hippo.MemoryID(fmt.Sprintf("x%01389d", i))
		ok(t, h.store.SaveMemory(t.Context(), tenant, hippo.Memory{ID: id}))
		target.IDs = append(target.IDs, id)
	}
	if err := h.store.WriteEntries(t.Context(), tenant, []hippo.ShardTarget{target}); !hippo.IsKind(err, hippo.TooLarge) {
		t.Errorf("error %v, want one of kind too large", err)
	}
	read, err := h.store.ReadIndex(t.Context(), tenant)
	ok(t, err)
	if got := read.Of(gen)[0]; got.Rev != 3 || len(got.Entries) != 745 {
		t.Errorf("rev %d and %d entries, want 3 and 745", got.Rev, len(got.Entries))
	}
}

func TestMessagesOverTheSizeOfADocumentOrOfACallAreTooLarge(t *testing.T) {
	s := open(t, layout).store
	for _, tc := range []struct{ messages, bytes int }{{1, 1 << 20}, {6, 800 << 10}} {
		messages := inOrder(tc.messages)
		for i := range messages {
			messages[i].Content = strings.Repeat("x", tc.bytes)
		}
		if _, err := s.SaveMessages(t.Context(), tenant, thread, messages); !hippo.IsKind(err, hippo.TooLarge) {
			t.Errorf("%d of %d bytes: error %v, want one of kind too large", tc.messages, tc.bytes, err)
		}
	}
}

func TestForeignValuesInAMemoryDoNotBreakAReading(t *testing.T) {
	h := open(t, layout)
	path := hippo.Fill(layout.Paths.Memory, tenant, "odd")
	ok(t, h.PutDocument(t.Context(), path, map[string]any{
		"content": "text", "name": h.client.Doc("a/b"), "updated_at": &latlng.LatLng{Latitude: 1, Longitude: 2},
		"vector": firestore.Vector64{1, 2}, "bytes": []byte{1}, "nothing": nil, "list": []any{map[string]any{"x": h.client.Doc("c/d")}},
	}))
	m, err := h.store.Memory(t.Context(), tenant, "odd")
	ok(t, err)
	name, _ := layout.Naming.Name("odd")
	if m.Content != "text" || m.Name != name || m.UpdatedAt == 0 {
		t.Errorf("read %+v", m)
	}
	entries, err := h.store.ScanEntries(t.Context(), tenant, "", 0)
	ok(t, err)
	if len(entries) != 1 || entries[0].UpdatedAt != m.UpdatedAt {
		t.Errorf("scanned %v, want the time %s of the reading", entries, m.UpdatedAt)
	}
}

// answering makes calls of an RPC fail with a code, before or after they were
// done.
func answering(rpc string, code codes.Code, done bool, times int) grpc.DialOption {
	var mu sync.Mutex
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		mu.Lock()
		fail := strings.HasSuffix(method, "/"+rpc) && times > 0
		if fail {
			times--
		}
		mu.Unlock()
		if !fail {
			return call(ctx, method, req, reply, conn, opts...)
		}
		if done {
			if err := call(ctx, method, req, reply, conn, opts...); err != nil {
				return err
			}
		}
		return status.Error(code, "on purpose")
	})
}

func TestTransactionThatAlwaysLosesIsUnavailableAndRollsBackEachAttempt(t *testing.T) {
	h := open(t, layout)
	gen := built(t, h.store, 8)
	var wire firestoredb.WireCounter
	losing := beside(t, h, append(wire.DialOptions(), answering("Commit", codes.Aborted, false, 1000))...)
	if err := losing.WriteEntries(t.Context(), tenant, gen.Place([]hippo.MemoryID{"a"})); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("error %v, want one of kind unavailable", err)
	}
	by := wire.ByRPC()
	if begun, ended := by["BatchGetDocuments"].Calls, by["Rollback"].Calls; begun != 5 || ended != 5 {
		t.Errorf("%d attempts, %d rolled back; want 5 and 5", begun, ended)
	}
}

func TestCommitThatWasAppliedButReportedOtherwiseCanBeDoneAgain(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.Canceled, codes.Internal} {
		h := open(t, layout)
		gen := built(t, h.store, 8)
		ok(t, h.store.SaveMemory(t.Context(), tenant, hippo.Memory{ID: "a", UpdatedAt: 5}))
		s := beside(t, h, answering("Commit", code, true, 1))
		targets := gen.Place([]hippo.MemoryID{"a"})
		if err := s.WriteEntries(t.Context(), tenant, targets); !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("%s: error %v, want one of kind unavailable", code, err)
		}
		ok(t, s.WriteEntries(t.Context(), tenant, targets))
		read, err := h.store.ReadIndex(t.Context(), tenant)
		ok(t, err)
		if got := read.Of(gen)[gen.ShardOf("a").N].Entries["a"]; got != 5 {
			t.Errorf("%s: entry %d, want 5", code, got)
		}
	}
}

// before runs something before the first call of an RPC.
func before(rpc string, something func()) grpc.DialOption {
	var once sync.Once
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if strings.HasSuffix(method, "/"+rpc) {
			once.Do(something)
		}
		return call(ctx, method, req, reply, conn, opts...)
	})
}

func TestMemoryThatChangesBeforeItsEntryIsCommittedIsReadAgainOrHeld(t *testing.T) {
	h := open(t, layout)
	gen := built(t, h.store, 8)
	ok(t, h.store.SaveMemory(t.Context(), tenant, hippo.Memory{ID: "a", UpdatedAt: 1}))
	want := hippo.Micros(1)
	s := beside(t, h, before("Commit", func() {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		// Firestore, and the emulator, may make the writer wait for the transaction.
		if err := h.store.SaveMemory(ctx, tenant, hippo.Memory{ID: "a", UpdatedAt: 2}); err == nil {
			want = 2
		}
	}))
	ok(t, s.WriteEntries(t.Context(), tenant, gen.Place([]hippo.MemoryID{"a"})))
	read, err := h.store.ReadIndex(t.Context(), tenant)
	ok(t, err)
	if got := read.Of(gen)[gen.ShardOf("a").N].Entries["a"]; got != want {
		t.Errorf("entry %d, want %d, which the memory had when the entry was committed", got, want)
	}
}

func TestPassThatConflictsReleasesItsLocks(t *testing.T) {
	var wire firestoredb.WireCounter
	h := open(t, layout, wire.DialOptions()...)
	pass := hippo.Pass{Stretch: hippo.Stretch{To: hippo.Position{At: 1, ID: "m"}}, Hash: "h", Writes: []hippo.Write{{ID: "a", Name: "a", IfUpdatedAt: new(hippo.Micros(1))}}}
	if _, err := h.store.RecordPass(t.Context(), tenant, thread, pass); !hippo.IsKind(err, hippo.Conflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	if n := wire.ByRPC()["Rollback"].Calls; n != 1 {
		t.Errorf("%d transactions rolled back, want 1", n)
	}
}

func TestEntriesOfMemoriesThatChangeMeanwhileEndRight(t *testing.T) {
	s := open(t, layout).store
	gen := built(t, s, 8)
	ids := []hippo.MemoryID{"a", "b", "c", "d"}
	var group sync.WaitGroup
	for writer := range 8 {
		group.Go(func() {
			for round := range 5 {
				id := ids[(writer+round)%len(ids)]
				err := s.SaveMemory(t.Context(), tenant, hippo.Memory{ID: id, UpdatedAt: hippo.Micros(writer*100 + round + 1)})
				if writer == 0 && round == 3 {
					err = errors.Join(err, s.DeleteMemory(t.Context(), tenant, id))
				}
				if err := errors.Join(err, s.WriteEntries(t.Context(), tenant, gen.Place([]hippo.MemoryID{id}))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	index, err := s.ReadIndex(t.Context(), tenant)
	ok(t, err)
	scan, err := s.ScanEntries(t.Context(), tenant, "", 0)
	ok(t, err)
	if findings := hippo.Diff(hippo.Plain, gen, index, scan, hippo.Range{}); len(findings) > 0 {
		t.Errorf("findings %v", findings)
	}
}

func TestMetaHasARevSoThatQueriesByRevFindIt(t *testing.T) {
	h := open(t, layout)
	built(t, h.store, 8)
	fields, there, err := h.Document(t.Context(), hippo.Fill(layout.Paths.Index, tenant, schema.MetaID))
	ok(t, err)
	if _, has := fields[schema.Rev]; !there || !has {
		t.Errorf("meta is %v", fields)
	}
}

func TestRecorderSeesQueriesAndCounts(t *testing.T) {
	var recorder indexcheck.QueryRecorder
	s := open(t, layout, recorder.DialOptions()...).store
	_, err := s.RecentMessages(t.Context(), tenant, thread, 3)
	ok(t, err)
	_, err = s.CountMessages(t.Context(), tenant, thread)
	ok(t, err)
	queries := recorder.Queries()
	if len(queries) != 2 || queries[0].OrderBy[0].Direction != pb.StructuredQuery_DESCENDING || queries[1].From[0].CollectionId != "messages" {
		t.Errorf("recorded %v", queries)
	}
}

func TestALongListOfTenantsIsReadOnceByItsCursor(t *testing.T) {
	s := open(t, layout).store
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const tenants, page = 25, 10
	for i := range tenants {
		must(s.SaveMemory(t.Context(), hippo.TenantID(fmt.Sprintf("t%02d", i)), hippo.Memory{ID: "a"}))
	}
	var meter hippo.Meter
	ctx := hippo.WithMeter(t.Context(), &meter)
	var all []hippo.TenantID
	var places []hippo.Cursor
	for from := (hippo.Cursor{}); len(places) == 0 || !from.IsZero(); {
		some, next, err := s.Tenants(ctx, from, page)
		must(err)
		all = append(all, some...)
		places = append(places, next)
		from = next
	}
	if len(all) != tenants || !slices.IsSorted(all) || len(places) != 3 {
		t.Errorf("%d pages of tenants: %v", len(places), all)
	}
	if read := meter.Total().Documents; read != tenants {
		t.Errorf("listing %d tenants by pages of %d read %d documents", tenants, page, read)
	}
	// The place is kept where the token is refused, or there is none.
	for _, token := range []string{"AAAA", ""} {
		some, next, err := s.Tenants(t.Context(), hippo.Cursor{After: places[0].After, Token: token}, page)
		must(err)
		if diff := cmp.Diff(all[page:2*page], some); diff != "" || next.After != string(all[2*page-1]) || next.Token == "" {
			t.Errorf("token %q: next %+v (-want +got):\n%s", token, next, diff)
		}
	}
}
