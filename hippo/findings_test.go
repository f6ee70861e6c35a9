package hippo_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

var gen = hippo.Generation{ID: "g", Shards: 4, Version: hippo.IndexVersion}

// right is an index that agrees with a scan.
func right(scan []hippo.Entry) hippo.IndexRead {
	var index hippo.IndexRead
	for _, id := range gen.ShardIDs() {
		index.Shards = append(index.Shards, hippo.Shard{ID: id, Entries: map[hippo.MemoryID]hippo.Micros{}})
	}
	for _, e := range scan {
		if hippo.Base64URL.Listable(e.ID) {
			index.Shards[gen.ShardOf(e.ID).N].Entries[e.ID] = e.UpdatedAt
		}
	}
	return index
}

// inShard is a listable id whose entry belongs into a shard.
func inShard(n int) hippo.MemoryID {
	for i := 0; ; i++ {
		id, err := hippo.Base64URL.ID(fmt.Sprintf("pages/%d", i))
		if err == nil && gen.ShardOf(id).N == n {
			return id
		}
	}
}

func TestAReportsDurationIsANumberInJSON(t *testing.T) {
	text, err := json.Marshal(hippo.Report{Duration: 1_234_567})
	if err != nil || !strings.Contains(string(text), `"duration_micros":1234567,`) {
		t.Errorf("%s, error %v", text, err)
	}
}

func TestEachThingThatIsWrongHasItsFinding(t *testing.T) {
	a, b := inShard(0), inShard(1)
	scan := []hippo.Entry{{ID: a, UpdatedAt: 1}, {ID: b, UpdatedAt: 2}}
	for name, c := range map[string]struct {
		spoil func(shards []hippo.Shard)
		want  []hippo.Finding
	}{
		"nothing":   {func([]hippo.Shard) {}, nil},
		"missing":   {func(s []hippo.Shard) { delete(s[0].Entries, a) }, []hippo.Finding{{Type: hippo.Missing, ID: a, Shard: "g-000"}}},
		"stale":     {func(s []hippo.Shard) { s[1].Entries[b] = 3 }, []hippo.Finding{{Type: hippo.Stale, ID: b, Shard: "g-001"}}},
		"orphan":    {func(s []hippo.Shard) { s[2].Entries[inShard(2)] = 1 }, []hippo.Finding{{Type: hippo.Orphan, ID: inShard(2), Shard: "g-002"}}},
		"duplicate": {func(s []hippo.Shard) { s[3].Entries[a] = 1 }, []hippo.Finding{{Type: hippo.Duplicate, ID: a, Shard: "g-003", Remove: true}}},
		"misplaced": {func(s []hippo.Shard) { delete(s[0].Entries, a); s[3].Entries[a] = 1 }, []hippo.Finding{{Type: hippo.Misplaced, ID: a, Shard: "g-003", Remove: true}}},
		"misplaced twice": {func(s []hippo.Shard) { delete(s[0].Entries, a); s[1].Entries[a] = 1; s[3].Entries[a] = 1 }, []hippo.Finding{
			{Type: hippo.Misplaced, ID: a, Shard: "g-001", Remove: true}, {Type: hippo.Misplaced, ID: a, Shard: "g-003", Remove: true}}},
		"misplaced, of no memory": {func(s []hippo.Shard) { s[3].Entries[inShard(2)] = 1 }, []hippo.Finding{{Type: hippo.Misplaced, ID: inShard(2), Shard: "g-003", Remove: true}}},
		"an entry that cannot be listed": {func(s []hippo.Shard) { s[gen.ShardOf("no base64!").N].Entries["no base64!"] = 1 }, []hippo.Finding{
			{Type: hippo.Orphan, ID: "no base64!", Shard: gen.ShardOf("no base64!").String(), Remove: true}}},
		"an entry that can be neither listed nor removed": {func(s []hippo.Shard) { s[gen.ShardOf("a/b").N].Entries["a/b"] = 1 }, nil},
		"stale beside a duplicate": {func(s []hippo.Shard) { s[0].Entries[a] = 9; s[3].Entries[a] = 1 }, []hippo.Finding{
			{Type: hippo.Duplicate, ID: a, Shard: "g-003", Remove: true}, {Type: hippo.Stale, ID: a, Shard: "g-000"}}},
	} {
		index := right(scan)
		c.spoil(index.Shards)
		want := slices.Clone(c.want)
		slices.SortFunc(want, func(x, y hippo.Finding) int {
			if x.ID == y.ID {
				return 0
			}
			return slices.Compare([]byte(x.ID), []byte(y.ID))
		})
		if diff := cmp.Diff(want, hippo.Diff(hippo.Base64URL, gen, index, scan, hippo.Range{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAMemoryThatCannotBeListedIsReportedAndNoDifference(t *testing.T) {
	scan := []hippo.Entry{{ID: "no base64!", UpdatedAt: 1}, {ID: inShard(0), UpdatedAt: 2}}
	want := []hippo.Finding{{Type: hippo.Unindexable, ID: "no base64!"}}
	if diff := cmp.Diff(want, hippo.Diff(hippo.Base64URL, gen, right(scan), scan, hippo.Range{})); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestARangeLooksAtItsIDsAlone(t *testing.T) {
	index := right([]hippo.Entry{{ID: "YQ", UpdatedAt: 1}, {ID: "Yg", UpdatedAt: 1}, {ID: "Yw", UpdatedAt: 1}})
	for _, c := range []struct {
		in   hippo.Range
		want []hippo.MemoryID
	}{
		{hippo.Range{}, []hippo.MemoryID{"YQ", "Yg", "Yw"}},
		{hippo.Range{After: "YQ"}, []hippo.MemoryID{"Yg", "Yw"}},
		{hippo.Range{UpTo: "Yg"}, []hippo.MemoryID{"YQ", "Yg"}},
		{hippo.Range{After: "YQ", UpTo: "Yg"}, []hippo.MemoryID{"Yg"}},
		{hippo.Range{After: "Yw"}, nil},
	} {
		var orphans []hippo.MemoryID
		for _, f := range hippo.Diff(hippo.Base64URL, gen, index, nil, c.in) {
			orphans = append(orphans, f.ID)
		}
		if diff := cmp.Diff(c.want, orphans); diff != "" {
			t.Errorf("orphans in %+v (-want +got):\n%s", c.in, diff)
		}
	}
}

func TestAShardThatIsMissingIsNoFindingOfItsMemories(t *testing.T) {
	scan := []hippo.Entry{{ID: inShard(0), UpdatedAt: 1}, {ID: inShard(1), UpdatedAt: 1}}
	index := right(scan)
	index.Shards = index.Shards[1:]
	if got := hippo.Diff(hippo.Base64URL, gen, index, scan, hippo.Range{}); got != nil {
		t.Errorf("findings %v, want none", got)
	}
	if diff := cmp.Diff([]hippo.Finding{{Type: hippo.Absent, Shard: "g-000"}}, hippo.ShardFindings(gen, index)); diff != "" {
		t.Errorf("findings of shards (-want +got):\n%s", diff)
	}
}

func TestAShardOverHalfItsBudgetIsOversize(t *testing.T) {
	index := right(nil)
	for n := range hippo.ShardBudgetEntries/2 + 1 {
		index.Shards[2].Entries[hippo.MemoryID(fmt.Sprint(n))] = 1
	}
	if diff := cmp.Diff([]hippo.Finding{{Type: hippo.Oversize, Shard: "g-002"}}, hippo.ShardFindings(gen, index)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestMendingWhatTheDiffFindsEndsInEquality(t *testing.T) {
	ids := []hippo.MemoryID{"YQ", "Yg", "Yw", "ZA", "ZQ", "no base64!"}
	entry := rapid.Custom(func(t *rapid.T) hippo.Entry {
		return hippo.Entry{ID: rapid.SampledFrom(ids).Draw(t, "id"), UpdatedAt: hippo.Micros(rapid.Int64Range(1, 3).Draw(t, "at"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		scan := rapid.SliceOfDistinct(entry, func(e hippo.Entry) hippo.MemoryID { return e.ID }).Draw(t, "scan")
		index := right(nil)
		for _, e := range rapid.SliceOf(entry).Draw(t, "entries") {
			index.Shards[rapid.IntRange(0, gen.Shards-1).Draw(t, "shard")].Entries[e.ID] = e.UpdatedAt
		}
		wrong := !maps.EqualFunc(byShard(index), byShard(right(scan)), maps.Equal)
		found := hippo.Diff(hippo.Base64URL, gen, index, scan, hippo.Range{})
		found = slices.DeleteFunc(found, func(f hippo.Finding) bool { return f.Type == hippo.Unindexable })
		if wrong != (len(found) > 0) {
			t.Fatalf("index wrong: %t, findings: %v", wrong, found)
		}
		mend(index, scan, found)
		if diff := cmp.Diff(byShard(right(scan)), byShard(index)); diff != "" {
			t.Fatalf("after mending %v (-want +got):\n%s", found, diff)
		}
	})
}

func byShard(index hippo.IndexRead) map[int]map[hippo.MemoryID]hippo.Micros {
	out := make(map[int]map[hippo.MemoryID]hippo.Micros)
	for _, s := range index.Shards {
		out[s.ID.N] = s.Entries
	}
	return out
}

// mend does what a repair does: it removes strays, and makes the entry of each id
// found equal to its memory.
func mend(index hippo.IndexRead, scan []hippo.Entry, found []hippo.Finding) {
	truth := right(scan)
	for _, f := range found {
		if f.Remove {
			shard, _ := hippo.ParseShardID(f.Shard)
			delete(index.Shards[shard.N].Entries, f.ID)
		}
		home := gen.ShardOf(f.ID).N
		if at, ok := truth.Shards[home].Entries[f.ID]; ok {
			index.Shards[home].Entries[f.ID] = at
		} else {
			delete(index.Shards[home].Entries, f.ID)
		}
	}
}
