package storetest

import (
	"context"
	"fmt"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var meterCases = []testCase{
	{"the meter counts what was read of memories", meterMemories},
	{"the meter counts what was written of memories", meterMemoryWrites},
	{"the meter counts what was read of the index", meterIndexReads},
	{"the meter counts what was written of the index", meterIndexWrites},
	{"the meter counts what was read and written of messages", meterMessages},
	{"the meter counts what was read of episodes", meterEpisodes},
	{"the meter counts what a pass read and wrote", meterPasses},
	{"the meter counts tenants, threads and reports", meterTenants},
	{"the meter adds up by method", meterAddsUp},
}

// costs demands that a call is charged under its method's name alone, and so
// much.
func (f *fixture) costs(method string, want hippo.Reads, call func(ctx context.Context) error) {
	f.Helper()
	var m hippo.Meter
	f.ok(call(hippo.WithMeter(f.ctx, &m)))
	want.Query = method
	same(f, "cost of "+method, m.ByQuery(), []hippo.Reads{want})
}

// size is what documents at paths take, those that exist.
func (f *fixture) size(paths ...string) int64 {
	f.Helper()
	var n int64
	for _, path := range paths {
		if fields := f.document(path); fields != nil {
			n += schema.Size(path, fields)
		}
	}
	return n
}

// projected is what memories take when only updated_at is read of them.
func (f *fixture) projected(ids ...hippo.MemoryID) int64 {
	f.Helper()
	var n int64
	for _, id := range ids {
		path, fields := f.memoryPath(id), schema.Fields{}
		if at, ok := f.document(path)[f.layout.Fields.MemoryUpdatedAt]; ok {
			fields[f.layout.Fields.MemoryUpdatedAt] = at
		}
		n += schema.Size(path, fields)
	}
	return n
}

// pantry is three memories: one with a time, one with a text in its place, one
// without either.
func (f *fixture) pantry() []hippo.MemoryID {
	f.Helper()
	f.putMemory("a", day(1))
	f.put(f.memoryPath("b"), map[string]any{f.layout.Fields.MemoryContent: "content", f.layout.Fields.MemoryUpdatedAt: "yesterday"})
	f.put(f.memoryPath("c"), map[string]any{f.layout.Fields.MemoryContent: "content", "tags": []any{"x", int64(1), nil, true}})
	return []hippo.MemoryID{"a", "b", "c"}
}

func meterMemories(f *fixture) {
	type ctx = context.Context
	all := f.pantry()
	f.costs("Memory", hippo.Reads{Documents: 1, Bytes: f.size(f.memoryPath("c"))}, func(c ctx) error { _, err := f.store.Memory(c, f.tenant, "c"); return err })
	f.costs("Memory", hippo.Reads{Documents: 1}, func(c ctx) error {
		_, err := f.store.Memory(c, f.tenant, "nothing")
		f.fails(err, hippo.NotFound)
		return nil
	})
	times := func(ids ...hippo.MemoryID) func(ctx) error {
		return func(c ctx) error { _, err := f.store.MemoryTimes(c, f.tenant, ids); return err }
	}
	f.costs("MemoryTimes", hippo.Reads{Documents: 3, Bytes: f.projected(all...)}, times(all...))
	f.costs("MemoryTimes", hippo.Reads{Documents: 3, Bytes: f.projected("a")}, times("nothing", "a", "nothing either"))
	scan := func(after hippo.MemoryID, limit int) func(ctx) error {
		return func(c ctx) error { _, err := f.store.ScanEntries(c, f.tenant, after, limit); return err }
	}
	f.costs("ScanEntries", hippo.Reads{Documents: 3, Bytes: f.projected(all...)}, scan("", 0))
	f.costs("ScanEntries", hippo.Reads{Documents: 2, Bytes: f.projected("b", "c")}, scan("a", 2))
	f.costs("ScanEntries", hippo.Reads{Documents: 1}, scan("c", 2))
	f.costs("CountMemories", hippo.Reads{Documents: 1}, func(c ctx) error { _, err := f.store.CountMemories(c, f.tenant); return err })
	f.put(f.movePath("old"), map[string]any{schema.Into: "a"})
	f.costs("Moves", hippo.Reads{Documents: 2, Bytes: f.size(f.movePath("old"))}, func(c ctx) error {
		_, err := f.store.Moves(c, f.tenant, []hippo.MemoryID{"old", "nothing"})
		return err
	})
}

func meterMemoryWrites(f *fixture) {
	f.costs("SaveMemory", hippo.Reads{Writes: 1}, func(c context.Context) error {
		return f.store.SaveMemory(c, f.tenant, hippo.Memory{ID: "a", Name: "n"})
	})
	f.costs("DeleteMemory", hippo.Reads{Writes: 1}, func(c context.Context) error { return f.store.DeleteMemory(c, f.tenant, "a") })
}

func meterIndexReads(f *fixture) {
	type ctx = context.Context
	meta := func(c ctx) error { _, err := f.store.Meta(c, f.tenant); return err }
	index := func(c ctx) error { _, err := f.store.ReadIndex(c, f.tenant); return err }
	f.costs("Meta", hippo.Reads{Documents: 1}, meta)
	f.costs("ReadIndex", hippo.Reads{Documents: 1}, index)
	gen := f.announce(40)
	f.putMemory("a", day(1))
	changed := hippo.ShardID{Gen: gen.ID, N: 35}
	f.write(target(changed, "a"))
	var paths []string
	for _, s := range gen.ShardIDs() {
		paths = append(paths, f.indexPath(s.String()))
	}
	ofMeta := f.size(f.indexPath(schema.MetaID))
	f.costs("Meta", hippo.Reads{Documents: 1, Bytes: ofMeta}, meta)
	f.costs("ReadIndex", hippo.Reads{Documents: 41, Bytes: ofMeta + f.size(paths...)}, index)
	since := func(gen hippo.Generation) func(ctx) error {
		return func(c ctx) error {
			_, err := f.store.ReadIndexSince(c, f.tenant, gen, make([]int64, gen.Shards))
			return err
		}
	}
	f.costs("ReadIndexSince", hippo.Reads{Documents: 3, Bytes: 2*ofMeta + f.size(f.indexPath(changed.String()))}, since(gen))
	f.costs("ReadIndexSince", hippo.Reads{Documents: 1, Bytes: ofMeta}, since(generation(29)))
	f.drop(f.indexPath(schema.MetaID))
	f.costs("ReadIndexSince", hippo.Reads{Documents: 1}, since(generation(8)))
	f.costs("ReadIndexSince", hippo.Reads{Documents: 2}, since(generation(40)))
}

func meterIndexWrites(f *fixture) {
	type ctx = context.Context
	f.writes("AnnounceGeneration", 4, func(c ctx) error {
		_, err := f.store.AnnounceGeneration(c, f.tenant, hippo.Meta{}, generation(3))
		return err
	})
	meta := f.meta()
	all := f.pantry()
	zero, two := hippo.ShardID{Gen: meta.Next.ID}, hippo.ShardID{Gen: meta.Next.ID, N: 2}
	f.costs("WriteEntries", hippo.Reads{Documents: 3, Bytes: f.projected(all...), Writes: 2}, func(c ctx) error {
		return f.store.WriteEntries(c, f.tenant, []hippo.ShardTarget{target(zero, "a"), target(two, "a", "b", "c")})
	})
	f.costs("WriteEntries", hippo.Reads{Documents: 1, Writes: 1}, func(c ctx) error {
		return f.store.WriteEntries(c, f.tenant, []hippo.ShardTarget{target(zero, "nothing")})
	})
	f.costs("RemoveEntries", hippo.Reads{Writes: 1}, func(c ctx) error { return f.store.RemoveEntries(c, f.tenant, target(two, "a", "b")) })
	f.writes("PromoteGeneration", 1, func(c ctx) error { _, err := f.store.PromoteGeneration(c, f.tenant, meta); return err })
	f.announce(2)
	f.announce(2)
	f.costs("SweepIndex", hippo.Reads{Documents: 8, Bytes: f.withoutEntries(), Writes: 2}, func(c ctx) error {
		_, err := f.store.SweepIndex(c, f.tenant)
		return err
	})
}

// withoutEntries is what the index takes when the entries of shards are not read.
func (f *fixture) withoutEntries() int64 {
	f.Helper()
	n := f.size(f.indexPath(schema.MetaID))
	for _, s := range f.index().Shards {
		path := f.indexPath(s.ID.String())
		fields := f.document(path)
		delete(fields, schema.Entries)
		n += schema.Size(path, fields)
	}
	return n
}

// writes is costs for a method that may look at what it replaces.
func (f *fixture) writes(method string, want int, call func(ctx context.Context) error) {
	f.Helper()
	var m hippo.Meter
	f.ok(call(hippo.WithMeter(f.ctx, &m)))
	same(f, "documents written by "+method, m.Total().Writes, want)
}

func meterMessages(f *fixture) {
	type ctx = context.Context
	all := []hippo.Message{said("a", day(1), "term"), said("b", day(2), "term", "other"), said("c", day(3))}
	save := func(c ctx) error { _, err := f.store.SaveMessages(c, f.tenant, f.thread, all); return err }
	f.costs("SaveMessages", hippo.Reads{Documents: 3, Writes: 3}, save)
	names, times := int64(0), int64(0)
	for _, m := range all {
		names += schema.Size(f.messagePath(m.ID), nil)
		times += schema.Size(f.messagePath(m.ID), schema.Fields{f.layout.Fields.MessageCreatedAt: m.CreatedAt.Time()})
	}
	f.costs("SaveMessages", hippo.Reads{Documents: 3, Bytes: names}, save)
	sizes := func(ids ...hippo.MessageID) (n int64) {
		for _, id := range ids {
			n += f.size(f.messagePath(id))
		}
		return n
	}
	recent := func(thread hippo.ThreadID) func(ctx) error {
		return func(c ctx) error { _, err := f.store.RecentMessages(c, f.tenant, thread, 2); return err }
	}
	f.costs("RecentMessages", hippo.Reads{Documents: 2, Bytes: sizes("b", "c")}, recent(f.thread))
	f.costs("RecentMessages", hippo.Reads{Documents: 1}, recent("unknown"))
	f.costs("MessagesIn", hippo.Reads{Documents: 2, Bytes: sizes("a", "b")}, func(c ctx) error {
		_, err := f.store.MessagesIn(c, f.tenant, f.thread, hippo.Stretch{From: all[0].Position(), To: all[1].Position()}, hippo.Position{}, 9)
		return err
	})
	f.costs("MessagesBefore", hippo.Reads{Documents: 1, Bytes: sizes("b")}, func(c ctx) error {
		_, err := f.store.MessagesBefore(c, f.tenant, f.thread, all[2].Position(), 1)
		return err
	})
	f.costs("MessagesWithTerm", hippo.Reads{Documents: 2, Bytes: sizes("a", "b")}, func(c ctx) error {
		_, err := f.store.MessagesWithTerm(c, f.tenant, f.thread, "term", at(9, ""), 9)
		return err
	})
	f.costs("Positions", hippo.Reads{Documents: 4, Bytes: times}, func(c ctx) error {
		_, err := f.store.Positions(c, f.tenant, f.thread, []hippo.MessageID{"a", "nothing", "b", "c"})
		return err
	})
	f.costs("CountMessages", hippo.Reads{Documents: 1}, func(c ctx) error { _, err := f.store.CountMessages(c, f.tenant, f.thread); return err })
}

func meterEpisodes(f *fixture) {
	type ctx = context.Context
	first := func(c ctx) error { _, _, err := f.store.FirstEpisode(c, f.tenant, f.thread); return err }
	f.costs("FirstEpisode", hippo.Reads{Documents: 1}, first)
	p := overlapping(f)
	sizes := func(passes ...hippo.Pass) (n int64) {
		for _, pass := range passes {
			n += f.size(f.episodePath(pass.To))
		}
		return n
	}
	f.costs("FirstEpisode", hippo.Reads{Documents: 1, Bytes: sizes(p[0])}, first)
	f.costs("EpisodesBefore", hippo.Reads{Documents: 2, Bytes: sizes(p[4], p[5])}, func(c ctx) error {
		_, err := f.store.EpisodesBefore(c, f.tenant, f.thread, at(9, ""), 2)
		return err
	})
	f.costs("EpisodesAfter", hippo.Reads{Documents: 1, Bytes: sizes(p[5])}, func(c ctx) error {
		_, err := f.store.EpisodesAfter(c, f.tenant, f.thread, p[3].To, 9)
		return err
	})
	f.costs("EpisodeByHandle", hippo.Reads{Documents: 1, Bytes: sizes(p[2])}, func(c ctx) error {
		_, err := f.store.EpisodeByHandle(c, f.tenant, f.thread, hippo.HandleOf(p[2].To))
		return err
	})
	f.costs("CountEpisodes", hippo.Reads{Documents: 1}, func(c ctx) error { _, err := f.store.CountEpisodes(c, f.tenant, f.thread); return err })
}

func meterPasses(f *fixture) {
	f.putMemory("a", day(1))
	f.putMemory("b", day(1))
	pass := hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g", Wrote: []hippo.MemoryID{"a", "b"}}
	record := func(c context.Context) error { _, err := f.store.RecordPass(c, f.tenant, f.thread, pass); return err }
	f.costs("RecordPass", hippo.Reads{Documents: 3, Bytes: f.projected("a", "b"), Writes: 4}, record)
	written := f.size(f.receiptPath(stretch.To), f.episodePath(stretch.To))
	f.costs("RecordPass", hippo.Reads{Documents: 4, Bytes: f.projected("a", "b") + written}, record)
	f.writes("RecordPass", 4, func(c context.Context) error {
		_, err := f.store.RecordPass(c, f.tenant, f.thread, hippo.Pass{Stretch: stretch, Hash: "h2", Gist: "g", Writes: []hippo.Write{{ID: "a", Name: "n"}}})
		return err
	})
}

func meterTenants(f *fixture) {
	type ctx = context.Context
	threads := func(c ctx) error { _, _, err := f.store.Threads(c, f.tenant, hippo.Cursor{}, 9); return err }
	f.writes("SaveReport", 1, func(c ctx) error { return f.store.SaveReport(c, hippo.Report{Tenant: f.tenant}) })
	path := hippo.Fill(f.layout.Paths.Report, string(f.tenant), schema.ReportID)
	f.costs("Report", hippo.Reads{Documents: 1, Bytes: f.size(path)}, func(c ctx) error { _, err := f.store.Report(c, f.tenant); return err })
	for i := range 3 {
		f.thread = hippo.ThreadID(fmt.Sprint("thread", i))
		f.save(said("a", day(1)))
	}
	var m hippo.Meter
	f.ok(threads(hippo.WithMeter(f.ctx, &m)))
	if got := m.ByQuery(); len(got) != 1 || got[0].Query != "Threads" || got[0].Documents < 3 {
		f.Fatalf("cost of Threads: %v, want at least 3 documents", got)
	}
}

func meterAddsUp(f *fixture) {
	f.putMemory("a", day(1))
	size := f.size(f.memoryPath("a"))
	var m hippo.Meter
	ctx := hippo.WithMeter(f.ctx, &m)
	for range 3 {
		_, err := f.store.Memory(ctx, f.tenant, "a")
		f.ok(err)
	}
	f.ok(f.store.DeleteMemory(ctx, f.tenant, "a"))
	same(f, "by method", m.ByQuery(), []hippo.Reads{{Query: "Memory", Documents: 3, Bytes: 3 * size}, {Query: "DeleteMemory", Writes: 1}})
	same(f, "in all", m.Total(), hippo.Reads{Documents: 3, Bytes: 3 * size, Writes: 1})
}
