package firestoredb

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

func TestFieldPathsAreQuoted(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{[]string{"e"}, "`e`"},
		{[]string{"e", "184.174.14.109"}, "`e`.`184.174.14.109`"},
		{[]string{"e", "a`b"}, "`e`.`a\\`b`"},
		{[]string{"e", `a\b`}, "`e`.`a\\\\b`"},
		{[]string{"e", "\\`"}, "`e`.`\\\\\\``"},
		{[]string{"e", "a/b c~*[]"}, "`e`.`a/b c~*[]`"},
		{[]string{"e", "日本 😀\n"}, "`e`.`日本 😀\n`"},
	} {
		if got := fieldPath(tc.names...); got != tc.want {
			t.Errorf("fieldPath(%q) = %s, want %s", tc.names, got, tc.want)
		}
	}
}

func TestErrorsHaveTheirKinds(t *testing.T) {
	for _, tc := range []struct {
		code codes.Code
		text string
		want hippo.ErrorKind
	}{
		{codes.NotFound, "no entity to update", hippo.NotFound},
		{codes.AlreadyExists, "entity already exists", hippo.Conflict},
		{codes.Unavailable, "", hippo.Unavailable},
		{codes.Aborted, "too much contention", hippo.Unavailable},
		{codes.DeadlineExceeded, "", hippo.Unavailable},
		{codes.Canceled, "", hippo.Unavailable},
		{codes.Internal, "", hippo.Unavailable},
		{codes.PermissionDenied, "", hippo.Unavailable},
		{codes.Unauthenticated, "", hippo.Unavailable},
		{codes.ResourceExhausted, "Quota exceeded.", hippo.Unavailable},
		{codes.ResourceExhausted, "gRPC message exceeds maximum size 4194304: 4608526", hippo.TooLarge},
		{codes.InvalidArgument, "maximum entity size is 1048576 bytes", hippo.TooLarge},
		{codes.InvalidArgument, `Document "x" cannot be written because its size (1,234,567 bytes) exceeds the maximum allowed size of 1,048,576 bytes.`, hippo.TooLarge},
		{codes.InvalidArgument, `The value of property "e" is longer than 1048487 bytes.`, hippo.TooLarge},
		{codes.InvalidArgument, "too many index entries for entity", hippo.TooLarge},
		{codes.InvalidArgument, "Transaction is invalid or closed.", hippo.Unavailable},
		{codes.InvalidArgument, "The referenced transaction has expired or is no longer valid.", hippo.Unavailable},
		{codes.InvalidArgument, "field name '__x__' is reserved.", hippo.Invalid},
		{codes.FailedPrecondition, "The query requires an index.", hippo.Internal},
		{codes.Unknown, "", hippo.Internal},
	} {
		err := translate(fmt.Errorf("wrapped: %w", status.Error(tc.code, tc.text)), "do it")
		if got := hippo.ErrorKindOf(err); got != tc.want {
			t.Errorf("%s %q is %q, want %q", tc.code, tc.text, got, tc.want)
		}
	}
	if got := hippo.ErrorKindOf(translate(context.DeadlineExceeded, "do it")); got != hippo.Unavailable {
		t.Errorf("a deadline is %q", got)
	}
	if got := hippo.ErrorKindOf(conflicts(status.Error(codes.FailedPrecondition, "stored version"))); got != hippo.Conflict {
		t.Errorf("a precondition of a commit is %q", got)
	}
}

func TestErrorOfAKnownKindStaysAsItIs(t *testing.T) {
	err := hippo.Wrap(hippo.TooLarge, status.Error(codes.Aborted, "inside"), "outside")
	if got := translate(err, "again"); got != err {
		t.Errorf("translated to %v", got)
	}
	if codeOf(err) == codes.Aborted {
		t.Error("a decision of ours would be retried")
	}
}

func values() *rapid.Generator[any] {
	plain := rapid.OneOf(
		rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		rapid.Custom(func(t *rapid.T) any { return time.UnixMicro(rapid.Int64Range(-6e16, 2e17).Draw(t, "µs")).UTC() }),
	)
	return rapid.OneOf(plain,
		rapid.Map(rapid.SliceOfN(plain, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(rapid.String(), plain, 0, 4), func(m map[string]any) any { return m }),
	)
}

func TestFieldsSurviveEncodingAndHaveTheSchemasSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.MapOfN(rapid.String(), values(), 0, 5).Draw(t, "fields")
		fields, err := encode(f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, decode(fields)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		d := &pb.Document{Name: "projects/p/databases/(default)/documents/tenants/t/memories/m", Fields: fields}
		if got, want := size(d), schema.Size("tenants/t/memories/m", f); got != want {
			t.Fatalf("size %d, want %d", got, want)
		}
	})
}

func TestValuesOfOtherTypesDoNotBreakAReading(t *testing.T) {
	f := decode(map[string]*pb.Value{
		"name":       reference("projects/p/databases/(default)/documents/a/b"),
		"content":    {ValueType: &pb.Value_BytesValue{BytesValue: []byte("bytes")}},
		"updated_at": {ValueType: &pb.Value_GeoPointValue{GeoPointValue: &latlng.LatLng{Latitude: 1}}},
		"none":       {},
	})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := schema.ParseMemory(hippo.DefaultFields(), "id", f, at, "named by its id")
	want := hippo.Memory{ID: "id", Name: "named by its id", UpdatedAt: hippo.MicrosOf(at)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValueThatCannotBeStoredIsAnError(t *testing.T) {
	if _, err := encode(schema.Fields{"f": []any{schema.Fields{"g": struct{}{}}}}); !hippo.IsKind(err, hippo.Internal) {
		t.Errorf("error %v, want one of kind internal", err)
	}
}

func TestShardKeepsOnlyEntriesThatAreTimes(t *testing.T) {
	d := &pb.Document{Name: "projects/p/databases/(default)/documents/tenants/t/memory_index/gen-003", Fields: map[string]*pb.Value{
		"shard": text("gen-003"),
		"rev":   integer(7),
		"e":     mapOf(map[string]*pb.Value{"a": integer(1), "b": text("no time"), "c.d": integer(2)}),
	}}
	want := size(d)
	got, bytes, ok := parseIndex(d)
	shard := hippo.Shard{ID: hippo.ShardID{Gen: "gen", N: 3}, Rev: 7, Entries: map[hippo.MemoryID]hippo.Micros{"a": 1, "c.d": 2}}
	if diff := cmp.Diff(shard, got.shard); !ok || got.meta != nil || diff != "" {
		t.Errorf("shard (-want +got):\n%s", diff)
	}
	if bytes != want {
		t.Errorf("%d bytes, want %d", bytes, want)
	}
}

func TestQueriesForChangedShardsHaveThirtyClausesAtMost(t *testing.T) {
	in := collection{"parent", "memory_index"}
	for shards, want := range map[int][]int{0: {1}, 1: {2}, 29: {30}, 30: {30, 2}, 58: {30, 30}, 59: {30, 30, 2}} {
		var clauses []int
		for _, q := range changedSince(in, hippo.Generation{ID: "g", Shards: shards}, make([]int64, shards)) {
			filters := q.Where.GetCompositeFilter().GetFilters()
			clauses = append(clauses, len(filters))
			if got := filters[0].GetFieldFilter().GetValue().GetStringValue(); got != schema.MetaID {
				t.Errorf("%d shards: the first clause asks for %q", shards, got)
			}
		}
		if diff := cmp.Diff(want, clauses); diff != "" {
			t.Errorf("%d shards: clauses (-want +got):\n%s", shards, diff)
		}
	}
}

func TestReadingsOfDifferentMetasAreNone(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	read := func(stamp int, shard int) hippo.IndexRead {
		return hippo.IndexRead{
			Meta:   hippo.Meta{Stamp: now.Add(time.Duration(stamp))},
			Shards: []hippo.Shard{{ID: hippo.ShardID{Gen: "g", N: shard}}},
			At:     now.Add(-time.Duration(shard)),
		}
	}
	got, err := joined([]hippo.IndexRead{read(0, 0), read(0, 30), read(0, 29)})
	if err != nil || len(got.Shards) != 3 || !got.At.Equal(now.Add(-30)) {
		t.Errorf("joined to %v, %v", got, err)
	}
	if _, err := joined([]hippo.IndexRead{read(0, 0), read(1, 30)}); !hippo.IsKind(err, hippo.Conflict) {
		t.Errorf("error %v, want a conflict", err)
	}
}

func TestIdsThatCouldLeadElsewhereAreRefused(t *testing.T) {
	s := &Store{root: "root/", layout: hippo.DefaultLayout()}
	for _, id := range []string{"", "a/b", "../x", "\xff"} {
		if _, err := s.name(s.layout.Paths.Memory, "tenant", id); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%q: error %v, want one of kind invalid", id, err)
		}
	}
	name, err := s.name(s.layout.Paths.Memory, "tenant", "id")
	if err != nil || name != "root/tenants/tenant/memories/id" {
		t.Errorf("name %q, %v", name, err)
	}
}

func TestPassingFailuresAreRetriedABoundedNumberOfTimes(t *testing.T) {
	for _, tc := range []struct {
		code codes.Code
		want int
	}{{codes.Aborted, attempts}, {codes.Unavailable, 1}, {codes.InvalidArgument, 1}} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := retry(t.Context(), afterWrite, func() error { calls++; return status.Error(tc.code, "") })
			if calls != tc.want || status.Code(err) != tc.code {
				t.Errorf("%s: %d calls, want %d; %v", tc.code, calls, tc.want, err)
			}
		})
	}
}

func TestRetryingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		calls := 0
		err := retry(ctx, afterWrite, func() error { calls++; return status.Error(codes.Aborted, "") })
		if calls != 1 || err == nil {
			t.Errorf("%d calls, %v; want one call, and its error", calls, err)
		}
	})
}

func TestEveryCallHasADeadlineAndItsDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{headers: []string{"k", "v"}}
		ctx, cancel := s.outgoing(t.Context(), callWithin)
		defer cancel()
		if at, ok := ctx.Deadline(); !ok || time.Until(at) != callWithin {
			t.Errorf("deadline in %s, %t", time.Until(at), ok)
		}
		if md, _ := metadata.FromOutgoingContext(ctx); strings.Join(md.Get("k"), "") != "v" {
			t.Errorf("metadata %v", md)
		}
		short, cancelShort := context.WithTimeout(t.Context(), time.Second)
		defer cancelShort()
		ctx, cancel = s.outgoing(short, callWithin)
		defer cancel()
		if at, _ := ctx.Deadline(); time.Until(at) != time.Second {
			t.Errorf("a deadline of the caller became %s", time.Until(at))
		}
	})
}

func TestStoreThatCannotBeIsNotOpened(t *testing.T) {
	broken := hippo.DefaultLayout()
	broken.Paths.Memory = "tenants/{tenant}/memories"
	for name, tc := range map[string]struct {
		config Config
		layout hippo.Layout
	}{
		"no project":       {Config{}, hippo.DefaultLayout()},
		"a project's path": {Config{ProjectID: "projects/p"}, hippo.DefaultLayout()},
		"a broken layout":  {Config{ProjectID: "p"}, broken},
	} {
		if _, err := Open(t.Context(), tc.config, tc.layout); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%s: error %v, want one of kind invalid", name, err)
		}
	}
}

func TestEmulatorThatIsNotThereIsUnavailable(t *testing.T) {
	s, err := Open(t.Context(), Config{ProjectID: "p", EmulatorHost: "127.0.0.1:1"}, hippo.DefaultLayout())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.Meta(ctx, "tenant"); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("error %v, want one of kind unavailable", err)
	}
	canceled, stop := context.WithCancel(t.Context())
	stop()
	if err := s.SaveMemory(canceled, "tenant", hippo.Memory{ID: "m"}); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("error %v, want one of kind unavailable", err)
	}
}
