package schema_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

func TestSizesComputedByHand(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	const name = 16 + 2 + 2 // the name of c/a: 16, and each part with one byte more
	for _, c := range []struct {
		what   string
		path   string
		fields schema.Fields
		want   int64
	}{
		{"the example of Firestore's own documentation", "users/jeff/tasks/my_task_id", schema.Fields{
			"type": "Personal", "done": false, "priority": int64(1), "description": "Learn Cloud Firestore",
		}, 44 + 71 + 32},
		{"no fields", "c/a", nil, name + 32},
		{"null", "c/a", schema.Fields{"f": nil}, name + 2 + 1 + 32},
		{"boolean", "c/a", schema.Fields{"f": true}, name + 2 + 1 + 32},
		{"integer", "c/a", schema.Fields{"f": int64(-1)}, name + 2 + 8 + 32},
		{"fraction", "c/a", schema.Fields{"f": 1.5}, name + 2 + 8 + 32},
		{"time", "c/a", schema.Fields{"f": at}, name + 2 + 8 + 32},
		{"empty text", "c/a", schema.Fields{"f": ""}, name + 2 + 1 + 32},
		{"text of two letters in five bytes", "c/a", schema.Fields{"f": "é日"}, name + 2 + 6 + 32},
		{"bytes", "c/a", schema.Fields{"f": []byte{1, 2, 3}}, name + 2 + 3 + 32},
		{"list", "c/a", schema.Fields{"f": []any{"a", int64(1), nil}}, name + 2 + 2 + 8 + 1 + 32},
		{"empty list and map", "c/a", schema.Fields{"f": []any{}, "g": schema.Fields{}}, name + 2 + 2 + 32},
		{"map in a map", "c/a", schema.Fields{"f": schema.Fields{"gg": schema.Fields{"h": false}}}, name + 2 + 3 + 2 + 1 + 32},
		{"a path of four parts", "tenants/t/memories/é", nil, 16 + 8 + 2 + 9 + 3 + 32},
	} {
		if got := schema.Size(c.path, c.fields); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.what, got, c.want)
		}
	}
}

func TestAnEntryTakesInItsShardWhatTheDomainCounts(t *testing.T) {
	shard := hippo.ShardID{Gen: "g"}
	empty := schema.Size("c/g-000", schema.EmptyShard(shard))
	for _, id := range []hippo.MemoryID{"a", "é.`x`", hippo.MemoryID(strings.Repeat("x", hippo.MaxEntryKeyBytes))} {
		fields := schema.EmptyShard(shard)
		fields[schema.Entries] = schema.Fields{string(id): int64(1)}
		if got, want := schema.Size("c/g-000", fields)-empty, int64(hippo.EntryBytes(id)); got != want {
			t.Errorf("the entry of %.20q takes %d bytes, and the domain says %d", id, got, want)
		}
	}
}
