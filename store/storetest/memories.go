package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var memoryCases = []testCase{
	{"a memory's time is its own updated_at where that is a timestamp", ownTime},
	{"a memory's time is the document's last write where updated_at is none", documentTime},
	{"a memory that does not exist is not found", noMemory},
	{"a memory with odd fields reads as what can be read", oddMemory},
	{"a memory of any id can be read, saved and deleted", anyID},
	{"the times of named memories leave out what does not exist", timesOfSome},
	{"saving a memory keeps fields of other writers", saveKeepsFields},
	{"saving a memory without a time sets the store's", saveSetsTime},
	{"a memory deleted is gone, and deleting it again is no error", deleteMemory},
	{"counting counts memories listable or not", countMemories},
	{"moves tell of moved memories only", movesOfSome},
}

func ownTime(f *fixture) {
	for name, at := range map[string]time.Time{
		"whole":       time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"nanoseconds": time.Date(2026, 3, 1, 0, 0, 0, 123456789, time.UTC),
		"before 1970": time.Date(1931, 3, 1, 0, 0, 0, 999999999, time.UTC),
		"year 1":      time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		"year 9999":   time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
		"other zone":  time.Date(2026, 3, 1, 5, 0, 0, 0, time.FixedZone("", 5*3600)),
	} {
		id := hippo.MemoryID(name)
		f.put(f.memoryPath(id), map[string]any{f.layout.Fields.MemoryUpdatedAt: at})
		want := hippo.MicrosOf(at)
		m, err := f.store.Memory(f.ctx, f.tenant, id)
		f.ok(err)
		same(f, name+": Memory", m.UpdatedAt, want)
		times, err := f.store.MemoryTimes(f.ctx, f.tenant, []hippo.MemoryID{id})
		f.ok(err)
		same(f, name+": MemoryTimes", times, map[hippo.MemoryID]hippo.Micros{id: want})
		entries, err := f.store.ScanEntries(f.ctx, f.tenant, "", 0)
		f.ok(err)
		same(f, name+": ScanEntries", entries, []hippo.Entry{{ID: id, UpdatedAt: want}})
		f.drop(f.memoryPath(id))
	}
}

func documentTime(f *fixture) {
	ids := []hippo.MemoryID{"1 missing", "2 text", "3 integer", "4 fraction", "5 null", "6 map"}
	values := []any{nil, "2026-03-01T00:00:00Z", int64(1772323200000000), 1.5, nil, map[string]any{"seconds": int64(1)}}
	var last hippo.Micros
	for i, id := range ids {
		fields := map[string]any{f.layout.Fields.MemoryName: "n", f.layout.Fields.MemoryUpdatedAt: values[i]}
		if i == 0 {
			delete(fields, f.layout.Fields.MemoryUpdatedAt)
		}
		f.put(f.memoryPath(id), fields)
		m, err := f.store.Memory(f.ctx, f.tenant, id)
		f.ok(err)
		if m.UpdatedAt <= last {
			f.Fatalf("%s: time %s, want one after %s, the time of an earlier write", id, m.UpdatedAt, last)
		}
		last = m.UpdatedAt
	}
	times, err := f.store.MemoryTimes(f.ctx, f.tenant, ids)
	f.ok(err)
	entries, err := f.store.ScanEntries(f.ctx, f.tenant, "", 0)
	f.ok(err)
	same(f, "memories scanned", len(entries), len(ids))
	for _, e := range entries {
		same(f, string(e.ID)+": MemoryTimes and ScanEntries", times[e.ID], e.UpdatedAt)
	}
	same(f, "the last one's time, by MemoryTimes and Memory", times[ids[5]], last)
	f.put(f.memoryPath(ids[0]), map[string]any{f.layout.Fields.MemoryName: "another"})
	again, err := f.store.MemoryTimes(f.ctx, f.tenant, ids[:1])
	f.ok(err)
	if again[ids[0]] <= last {
		f.Fatalf("time %s after a second write, want one after %s", again[ids[0]], last)
	}
}

func noMemory(f *fixture) {
	_, err := f.store.Memory(f.ctx, f.tenant, "nothing")
	f.fails(err, hippo.NotFound)
}

func oddMemory(f *fixture) {
	const name = "a page"
	id, err := f.layout.Naming.ID(name)
	f.ok(err)
	f.put(f.memoryPath(id), map[string]any{f.layout.Fields.MemoryContent: int64(7), f.layout.Fields.MemoryUpdatedAt: day(1).Time()})
	m, err := f.store.Memory(f.ctx, f.tenant, id)
	f.ok(err)
	same(f, "a memory without name and text", m, hippo.Memory{ID: id, Name: name, UpdatedAt: day(1)})
	f.put(f.memoryPath(id), map[string]any{f.layout.Fields.MemoryName: "Its own name", f.layout.Fields.MemoryContent: "text", f.layout.Fields.MemoryUpdatedAt: day(1).Time(), "tags": []any{"a", int64(1)}})
	m, err = f.store.Memory(f.ctx, f.tenant, id)
	f.ok(err)
	same(f, "a memory with more fields", m, hippo.Memory{ID: id, Name: "Its own name", Content: "text", UpdatedAt: day(1)})
}

// strangeIDs are document ids that have gone wrong in stores before, in the order
// of their bytes.
var strangeIDs = []hippo.MemoryID{
	" ", "1865_v3.1", "Paris, Texas?#%2F", "QQ", "QR", "[id]", "_", "`tick`", "a", "a.b", "a..b.", "ab", "a`b.`c", "e",
	hippo.MemoryID("long" + strings.Repeat("g", hippo.MaxEntryKeyBytes-4)), "~", "é", "日本", "\uffee", "😀.`x`",
}

// ids are strangeIDs, and those of names that are no ids themselves.
func (f *fixture) strangeIDs() []hippo.MemoryID {
	ids := append([]hippo.MemoryID(nil), strangeIDs...)
	if f.layout.Naming == hippo.Base64URL {
		for _, name := range []string{"a/b", "a%2Fb", "https://a.b/c?d=1#e%2F", "?>?>", "pages/Second Location", "😀/😀", strings.Repeat("n", f.layout.Naming.MaxNameBytes())} {
			id, err := f.layout.Naming.ID(name)
			f.ok(err)
			ids = append(ids, id)
		}
	}
	return ids
}

func anyID(f *fixture) {
	ids := append(f.strangeIDs(), hippo.MemoryID(strings.Repeat("x", hippo.MaxDocumentIDBytes)))
	for i, id := range ids {
		m := hippo.Memory{ID: id, Name: fmt.Sprint("name ", i), Content: "c", UpdatedAt: day(1) + hippo.Micros(i)}
		f.ok(f.store.SaveMemory(f.ctx, f.tenant, m))
		if f.document(f.memoryPath(id)) == nil {
			f.Fatalf("%.40q: no document at its path", id)
		}
	}
	times, err := f.store.MemoryTimes(f.ctx, f.tenant, ids)
	f.ok(err)
	for i, id := range ids {
		got, err := f.store.Memory(f.ctx, f.tenant, id)
		f.ok(err)
		same(f, fmt.Sprintf("%.40q", id), got, hippo.Memory{ID: id, Name: fmt.Sprint("name ", i), Content: "c", UpdatedAt: day(1) + hippo.Micros(i)})
		same(f, fmt.Sprintf("the time of %.40q", id), times[id], got.UpdatedAt)
	}
	for i, id := range ids {
		f.ok(f.store.DeleteMemory(f.ctx, f.tenant, id))
		n, err := f.store.CountMemories(f.ctx, f.tenant)
		f.ok(err)
		same(f, fmt.Sprintf("memories left after %.40q", id), n, len(ids)-i-1)
	}
}

func timesOfSome(f *fixture) {
	f.putMemory("a", day(1))
	f.putMemory("b", day(2))
	f.putMemory("c", day(3))
	got, err := f.store.MemoryTimes(f.ctx, f.tenant, []hippo.MemoryID{"c", "nothing", "a"})
	f.ok(err)
	same(f, "times", got, map[hippo.MemoryID]hippo.Micros{"a": day(1), "c": day(3)})
	got, err = f.store.MemoryTimes(f.ctx, f.tenant, nil)
	f.ok(err)
	same(f, "times of none", got, map[hippo.MemoryID]hippo.Micros{})
	many := make([]hippo.MemoryID, 120)
	for i := range many {
		many[i] = hippo.MemoryID(fmt.Sprint("nothing ", i))
	}
	many[0], many[119] = "a", "b"
	got, err = f.store.MemoryTimes(f.ctx, f.tenant, many)
	f.ok(err)
	same(f, "times among many", got, map[hippo.MemoryID]hippo.Micros{"a": day(1), "b": day(2)})
}

func saveKeepsFields(f *fixture) {
	f.put(f.memoryPath("a"), map[string]any{f.layout.Fields.MemoryName: "old", f.layout.Fields.MemoryContent: "old", "tags": []any{"x"}, "by": map[string]any{"name": "Ann"}})
	f.ok(f.store.SaveMemory(f.ctx, f.tenant, hippo.Memory{ID: "a", Name: "new", Content: "", UpdatedAt: day(1)}))
	same(f, "document", f.document(f.memoryPath("a")), map[string]any{
		f.layout.Fields.MemoryName: "new", f.layout.Fields.MemoryContent: "", f.layout.Fields.MemoryUpdatedAt: day(1).Time(), "tags": []any{"x"}, "by": map[string]any{"name": "Ann"},
	})
}

func saveSetsTime(f *fixture) {
	before := f.storeTime()
	f.ok(f.store.SaveMemory(f.ctx, f.tenant, hippo.Memory{ID: "a", Name: "n", Content: "c"}))
	m, err := f.store.Memory(f.ctx, f.tenant, "a")
	f.ok(err)
	f.between(before, m.UpdatedAt, f.storeTime())
	if _, ok := f.document(f.memoryPath("a"))[f.layout.Fields.MemoryUpdatedAt].(time.Time); !ok {
		f.Fatal("updated_at was not written")
	}
}

func deleteMemory(f *fixture) {
	f.putMemory("a", day(1))
	f.putMemory("b", day(1))
	for range 2 {
		f.ok(f.store.DeleteMemory(f.ctx, f.tenant, "a"))
		_, err := f.store.Memory(f.ctx, f.tenant, "a")
		f.fails(err, hippo.NotFound)
	}
	_, err := f.store.Memory(f.ctx, f.tenant, "b")
	f.ok(err)
}

func countMemories(f *fixture) {
	for i, id := range []hippo.MemoryID{"YQ", "no base64!", hippo.MemoryID(strings.Repeat("x", hippo.MaxDocumentIDBytes))} {
		f.putMemory(id, day(1))
		n, err := f.store.CountMemories(f.ctx, f.tenant)
		f.ok(err)
		same(f, "count", n, i+1)
	}
	n, err := f.store.CountMemories(f.ctx, f.other().tenant)
	f.ok(err)
	same(f, "count of an unknown tenant", n, 0)
}

func movesOfSome(f *fixture) {
	f.put(f.movePath("a"), map[string]any{schema.Into: "b"})
	f.put(f.movePath("b"), map[string]any{schema.Into: "😀.x"})
	f.put(f.movePath("odd"), map[string]any{schema.Into: int64(1)})
	got, err := f.store.Moves(f.ctx, f.tenant, []hippo.MemoryID{"a", "nothing", "b", "odd"})
	f.ok(err)
	same(f, "moves", got, map[hippo.MemoryID]hippo.MemoryID{"a": "b", "b": "😀.x"})
	got, err = f.store.Moves(f.ctx, f.tenant, nil)
	f.ok(err)
	same(f, "moves of none", got, map[hippo.MemoryID]hippo.MemoryID{})
}
