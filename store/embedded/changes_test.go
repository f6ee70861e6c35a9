package embedded

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// standing is a clock that stands still.
func standing() time.Time { return noon }

func TestEveryDocumentReallyChangedIsReportedInOrder(t *testing.T) {
	var got []Change
	s := inMemory(t, &Options{Clock: standing, OnChange: func(c Change) { got = append(got, c) }})
	ctx := t.Context()
	const a, b = "tenants/t/memories/a", "anywhere/b"
	steps := []error{
		s.PutDocument(ctx, a, schema.Fields{"n": 1, "at": noon.Add(time.Nanosecond)}),
		s.PutDocument(ctx, a, schema.Fields{"n": int64(1), "at": noon}),
		s.DeleteDocument(ctx, b),
		s.PutDocument(ctx, b, schema.Fields{}),
		s.PutDocument(ctx, a, schema.Fields{"n": 1.0}),
		s.DeleteDocument(ctx, a),
		s.DeleteDocument(ctx, a),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Microsecond) }
	want := []Change{
		{Path: a, Exists: true, UpdatedAt: at(0)},
		{Path: b, Exists: true, UpdatedAt: at(1)},
		{Path: a, Existed: true, Exists: true, UpdatedAt: at(2)},
		{Path: a, Existed: true, UpdatedAt: at(3)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestATransactionReportsEachDocumentOfItsOnce(t *testing.T) {
	var got []string
	s := inMemory(t, &Options{OnChange: func(c Change) { got = append(got, fmt.Sprint(c.Path, " ", c.Existed, " ", c.Exists)) }})
	to := hippo.Position{At: hippo.MicrosOf(noon), ID: "m"}
	pass := hippo.Pass{Stretch: hippo.Stretch{From: to, To: to}, Hash: "h", Gist: "g",
		Writes: []hippo.Write{{ID: "a", Name: "n"}, {ID: "a", Name: "n2"}}, Deletes: []hippo.MemoryID{"gone"}}
	for range 2 {
		if _, err := s.RecordPass(t.Context(), "t", "th", pass); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"tenants/t/memories/a false true",
		"tenants/t/threads/th/passes/" + to.String() + " false true",
		"tenants/t/threads/th/episodes/" + to.String() + " false true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestARefusedWriteReportsNothing(t *testing.T) {
	s := inMemory(t, &Options{OnChange: func(c Change) { t.Errorf("reported %v", c) }})
	err := s.WriteEntries(t.Context(), "t", []hippo.ShardTarget{{Shard: hippo.ShardID{Gen: "g"}, IDs: []hippo.MemoryID{"a"}}})
	if !errors.Is(err, hippo.ErrShardMissing) {
		t.Fatalf("error %v, want ErrShardMissing", err)
	}
}

func TestAReporterMayUseTheStore(t *testing.T) {
	var s *Store
	var got []string
	s = inMemory(t, &Options{OnChange: func(c Change) {
		got = append(got, c.Path)
		if len(got) < 3 {
			if err := s.PutDocument(t.Context(), c.Path+"x", schema.Fields{}); err != nil {
				t.Error(err)
			}
		}
	}})
	if err := s.PutDocument(t.Context(), "c/a", schema.Fields{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c/a", "c/ax", "c/axx"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestConcurrentCommitsAreReportedOneByOneInTheirOrder(t *testing.T) {
	const writers, writes = 8, 50
	var last time.Time
	reported := 0
	s := inMemory(t, &Options{Clock: standing, OnChange: func(c Change) {
		if !c.UpdatedAt.After(last) {
			t.Errorf("%s at %v was reported after %v", c.Path, c.UpdatedAt, last)
		}
		last = c.UpdatedAt
		reported++
	}})
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range writes {
				if err := s.PutDocument(t.Context(), fmt.Sprintf("c/%d-%d", w, n), schema.Fields{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if err := s.DeleteDocument(t.Context(), "c/0-0"); err != nil {
		t.Fatal(err)
	}
	if want := writers*writes + 1; reported != want {
		t.Errorf("%d changes reported, want %d", reported, want)
	}
}

func TestTheStoresTimeNeverStandsStillOrRunsBackwards(t *testing.T) {
	offset := time.Hour
	s := inMemory(t, &Options{Clock: func() time.Time {
		offset -= 20 * time.Minute
		return noon.Add(offset)
	}})
	var last hippo.Micros
	for n := range 5 {
		if err := s.PutDocument(t.Context(), "tenants/t/memories/a", schema.Fields{"n": n}); err != nil {
			t.Fatal(err)
		}
		m, err := s.Memory(t.Context(), "t", "a")
		if err != nil {
			t.Fatal(err)
		}
		if m.UpdatedAt <= last {
			t.Errorf("write %d at %s, after one at %s", n, m.UpdatedAt, last)
		}
		last = m.UpdatedAt
	}
	if want := hippo.MicrosOf(noon.Add(40*time.Minute)) + 4; last != want {
		t.Errorf("last write at %s, want %s: the clock's time, and a microsecond for each write behind it", last, want)
	}
}
