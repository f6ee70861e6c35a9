package schema_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// names are the default ones.
var names = hippo.DefaultFields()

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// timeGen draws the times that can be stored.
func timeGen() *rapid.Generator[hippo.Micros] {
	return rapid.Map(rapid.Int64Range(-62135596800000000, 253402300799999999), func(n int64) hippo.Micros { return hippo.Micros(n) })
}

func positionGen() *rapid.Generator[hippo.Position] {
	return rapid.Custom(func(t *rapid.T) hippo.Position {
		id := rapid.StringMatching(`[a-zé_.]{1,6}`).Filter(func(s string) bool { _, err := hippo.NewMemoryID(s); return err == nil })
		return hippo.Position{At: timeGen().Draw(t, "at"), ID: hippo.MessageID(id.Draw(t, "id"))}
	})
}

func generationGen() *rapid.Generator[hippo.Generation] {
	return rapid.Custom(func(t *rapid.T) hippo.Generation {
		if rapid.Bool().Draw(t, "none") {
			return hippo.Generation{}
		}
		return hippo.Generation{
			ID:     hippo.GenerationID(rapid.StringMatching(`[a-z2-7]{10}`).Draw(t, "id")),
			Shards: rapid.IntRange(1, 200).Draw(t, "shards"), Version: rapid.IntRange(0, 9).Draw(t, "version"),
		}
	})
}

func TestMetaReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := hippo.Meta{Current: generationGen().Draw(t, "current"), Next: generationGen().Draw(t, "next"), BuiltAt: timeGen().Draw(t, "built"), Stamp: noon}
		if diff := cmp.Diff(want, schema.ParseMeta(schema.MetaFields(want), noon)); diff != "" {
			t.Fatalf("meta (-want +got):\n%s", diff)
		}
	})
}

func TestAMetaThatSomebodySpoiltNamesNothing(t *testing.T) {
	for name, f := range map[string]schema.Fields{
		"empty":            {},
		"no shards":        {"gen": "g", "version": int64(1)},
		"minus one shard":  {"gen": "g", "shards": int64(-1)},
		"shards as text":   {"gen": "g", "shards": "8"},
		"a number for gen": {"gen": int64(1), "shards": int64(8)},
		"next as text":     {"next": "g"},
		"next of nothing":  {"next": schema.Fields{"gen": "", "shards": int64(8)}},
		"shards enough to fill the memory of whoever lists them": {"gen": "g", "shards": int64(1) << 40},
		"another shard": {"gen": "g", "shards": int64(8), "shard": "x"},
		"a rev as text": {"gen": "g", "shards": int64(8), "rev": "0"},
	} {
		for name, v := range map[string]any{schema.Shard: schema.MetaID, schema.Rev: int64(0)} {
			if _, ok := f[name]; !ok {
				f[name] = v
			}
		}
		got := schema.ParseMeta(f, noon)
		if len(got.Named()) != 0 || !got.Exists() {
			t.Errorf("%s: meta %v, want one that names no generation", name, got)
		}
	}
}

func TestTheMaskNamesAllOfMetaAndOfAShardAllButItsEntries(t *testing.T) {
	meta := schema.MetaFields(hippo.Meta{Next: hippo.Generation{ID: "g", Shards: 1}, BuiltAt: 1})
	shard := schema.EmptyShard(hippo.ShardID{Gen: "g"})
	for _, name := range schema.MetaMask() {
		delete(meta, name)
		delete(shard, name)
	}
	if diff := cmp.Diff(schema.Fields{}, meta); diff != "" {
		t.Errorf("left of meta (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(schema.Fields{schema.Entries: schema.Fields{}}, shard); diff != "" {
		t.Errorf("left of a shard (-want +got):\n%s", diff)
	}
}

func TestAShardReadsBack(t *testing.T) {
	id := hippo.ShardID{Gen: "g", N: 7}
	got, ok := schema.ParseShard(id.String(), schema.EmptyShard(id))
	if diff := cmp.Diff(hippo.Shard{ID: id, Entries: map[hippo.MemoryID]hippo.Micros{}}, got); !ok || diff != "" {
		t.Errorf("empty shard, %t (-want +got):\n%s", ok, diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.MapOf(rapid.StringN(1, 8, -1), rapid.Int64()).Draw(t, "entries")
		f := schema.EmptyShard(id)
		want := hippo.Shard{ID: id, Rev: rapid.Int64().Draw(t, "rev"), Entries: map[hippo.MemoryID]hippo.Micros{}}
		e := schema.Fields{}
		for key, at := range entries {
			want.Entries[hippo.MemoryID(key)] = hippo.Micros(at)
			e[key] = at
		}
		f[schema.Rev], f[schema.Entries] = want.Rev, e
		got, ok := schema.ParseShard(id.String(), f)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Fatalf("shard, %t (-want +got):\n%s", ok, diff)
		}
	})
}

func TestAShardThatSomebodySpoiltReadsAsWhatIsLeft(t *testing.T) {
	id := hippo.ShardID{Gen: "g"}
	spoilt := func(field string, v any) schema.Fields {
		f := schema.EmptyShard(id)
		f[field] = v
		return f
	}
	got, ok := schema.ParseShard("g-000", spoilt(schema.Entries, schema.Fields{"a": int64(1), "b": "2", "c": 3.0, "d": nil}))
	if diff := cmp.Diff(hippo.Shard{ID: id, Entries: map[hippo.MemoryID]hippo.Micros{"a": 1}}, got); !ok || diff != "" {
		t.Errorf("shard, %t (-want +got):\n%s", ok, diff)
	}
	got, ok = schema.ParseShard("g-000", spoilt(schema.Entries, "x"))
	if !ok || got.Entries == nil || len(got.Entries) != 0 {
		t.Errorf("shard %v, %t, want one without entries", got, ok)
	}
	for _, id := range []string{schema.MetaID, "g", "g-1", ""} {
		if got, ok := schema.ParseShard(id, schema.EmptyShard(hippo.ShardID{})); ok {
			t.Errorf("%q reads as the shard %v", id, got)
		}
	}
}

func TestAShardThatNoQueryWouldFindIsNone(t *testing.T) {
	id := hippo.ShardID{Gen: "g", N: 1}
	for name, spoil := range map[string]func(schema.Fields){
		"another shard":  func(f schema.Fields) { f[schema.Shard] = "g-002" },
		"no shard":       func(f schema.Fields) { delete(f, schema.Shard) },
		"no rev":         func(f schema.Fields) { delete(f, schema.Rev) },
		"a rev as text":  func(f schema.Fields) { f[schema.Rev] = "7" },
		"rev as a float": func(f schema.Fields) { f[schema.Rev] = 7.0 },
	} {
		f := schema.EmptyShard(id)
		spoil(f)
		if got, ok := schema.ParseShard(id.String(), f); ok {
			t.Errorf("%s: reads as the shard %v", name, got)
		}
	}
}

func TestAMessageReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := hippo.Message{
			ID: "m", Role: hippo.Role(rapid.SampledFrom([]string{"user", "assistant", "tool", "system"}).Draw(t, "role")), Content: text.Draw(t, "content"),
			CreatedAt: timeGen().Draw(t, "at"), Speaker: text.Draw(t, "speaker"), ToolCallID: text.Draw(t, "call"), Terms: rapid.SliceOf(text).Draw(t, "terms"),
			ToolCalls: rapid.SliceOf(rapid.Custom(func(t *rapid.T) hippo.ToolCall {
				return hippo.ToolCall{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Arguments: text.Draw(t, "arguments")}
			})).Draw(t, "calls"),
		}
		if diff := cmp.Diff(want, schema.ParseMessage(names, "m", schema.MessageFields(names, want)), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("message (-want +got):\n%s", diff)
		}
	})
}

func TestAPlainMessageHasNoFieldItDoesNotNeed(t *testing.T) {
	got := schema.MessageFields(names, hippo.Message{ID: "m", Role: hippo.User, Content: "", CreatedAt: 1})
	want := schema.Fields{"role": "user", names.MessageContent: "", names.MessageCreatedAt: hippo.Micros(1).Time()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestAMessageThatSomebodySpoiltReadsAsWhatIsLeft(t *testing.T) {
	got := schema.ParseMessage(names, "m", schema.Fields{
		"role": int64(1), names.MessageContent: nil, names.MessageCreatedAt: "noon", schema.Terms: []any{"a", int64(1), "b"},
		"tool_calls": []any{"x", schema.Fields{"id": "c", "name": int64(1)}},
	})
	want := hippo.Message{ID: "m", Terms: []string{"a", "b"}, ToolCalls: []hippo.ToolCall{{ID: "c"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestAnEpisodeReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := hippo.Episode{
			Stretch:  hippo.Stretch{From: positionGen().Draw(t, "from"), To: positionGen().Draw(t, "to")},
			Gist:     rapid.String().Draw(t, "gist"),
			Pointers: rapid.SliceOf(rapid.Map(rapid.String(), func(s string) hippo.MemoryID { return hippo.MemoryID(s) })).Draw(t, "pointers"),
			Handle:   rapid.String().Draw(t, "handle"), Blocked: rapid.String().Draw(t, "blocked"),
		}
		f := schema.EpisodeFields(want)
		if _, ok := f[schema.CreatedAt]; ok {
			t.Fatal("created_at is the store's to set")
		}
		want.CreatedAt = timeGen().Draw(t, "created")
		f[schema.CreatedAt] = want.CreatedAt.Time()
		got, ok := schema.ParseEpisode(f)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); !ok || diff != "" {
			t.Fatalf("episode, %t (-want +got):\n%s", ok, diff)
		}
	})
}

func TestAnEpisodeOfNoStretchIsNone(t *testing.T) {
	position := hippo.Position{At: 1, ID: "a"}.String()
	for name, f := range map[string]schema.Fields{
		"empty": {}, "no from": {schema.To: position}, "no to": {schema.From: position}, "from as a time": {schema.From: noon, schema.To: position},
	} {
		if e, ok := schema.ParseEpisode(f); ok {
			t.Errorf("%s: reads as %v", name, e)
		}
	}
}

func TestAMoveReadsBack(t *testing.T) {
	if into, ok := schema.ParseMove(schema.MoveFields("é.b")); !ok || into != "é.b" {
		t.Errorf("move into %q, %t", into, ok)
	}
	for _, f := range []schema.Fields{{}, {schema.Into: ""}, {schema.Into: int64(1)}} {
		if into, ok := schema.ParseMove(f); ok {
			t.Errorf("%v reads as a move into %q", f, into)
		}
	}
}

func TestAReportReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 1_000_000)
		findings := map[hippo.FindingType]int{}
		for _, f := range []hippo.FindingType{hippo.Missing, hippo.Stale, hippo.Orphan} {
			if n := count.Draw(t, string(f)); n%2 == 0 {
				findings[f] = n
			}
		}
		want := hippo.Report{
			Tenant: "t", Version: count.Draw(t, "version"), Cause: rapid.String().Draw(t, "cause"), Rebuilt: rapid.Bool().Draw(t, "rebuilt"),
			Memories: count.Draw(t, "memories"), Findings: findings, Reads: count.Draw(t, "reads"), Writes: count.Draw(t, "writes"),
			Duration: rapid.Int64Min(0).Draw(t, "duration"), FinishedAt: timeGen().Draw(t, "finished"),
		}
		if diff := cmp.Diff(want, schema.ParseReport("t", schema.ReportFields(want))); diff != "" {
			t.Fatalf("report (-want +got):\n%s", diff)
		}
	})
}

func TestAMemorysTimeIsItsOwnOrTheDocuments(t *testing.T) {
	own := time.Date(2020, 1, 1, 0, 0, 0, 1999, time.UTC)
	for name, c := range map[string]struct {
		fields schema.Fields
		want   hippo.Micros
	}{
		"its own, truncated": {schema.Fields{names.MemoryUpdatedAt: own}, hippo.MicrosOf(own.Add(-999 * time.Nanosecond))},
		"none":               {schema.Fields{}, hippo.MicrosOf(noon)},
		"text":               {schema.Fields{names.MemoryUpdatedAt: "2020-01-01T00:00:00Z"}, hippo.MicrosOf(noon)},
		"a number":           {schema.Fields{names.MemoryUpdatedAt: int64(1577836800000000)}, hippo.MicrosOf(noon)},
	} {
		if got := schema.MemoryTime(names, c.fields, noon); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAMemoryReadsLeniently(t *testing.T) {
	got := schema.ParseMemory(names, "id", schema.Fields{names.MemoryName: "n", names.MessageContent: "c", names.MemoryUpdatedAt: noon, "tags": []any{}}, noon.Add(1), "of the id")
	if diff := cmp.Diff(hippo.Memory{ID: "id", Name: "n", Content: "c", UpdatedAt: hippo.MicrosOf(noon)}, got); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
	got = schema.ParseMemory(names, "id", schema.Fields{names.MemoryName: int64(1), names.MessageContent: []any{"c"}}, noon, "of the id")
	if diff := cmp.Diff(hippo.Memory{ID: "id", Name: "of the id", UpdatedAt: hippo.MicrosOf(noon)}, got); diff != "" {
		t.Errorf("memory of odd fields (-want +got):\n%s", diff)
	}
}
