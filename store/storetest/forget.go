package storetest

import (
	"fmt"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var forgetCases = []testCase{
	{"a thread is deleted by pages, whatever it holds", threadDeleted},
	{"a tenant is deleted by pages, all but its threads", tenantDeleted},
	{"moves away from a memory and into it are deleted", movesDeleted},
	{"one pointer is taken out of one episode", pointerRemoved},
}

// until deletes until nothing is left, and tells how often it took.
func (f *fixture) until(limit int, remove func() (int, error)) (calls, deleted int) {
	f.Helper()
	for calls = 1; calls < 50; calls++ {
		n, err := remove()
		f.ok(err)
		if n > limit {
			f.Fatalf("%d documents deleted, want at most %d", n, limit)
		}
		if deleted += n; n < limit {
			break
		}
	}
	return calls, deleted
}

func threadDeleted(f *fixture) {
	gen := furnish(f, 1)
	f.put(f.messagePath("spoilt"), map[string]any{"anything": int64(1)})
	f.put(f.episodePath(at(8, "x")), map[string]any{})
	other := newFixture(f.T, f.h, f.store, f.layout)
	other.tenant, other.thread = f.tenant, "other"
	other.save(hippo.Message{ID: "1", Role: hippo.User, Content: "stays", CreatedAt: day(1)})

	calls, deleted := f.until(2, func() (int, error) { return f.store.DeleteThread(f.ctx, f.tenant, f.thread, 2) })
	if calls != 3 || deleted != 5 { // two messages, two episodes, one receipt
		f.Fatalf("%d documents deleted in %d calls, want 5 in 3", deleted, calls)
	}
	same(f, "threads", f.threads("", 5), []hippo.ThreadID{"other"})
	left, err := f.store.RecentMessages(f.ctx, f.tenant, "other", 5)
	f.ok(err)
	same(f, "messages of the other thread", len(left), 1)
	same(f, "memories", len(survey(f, gen).Entries), 1)
	n, err := f.store.DeleteThread(f.ctx, f.tenant, f.thread, 2)
	f.ok(err)
	same(f, "deleted of a thread that is gone", n, 0)
}

func tenantDeleted(f *fixture) {
	furnish(f, 1)
	stays := f.other()
	gen := furnish(stays, 2)
	want := survey(stays, gen)
	calls, deleted := f.until(3, func() (int, error) { return f.store.DeleteTenant(f.ctx, f.tenant, 3) })
	if calls != 3 || deleted != 6 { // a memory, a move, meta, two shards, a report
		f.Fatalf("%d documents deleted in %d calls, want 6 in 3", deleted, calls)
	}
	entries, err := f.store.ScanEntries(f.ctx, f.tenant, "", 0)
	f.ok(err)
	same(f, "memories", entries, nil)
	meta, err := f.store.Meta(f.ctx, f.tenant)
	f.ok(err)
	same(f, "meta", meta, hippo.Meta{})
	_, err = f.store.Report(f.ctx, f.tenant)
	f.fails(err, hippo.NotFound)
	same(f, "threads", f.threads("", 5), []hippo.ThreadID{f.thread})
	same(f, "another tenant", survey(stays, gen), want)
}

func movesDeleted(f *fixture) {
	for from, into := range map[hippo.MemoryID]hippo.MemoryID{"a": "gone", "b": "gone", "gone": "c", "d": "c"} {
		f.put(f.movePath(from), map[string]any{schema.Into: string(into)})
	}
	for _, want := range [][]hippo.MemoryID{{"a", "b"}, nil} {
		from, err := f.store.DeleteMoves(f.ctx, f.tenant, "gone")
		f.ok(err)
		same(f, "moved into it", from, want)
	}
	moves, err := f.store.Moves(f.ctx, f.tenant, []hippo.MemoryID{"a", "b", "gone", "d"})
	f.ok(err)
	same(f, "moves", moves, map[hippo.MemoryID]hippo.MemoryID{"d": "c"})
}

func pointerRemoved(f *fixture) {
	for _, id := range []hippo.MemoryID{"a", "b"} {
		f.putMemory(id, day(1))
	}
	for n := range 2 {
		to := at(5+n, "1")
		f.record(hippo.Pass{Stretch: hippo.Stretch{From: at(1, "1"), To: to}, Hash: fmt.Sprint(n), Gist: "g", Wrote: []hippo.MemoryID{"a", "b"}})
	}
	before, err := f.store.EpisodesAfter(f.ctx, f.tenant, f.thread, hippo.Position{}, 5)
	f.ok(err)
	f.ok(f.store.RemovePointer(f.ctx, f.tenant, f.thread, at(5, "1"), "a"))
	f.ok(f.store.RemovePointer(f.ctx, f.tenant, f.thread, at(5, "1"), "a"))
	f.ok(f.store.RemovePointer(f.ctx, f.tenant, f.thread, at(7, "1"), "a"))
	same(f, "an episode that was not there", f.document(f.episodePath(at(7, "1"))), nil)
	after, err := f.store.EpisodesAfter(f.ctx, f.tenant, f.thread, hippo.Position{}, 5)
	f.ok(err)
	before[0].Pointers = []hippo.MemoryID{"b"}
	same(f, "episodes", after, before)
}
