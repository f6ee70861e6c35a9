package hippo_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

func TestAMemoryKeepsItsShard(t *testing.T) {
	// FNV-1a, 64 bits, of the id's bytes, computed by another program. Another
	// placement needs a new IndexVersion.
	for id, shards := range map[hippo.MemoryID]map[int]int{
		"YQ":                           {8: 7, 40: 23, 1024: 543},
		"cGFnZXMvU2Vjb25kIExvY2F0aW9u": {8: 2, 40: 34, 1024: 354},
		"1865_v3.1":                    {8: 0, 40: 0, 1024: 528},
		"😀":                            {8: 0, 40: 24, 1024: 648},
		hippo.MemoryID(strings.Repeat("x", 1490)): {8: 5, 40: 37, 1024: 13},
	} {
		for n, want := range shards {
			gen := hippo.Generation{ID: "g", Shards: n, Version: hippo.IndexVersion}
			if got := gen.ShardOf(id); got != (hippo.ShardID{Gen: "g", N: want}) {
				t.Errorf("%.30q of %d shards is in %s, want number %d", id, n, got, want)
			}
		}
	}
}

func TestMemoriesSpreadEvenlyOverTheShards(t *testing.T) {
	const memories = 20_000
	for _, shards := range []int{8, 16, 24, 40} {
		gen := hippo.Generation{ID: "g", Shards: shards}
		counts := make([]int, shards)
		for n := range memories {
			id, err := hippo.Base64URL.ID(fmt.Sprintf("pages/Location %d", n))
			if err != nil {
				t.Fatal(err)
			}
			counts[gen.ShardOf(id).N]++
		}
		mean := memories / shards
		if least, most := slices.Min(counts), slices.Max(counts); least < mean*8/10 || most > mean*12/10 {
			t.Errorf("%d shards hold between %d and %d memories, want within a fifth of %d", shards, least, most, mean)
		}
	}
}

func TestPlacingNamesEveryIDOnceInItsShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := hippo.Generation{ID: "g", Shards: rapid.IntRange(1, 20).Draw(t, "shards")}
		ids := rapid.SliceOf(rapid.Map(rapid.StringMatching(`[ab]{1,4}`), func(s string) hippo.MemoryID { return hippo.MemoryID(s) })).Draw(t, "ids")
		var placed []hippo.MemoryID
		last := -1
		for _, target := range gen.Place(ids) {
			if target.Shard.N <= last {
				t.Fatalf("shard %s after number %d", target.Shard, last)
			}
			last = target.Shard.N
			for _, id := range target.IDs {
				if gen.ShardOf(id) != target.Shard {
					t.Fatalf("%q was placed in %s", id, target.Shard)
				}
			}
			placed = append(placed, target.IDs...)
		}
		want := slices.Clone(ids)
		slices.Sort(want)
		slices.Sort(placed)
		if !slices.Equal(placed, slices.Compact(want)) {
			t.Fatalf("placed %q, want %q", placed, want)
		}
	})
}

func TestANewGenerationsShardsAreAtMostAThirdFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries, bytes := rapid.IntRange(0, 5_000_000).Draw(t, "entries"), rapid.Int64Range(0, 5_000_000_000).Draw(t, "bytes")
		n := hippo.ShardsFor(entries, bytes)
		if n < hippo.MinShards || n%hippo.ShardStep != 0 {
			t.Fatalf("%d shards, want a multiple of %d, at least %d", n, hippo.ShardStep, hippo.MinShards)
		}
		full := func(n int) bool {
			return int64(entries)*3 > int64(n)*hippo.ShardBudgetEntries || bytes*3 > int64(n)*hippo.ShardBudgetBytes
		}
		if full(n) {
			t.Fatalf("%d shards are more than a third full", n)
		}
		if n > hippo.MinShards && !full(n-hippo.ShardStep) {
			t.Fatalf("%d shards, though %d would do", n, n-hippo.ShardStep)
		}
	})
}

func TestShardsOfKnownStores(t *testing.T) {
	for _, c := range []struct {
		entries int
		bytes   int64
		want    int
	}{{0, 0, 8}, {1, 1 << 20, 8}, {50_666, 0, 8}, {50_667, 0, 16}, {100_000, 3_000_000, 16}, {100_000, 7_000_000, 24}, {500_000, 35_000_000, 112}} {
		if got := hippo.ShardsFor(c.entries, c.bytes); got != c.want {
			t.Errorf("%d entries of %d bytes: %d shards, want %d", c.entries, c.bytes, got, c.want)
		}
	}
}

func TestShardIDsReadBack(t *testing.T) {
	for s, want := range map[string]hippo.ShardID{"k3v9q2m7xa-003": {Gen: "k3v9q2m7xa", N: 3}, "a-000": {Gen: "a"}, "a-1024": {Gen: "a", N: 1024}} {
		if got, ok := hippo.ParseShardID(s); !ok || got != want || got.String() != s {
			t.Errorf("%q reads as %v, %t", s, got, ok)
		}
	}
	for _, s := range []string{"", "meta", "-000", "a-", "a-3", "a-0003", "a-00x", "a--01", "a-001-002", "a-+01"} {
		if got, ok := hippo.ParseShardID(s); ok {
			t.Errorf("%q reads as %v, want none", s, got)
		}
	}
}

func TestGenerationIDsAreRandomAndMakeShardIDs(t *testing.T) {
	form, seen := regexp.MustCompile(`^[a-z2-7]{10}$`), map[hippo.GenerationID]bool{}
	for range 1000 {
		id := hippo.NewGenerationID()
		if !form.MatchString(string(id)) || seen[id] {
			t.Fatalf("generation id %q is of another form, or was drawn before", id)
		}
		seen[id] = true
	}
	gen := hippo.Generation{ID: hippo.NewGenerationID(), Shards: 3}
	for n, id := range gen.ShardIDs() {
		if got, ok := hippo.ParseShardID(id.String()); !ok || got != id || got.N != n {
			t.Errorf("shard %v reads back as %v, %t", id, got, ok)
		}
	}
}

func TestAShardIsOverAPartOfItsBudget(t *testing.T) {
	shard := func(entries, keyBytes int) hippo.Shard {
		s := hippo.Shard{Entries: map[hippo.MemoryID]hippo.Micros{}}
		for n := range entries {
			s.Entries[hippo.MemoryID(fmt.Sprintf("%0*d", keyBytes, n))] = 1
		}
		return s
	}
	for _, c := range []struct {
		entries, keyBytes, part int
		want                    bool
	}{
		{0, 10, 2, false},
		{9_500, 10, 2, false}, {9_501, 10, 2, true}, {19_000, 10, 1, false}, {19_001, 10, 1, true},
		{500, 991, 2, false}, {501, 991, 2, true}, {1000, 991, 1, false}, {1001, 991, 1, true},
	} {
		s := shard(c.entries, c.keyBytes)
		if got := s.Over(c.part); got != c.want {
			t.Errorf("%d entries of %d bytes are over 1/%d of the budget: %t, want %t", c.entries, hippo.EntryBytes(hippo.MemoryID(strings.Repeat("x", c.keyBytes))), c.part, got, c.want)
		}
		if want := int64(c.entries * (c.keyBytes + 9)); s.Bytes() != want {
			t.Errorf("%d entries take %d bytes, want %d", c.entries, s.Bytes(), want)
		}
	}
}

func TestTheListIsInOneOrder(t *testing.T) {
	id := func(name string) hippo.MemoryID {
		id, err := hippo.Base64URL.ID(name)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	entries := []hippo.Entry{
		{ID: id("b"), UpdatedAt: 5}, {ID: id("é"), UpdatedAt: 5}, {ID: "not listable!", UpdatedAt: 9}, {ID: id("a"), UpdatedAt: 5},
		{ID: id("Z"), UpdatedAt: 5}, {ID: id("old"), UpdatedAt: -1}, {ID: id("new"), UpdatedAt: 7},
	}
	var got []string
	for _, item := range hippo.Base64URL.Items(entries) {
		got = append(got, item.Name)
		if item.ID != id(item.Name) {
			t.Errorf("%q has the id %q", item.Name, item.ID)
		}
	}
	if diff := cmp.Diff([]string{"new", "Z", "a", "b", "é", "old"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestMetaNamesItsGenerations(t *testing.T) {
	a, b := hippo.Generation{ID: "a", Shards: 1}, hippo.Generation{ID: "b", Shards: 1}
	for _, c := range []struct {
		meta hippo.Meta
		want []hippo.Generation
	}{{hippo.Meta{}, nil}, {hippo.Meta{Next: b}, []hippo.Generation{b}}, {hippo.Meta{Current: a}, []hippo.Generation{a}}, {hippo.Meta{Current: a, Next: b}, []hippo.Generation{a, b}}} {
		if diff := cmp.Diff(c.want, c.meta.Named()); diff != "" {
			t.Errorf("generations of %v (-want +got):\n%s", c.meta, diff)
		}
	}
	if (hippo.Meta{}).Exists() || !(hippo.Meta{Stamp: time.Unix(1, 0)}).Exists() {
		t.Error("a meta exists when it has a stamp, and only then")
	}
}

func TestShardsReadAreSortedByNumber(t *testing.T) {
	read := hippo.IndexRead{Shards: []hippo.Shard{
		{ID: hippo.ShardID{Gen: "a", N: 2}, Rev: 2}, {ID: hippo.ShardID{Gen: "b", N: 1}, Rev: 9}, {ID: hippo.ShardID{Gen: "a", N: 0}, Rev: 1}, {ID: hippo.ShardID{Gen: "a", N: 3}},
	}}
	got := read.Of(hippo.Generation{ID: "a", Shards: 3})
	if len(got) != 3 || got[0] == nil || got[0].Rev != 1 || got[1] != nil || got[2] == nil || got[2].Rev != 2 {
		t.Errorf("shards %v, want numbers 0 and 2, and none for 1", got)
	}
}
