package storetest

import (
	"slices"
	"sync"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var generationCases = []testCase{
	{"a meta that does not exist is the zero value", noMeta},
	{"announcing creates every shard, empty, and names the generation as next", announced},
	{"announcing keeps the current generation and replaces the next", announcedAgain},
	{"of racing announcements on an empty index one wins", raceOnNothing},
	{"of racing announcements on one meta one wins", raceOnMeta},
	{"a meta that changed since it was read is a conflict", staleMeta},
	{"a generation that is none is neither announced nor promoted", noGeneration},
	{"promoting makes next the current", promoted},
	{"sweeping deletes the shards that meta does not name", swept},
	{"sweeping without a meta deletes every shard", sweptAll},
}

func noMeta(f *fixture) {
	m := f.meta()
	same(f, "meta", m, hippo.Meta{})
	same(f, "whether it exists", m.Exists(), false)
}

func announced(f *fixture) {
	gen := generation(9)
	m, err := f.store.AnnounceGeneration(f.ctx, f.tenant, hippo.Meta{}, gen)
	f.ok(err)
	same(f, "whether meta exists", m.Exists(), true)
	same(f, "meta returned", m, hippo.Meta{Next: gen, Stamp: m.Stamp})
	same(f, "meta read", f.meta(), m)
	index := f.index()
	same(f, "meta of the index", index.Meta, m)
	same(f, "shards", len(index.Shards), 9)
	for n, s := range index.Of(gen) {
		id := hippo.ShardID{Gen: gen.ID, N: n}
		if s == nil {
			f.Fatalf("shard %s is missing", id)
		}
		same(f, "shard", *s, hippo.Shard{ID: id, Entries: entries{}})
		same(f, "document", f.document(f.indexPath(id.String())), schema.EmptyShard(id))
	}
}

func announcedAgain(f *fixture) {
	first, second, third := generation(2), generation(2), generation(2)
	m, err := f.store.AnnounceGeneration(f.ctx, f.tenant, f.meta(), first)
	f.ok(err)
	m, err = f.store.PromoteGeneration(f.ctx, f.tenant, m)
	f.ok(err)
	built := m.BuiltAt
	for _, next := range []hippo.Generation{second, third} {
		m, err = f.store.AnnounceGeneration(f.ctx, f.tenant, m, next)
		f.ok(err)
		same(f, "meta", m, hippo.Meta{Current: first, Next: next, BuiltAt: built, Stamp: m.Stamp})
		same(f, "meta read", f.meta(), m)
	}
	same(f, "shards of all three", len(f.index().Shards), 6)
}

// race lets callers announce a generation each on the same meta.
func (f *fixture) race(read hippo.Meta) (winner hippo.Generation, losers []hippo.Generation) {
	f.Helper()
	const callers = 20
	gens, errs := make([]hippo.Generation, callers), make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		gens[i] = generation(2)
		group.Go(func() { _, errs[i] = f.store.AnnounceGeneration(f.ctx, f.tenant, read, gens[i]) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			f.fails(err, hippo.Conflict)
			losers = append(losers, gens[i])
		} else {
			winner = gens[i]
		}
	}
	same(f, "callers who lost", len(losers), callers-1)
	return winner, losers
}

func raceOnNothing(f *fixture) {
	winner, losers := f.race(hippo.Meta{})
	f.complete(winner, losers)
	same(f, "next", f.meta().Next, winner)
}

func raceOnMeta(f *fixture) {
	f.announce(2)
	m, err := f.store.PromoteGeneration(f.ctx, f.tenant, f.meta())
	f.ok(err)
	winner, losers := f.race(m)
	f.complete(winner, losers)
	f.complete(m.Current, nil)
	after := f.meta()
	same(f, "meta", after, hippo.Meta{Current: m.Current, Next: winner, BuiltAt: m.BuiltAt, Stamp: after.Stamp})
}

// complete demands every shard of a generation, and none of the others.
func (f *fixture) complete(gen hippo.Generation, others []hippo.Generation) {
	f.Helper()
	index := f.index()
	same(f, "findings", hippo.ShardFindings(gen, index), nil)
	for _, g := range others {
		for _, s := range index.Of(g) {
			if s != nil {
				f.Fatalf("shard %s of a generation that lost was created", s.ID)
			}
		}
	}
}

func staleMeta(f *fixture) {
	missing := f.meta()
	first, err := f.store.AnnounceGeneration(f.ctx, f.tenant, missing, generation(1))
	f.ok(err)
	second, err := f.store.AnnounceGeneration(f.ctx, f.tenant, first, generation(1))
	f.ok(err)
	for _, stale := range []hippo.Meta{missing, first} {
		loser := generation(3)
		_, err = f.store.AnnounceGeneration(f.ctx, f.tenant, stale, loser)
		f.fails(err, hippo.Conflict)
		f.complete(second.Next, []hippo.Generation{loser})
	}
	_, err = f.store.PromoteGeneration(f.ctx, f.tenant, first)
	f.fails(err, hippo.Conflict)
	same(f, "meta", f.meta(), second)
	f.drop(f.indexPath(schema.MetaID))
	_, err = f.store.AnnounceGeneration(f.ctx, f.tenant, second, generation(1))
	f.fails(err, hippo.Conflict)
	_, err = f.store.PromoteGeneration(f.ctx, f.tenant, second)
	f.fails(err, hippo.Conflict)
	same(f, "meta after it was deleted by hand", f.meta(), hippo.Meta{})
}

func noGeneration(f *fixture) {
	for _, none := range []hippo.Generation{{}, {Shards: 8, Version: 1}, {ID: "g", Version: 1}} {
		_, err := f.store.AnnounceGeneration(f.ctx, f.tenant, hippo.Meta{}, none)
		f.fails(err, hippo.Invalid)
		same(f, "meta", f.meta(), hippo.Meta{})
	}
	f.announce(1)
	m, err := f.store.PromoteGeneration(f.ctx, f.tenant, f.meta())
	f.ok(err)
	_, err = f.store.PromoteGeneration(f.ctx, f.tenant, m)
	f.fails(err, hippo.Invalid)
	same(f, "meta", f.meta(), m)
}

func promoted(f *fixture) {
	gen := f.announce(2)
	before := f.storeTime()
	m, err := f.store.PromoteGeneration(f.ctx, f.tenant, f.meta())
	f.ok(err)
	f.between(before, m.BuiltAt, f.storeTime())
	same(f, "meta returned", m, hippo.Meta{Current: gen, BuiltAt: m.BuiltAt, Stamp: m.Stamp})
	same(f, "meta read", f.meta(), m)
	again, err := f.store.AnnounceGeneration(f.ctx, f.tenant, m, generation(2))
	f.ok(err)
	same(f, "current of a meta announced on it", again.Current, gen)
}

func swept(f *fixture) {
	old := f.announce(3)
	_, err := f.store.PromoteGeneration(f.ctx, f.tenant, f.meta())
	f.ok(err)
	current := f.announce(2)
	_, err = f.store.PromoteGeneration(f.ctx, f.tenant, f.meta())
	f.ok(err)
	abandoned := f.announce(4)
	next := f.announce(5)
	n, err := f.store.SweepIndex(f.ctx, f.tenant)
	f.ok(err)
	same(f, "shards deleted", n, old.Shards+abandoned.Shards)
	f.complete(current, []hippo.Generation{old, abandoned})
	f.complete(next, nil)
	same(f, "generations named", f.meta().Named(), []hippo.Generation{current, next})
	n, err = f.store.SweepIndex(f.ctx, f.tenant)
	f.ok(err)
	same(f, "shards deleted the second time", n, 0)
	beyond := hippo.ShardID{Gen: current.ID, N: current.Shards}
	f.put(f.indexPath(beyond.String()), schema.EmptyShard(beyond))
	n, err = f.store.SweepIndex(f.ctx, f.tenant)
	f.ok(err)
	same(f, "shards deleted beyond the last of a generation", n, 1)
}

func sweptAll(f *fixture) {
	n, err := f.store.SweepIndex(f.ctx, f.tenant)
	f.ok(err)
	same(f, "shards deleted of nothing", n, 0)
	f.announce(3)
	f.drop(f.indexPath(schema.MetaID))
	n, err = f.store.SweepIndex(f.ctx, f.tenant)
	f.ok(err)
	same(f, "shards deleted", n, 3)
	same(f, "shards left", slices.Clone(f.index().Shards), nil)
}
