package storetest

import (
	"fmt"
	"slices"

	"github.com/hippofire/hippofire/hippo"
)

var scanCases = []testCase{
	{"a scan lists memories in the order of their ids' bytes", scanOrder},
	{"a scan by pages sees each memory once, also where the last page is full", scanPages},
	{"a scan begins behind an id whether or not it exists", scanAfter},
	{"a scan lists what is not listable, and of an empty tenant nothing", scanAll},
}

func (f *fixture) scan(after hippo.MemoryID, limit int) []hippo.MemoryID {
	f.Helper()
	entries, err := f.store.ScanEntries(f.ctx, f.tenant, after, limit)
	f.ok(err)
	ids := make([]hippo.MemoryID, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}

func scanOrder(f *fixture) {
	ids := f.strangeIDs()
	for _, id := range ids {
		f.putMemory(id, day(1))
	}
	slices.Sort(ids)
	same(f, "ids scanned at once", f.scan("", 0), ids)
	var paged []hippo.MemoryID
	for after := hippo.MemoryID(""); len(paged) <= len(ids); after = paged[len(paged)-1] {
		page := f.scan(after, 3)
		paged = append(paged, page...)
		if len(page) < 3 {
			break
		}
	}
	same(f, "ids scanned by pages", paged, ids)
}

func scanPages(f *fixture) {
	ids := make([]hippo.MemoryID, 6)
	for i := range ids {
		ids[i] = hippo.MemoryID(fmt.Sprint("m", i))
		f.putMemory(ids[i], day(1))
	}
	same(f, "first page", f.scan("", 3), ids[:3])
	same(f, "last page, exactly full", f.scan("m2", 3), ids[3:])
	same(f, "page behind the end", f.scan("m5", 3), nil)
	same(f, "page of more than there is", f.scan("", 7), ids)
}

func scanAfter(f *fixture) {
	f.putMemory("b", day(1))
	f.putMemory("b.", day(1))
	f.putMemory("d", day(1))
	same(f, "behind an id that is there", f.scan("b", 10), []hippo.MemoryID{"b.", "d"})
	same(f, "behind an id that is not", f.scan("c", 10), []hippo.MemoryID{"d"})
	same(f, "all behind an id", f.scan("b.", 0), []hippo.MemoryID{"d"})
	same(f, "behind the last", f.scan("d", 0), nil)
}

func scanAll(f *fixture) {
	same(f, "an empty tenant", f.scan("", 0), nil)
	ids := []hippo.MemoryID{"YQ", "YR", "no base64!"}
	for _, id := range ids {
		f.putMemory(id, day(1))
	}
	same(f, "listable or not", f.scan("", 0), ids)
}
