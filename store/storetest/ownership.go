package storetest

import (
	"context"
	"slices"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var ownershipCases = []testCase{
	{"two tenants with the same names never meet", tenantsApart},
	{"two threads of a tenant never meet", threadsApart},
	{"what was returned is the caller's own to change", resultsOwned},
	{"what was given to be written is still the caller's", argumentsOwned},
	{"an ended context is unavailable, whatever was asked", contextEnded},
}

// furnish gives a tenant one of everything, told apart by n.
func furnish(f *fixture, n int) hippo.Generation {
	f.Helper()
	gen := hippo.Generation{ID: "samename", Shards: 2, Version: hippo.IndexVersion}
	m, err := f.store.AnnounceGeneration(f.ctx, f.tenant, hippo.Meta{}, gen)
	f.ok(err)
	_, err = f.store.PromoteGeneration(f.ctx, f.tenant, m)
	f.ok(err)
	f.putMemory("m", day(n))
	f.write(gen.Place([]hippo.MemoryID{"m"})...)
	f.put(f.movePath("old"), map[string]any{schema.Into: "m"})
	f.save(hippo.Message{ID: "1", Role: hippo.Assistant, Content: "c", CreatedAt: day(n), Terms: []string{"term"}, ToolCalls: []hippo.ToolCall{{ID: "c", Name: "t"}}})
	f.record(hippo.Pass{Stretch: hippo.Stretch{From: hippo.Position{At: day(n), ID: "1"}, To: at(9, "1")}, Hash: "h", Gist: "g", Wrote: []hippo.MemoryID{"m"}})
	f.ok(f.store.SaveReport(f.ctx, hippo.Report{Tenant: f.tenant, Memories: n, Findings: map[hippo.FindingType]int{hippo.Stale: n}}))
	return gen
}

// everything is what the store says of a furnished tenant.
type everything struct {
	Entries  []hippo.Entry
	Times    map[hippo.MemoryID]hippo.Micros
	Moves    map[hippo.MemoryID]hippo.MemoryID
	Meta     hippo.Meta
	Shards   []hippo.Shard
	Since    []hippo.Shard
	Threads  []hippo.ThreadID
	Messages []hippo.Message
	Termed   []hippo.Message
	Episodes []hippo.Episode
	Report   hippo.Report
}

func survey(f *fixture, gen hippo.Generation) (e everything) {
	f.Helper()
	var errs [9]error
	e.Entries, errs[0] = f.store.ScanEntries(f.ctx, f.tenant, "", 0)
	e.Times, errs[1] = f.store.MemoryTimes(f.ctx, f.tenant, []hippo.MemoryID{"m"})
	e.Moves, errs[2] = f.store.Moves(f.ctx, f.tenant, []hippo.MemoryID{"old"})
	index, err := f.store.ReadIndex(f.ctx, f.tenant)
	errs[3] = err
	e.Meta, e.Shards = index.Meta, index.Shards
	e.Since = f.since(gen, make([]int64, gen.Shards)).Shards
	e.Threads, _, errs[4] = f.store.Threads(f.ctx, f.tenant, hippo.Cursor{}, 9)
	e.Messages, errs[5] = f.store.RecentMessages(f.ctx, f.tenant, f.thread, 9)
	e.Termed, errs[6] = f.store.MessagesWithTerm(f.ctx, f.tenant, f.thread, "term", at(9, ""), 9)
	e.Episodes, errs[7] = f.store.EpisodesBefore(f.ctx, f.tenant, f.thread, at(9, ""), 9)
	e.Report, errs[8] = f.store.Report(f.ctx, f.tenant)
	for _, err := range errs {
		f.ok(err)
	}
	return e
}

func tenantsApart(f *fixture) {
	a, b := f.other(), f.other()
	gen := furnish(a, 1)
	before := survey(a, gen)
	furnish(b, 2)
	after := survey(b, gen)
	same(f, "the second tenant's memories", after.Entries, []hippo.Entry{{ID: "m", UpdatedAt: day(2)}})
	same(f, "the second tenant's messages", len(after.Messages), 1)
	f.ok(b.store.DeleteMemory(b.ctx, b.tenant, "m"))
	b.write(gen.Place([]hippo.MemoryID{"m"})...)
	b.record(hippo.Pass{Stretch: hippo.Stretch{From: at(2, "1"), To: at(9, "1")}, Hash: "h2", Writes: []hippo.Write{{ID: "old", Name: "n"}}})
	b.drop(b.indexPath(schema.MetaID))
	n, err := b.store.SweepIndex(b.ctx, b.tenant)
	f.ok(err)
	same(f, "shards swept of the second tenant", n, 2)
	same(f, "the first tenant after all that", survey(a, gen), before)
}

func threadsApart(f *fixture) {
	second := *f
	second.thread = "thread2"
	f.save(said("a", day(1), "term"))
	second.save(said("a", day(2), "term"), said("b", day(3), "term"))
	f.record(line(at(1, "a"), at(1, "a")))
	second.record(line(at(2, "a"), at(3, "b")))
	same(f, "messages of the first", messageIDs(f.recent(9)), []hippo.MessageID{"a"})
	same(f, "messages of the second", messageIDs(second.recent(9)), []hippo.MessageID{"a", "b"})
	same(f, "time in the second", second.recent(9)[0].CreatedAt, day(2))
	same(f, "episode of the first", f.episode().Gist, "from a to a")
	same(f, "episode of the second", second.episode().Gist, "from a to b")
}

func resultsOwned(f *fixture) {
	gen := furnish(f, 1)
	want := survey(f, gen)
	spoilt := survey(f, gen)
	clear(spoilt.Times)
	clear(spoilt.Moves)
	for _, s := range slices.Concat(spoilt.Shards, spoilt.Since) {
		s.Entries["spoilt"] = 1
		delete(s.Entries, "m")
	}
	for _, m := range slices.Concat(spoilt.Messages, spoilt.Termed) {
		m.Terms[0], m.ToolCalls[0].Name = "spoilt", "spoilt"
	}
	spoilt.Episodes[0].Pointers[0] = "spoilt"
	spoilt.Report.Findings[hippo.Stale] = 99
	clear(spoilt.Entries)
	clear(spoilt.Threads)
	same(f, "what is stored", survey(f, gen), want)
}

func argumentsOwned(f *fixture) {
	m := hippo.Message{ID: "1", Role: hippo.Assistant, Content: "c", CreatedAt: day(1), Terms: []string{"term"}, ToolCalls: []hippo.ToolCall{{ID: "c", Name: "t"}}}
	f.save(m)
	pass := hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g", Writes: []hippo.Write{{ID: "m", Name: "n"}}}
	result := f.record(pass)
	messages, episode := f.recent(1), f.episode()
	m.Terms[0], m.ToolCalls[0].Name = "spoilt", "spoilt"
	pass.Writes[0].ID = "spoilt"
	result.Episode.Pointers[0] = "spoilt"
	same(f, "messages", f.recent(1), messages)
	same(f, "episode", f.episode(), episode)
}

func contextEnded(f *fixture) {
	gen := furnish(f, 1)
	meta := f.meta()
	want := survey(f, gen)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for name, call := range everyMethod(f.store, f.tenant, f.thread, gen, meta) {
		if err := call(ctx); !hippo.IsKind(err, hippo.Unavailable) {
			f.Errorf("%s: error %v, want one of kind %q", name, err, hippo.Unavailable)
		}
	}
	same(f, "what is stored", survey(f, gen), want)
}

// everyMethod is a call of each method that, with a context that lives, would
// succeed and change what a survey sees.
func everyMethod(s hippo.Store, t hippo.TenantID, th hippo.ThreadID, gen hippo.Generation, meta hippo.Meta) map[string]func(context.Context) error {
	type ctx = context.Context
	targets := gen.Place([]hippo.MemoryID{"m"})
	stretch := hippo.Stretch{From: at(1, "a"), To: at(2, "b")}
	return map[string]func(ctx) error{
		"Tenants":      func(c ctx) error { _, _, err := s.Tenants(c, hippo.Cursor{}, 1); return err },
		"Threads":      func(c ctx) error { _, _, err := s.Threads(c, t, hippo.Cursor{}, 1); return err },
		"SaveReport":   func(c ctx) error { return s.SaveReport(c, hippo.Report{Tenant: t}) },
		"DeleteThread": func(c ctx) error { _, err := s.DeleteThread(c, t, th, 1); return err },
		"DeleteTenant": func(c ctx) error { _, err := s.DeleteTenant(c, t, 1); return err },
		"DeleteMoves":  func(c ctx) error { _, err := s.DeleteMoves(c, t, "m"); return err },
		"RemovePointer": func(c ctx) error {
			return s.RemovePointer(c, t, th, at(5, "1"), "m")
		},
		"Report":       func(c ctx) error { _, err := s.Report(c, t); return err },
		"Memory":       func(c ctx) error { _, err := s.Memory(c, t, "m"); return err },
		"MemoryTimes":  func(c ctx) error { _, err := s.MemoryTimes(c, t, []hippo.MemoryID{"m"}); return err },
		"SaveMemory":   func(c ctx) error { return s.SaveMemory(c, t, hippo.Memory{ID: "m2"}) },
		"DeleteMemory": func(c ctx) error { return s.DeleteMemory(c, t, "m") },
		"CountMemories": func(c ctx) error {
			_, err := s.CountMemories(c, t)
			return err
		},
		"ScanEntries": func(c ctx) error { _, err := s.ScanEntries(c, t, "", 0); return err },
		"Moves":       func(c ctx) error { _, err := s.Moves(c, t, []hippo.MemoryID{"old"}); return err },
		"Meta":        func(c ctx) error { _, err := s.Meta(c, t); return err },
		"ReadIndex":   func(c ctx) error { _, err := s.ReadIndex(c, t); return err },
		"ReadIndexSince": func(c ctx) error {
			_, err := s.ReadIndexSince(c, t, gen, make([]int64, gen.Shards))
			return err
		},
		"WriteEntries":  func(c ctx) error { return s.WriteEntries(c, t, targets) },
		"RemoveEntries": func(c ctx) error { return s.RemoveEntries(c, t, targets[0]) },
		"AnnounceGeneration": func(c ctx) error {
			_, err := s.AnnounceGeneration(c, t, meta, generation(1))
			return err
		},
		"PromoteGeneration": func(c ctx) error {
			next := meta
			next.Next = gen
			_, err := s.PromoteGeneration(c, t, next)
			return err
		},
		"SweepIndex":     func(c ctx) error { _, err := s.SweepIndex(c, t); return err },
		"SaveMessages":   func(c ctx) error { _, err := s.SaveMessages(c, t, th, []hippo.Message{said("2", day(3))}); return err },
		"RecentMessages": func(c ctx) error { _, err := s.RecentMessages(c, t, th, 1); return err },
		"MessagesIn":     func(c ctx) error { _, err := s.MessagesIn(c, t, th, stretch, hippo.Position{}, 1); return err },
		"MessagesBefore": func(c ctx) error { _, err := s.MessagesBefore(c, t, th, stretch.To, 1); return err },
		"MessagesWithTerm": func(c ctx) error {
			_, err := s.MessagesWithTerm(c, t, th, "term", stretch.To, 1)
			return err
		},
		"Positions":       func(c ctx) error { _, err := s.Positions(c, t, th, []hippo.MessageID{"1"}); return err },
		"CountMessages":   func(c ctx) error { _, err := s.CountMessages(c, t, th); return err },
		"FirstEpisode":    func(c ctx) error { _, _, err := s.FirstEpisode(c, t, th); return err },
		"EpisodesBefore":  func(c ctx) error { _, err := s.EpisodesBefore(c, t, th, stretch.To, 1); return err },
		"EpisodesAfter":   func(c ctx) error { _, err := s.EpisodesAfter(c, t, th, stretch.To, 1); return err },
		"EpisodeByHandle": func(c ctx) error { _, err := s.EpisodeByHandle(c, t, th, hippo.HandleOf(at(9, "1"))); return err },
		"CountEpisodes":   func(c ctx) error { _, err := s.CountEpisodes(c, t, th); return err },
		"RecordPass": func(c ctx) error {
			_, err := s.RecordPass(c, t, th, hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g"})
			return err
		},
	}
}
