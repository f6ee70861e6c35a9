package storetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var entryCases = []testCase{
	{"entries are made equal to their memories", entriesWritten},
	{"an entry's write changes nothing else of the shard, and Rev grows by one", entriesUntouched},
	{"entries of any listable id are keys of their own", entriesOfAnyID},
	{"one call writes several shards, each once", entriesOfManyShards},
	{"a shard deleted by hand fails the call and is not created again", entriesOfLostShard},
	{"an id that cannot be a key fails the call and nothing is written", entriesOfPoison},
	{"a shard that would be too large is refused and stays as it was", entriesTooLarge},
	{"concurrent writes of memories and entries end in equality", entriesConverge},
	{"entries are removed whatever their memories say", entriesRemoved},
	{"entries are not removed from a shard that does not exist", entriesRemovedFromNothing},
}

// announce makes a first generation that is being filled.
func (f *fixture) announce(shards int) hippo.Generation {
	f.Helper()
	m, err := f.store.AnnounceGeneration(f.ctx, f.tenant, f.meta(), generation(shards))
	f.ok(err)
	return m.Next
}

func generation(shards int) hippo.Generation {
	return hippo.Generation{ID: hippo.NewGenerationID(), Shards: shards, Version: hippo.IndexVersion}
}

func (f *fixture) meta() hippo.Meta {
	f.Helper()
	m, err := f.store.Meta(f.ctx, f.tenant)
	f.ok(err)
	return m
}

func (f *fixture) index() hippo.IndexRead {
	f.Helper()
	index, err := f.store.ReadIndex(f.ctx, f.tenant)
	f.ok(err)
	return index
}

// shard reads one shard, which has to be there.
func (f *fixture) shard(id hippo.ShardID) hippo.Shard {
	f.Helper()
	for _, s := range f.index().Shards {
		if s.ID == id {
			return s
		}
	}
	f.Fatalf("shard %s is missing", id)
	return hippo.Shard{}
}

func target(shard hippo.ShardID, ids ...hippo.MemoryID) hippo.ShardTarget {
	return hippo.ShardTarget{Shard: shard, IDs: ids}
}

func (f *fixture) write(targets ...hippo.ShardTarget) {
	f.Helper()
	f.ok(f.store.WriteEntries(f.ctx, f.tenant, targets))
}

type entries = map[hippo.MemoryID]hippo.Micros

func entriesWritten(f *fixture) {
	shard := hippo.ShardID{Gen: f.announce(1).ID}
	f.putMemory("a", day(1))
	f.put(f.memoryPath("untimed"), map[string]any{f.layout.Fields.MemoryUpdatedAt: "yesterday"})
	untimed, err := f.store.MemoryTimes(f.ctx, f.tenant, []hippo.MemoryID{"untimed"})
	f.ok(err)
	f.write(target(shard, "a", "untimed", "nothing"))
	same(f, "shard", f.shard(shard), hippo.Shard{ID: shard, Rev: 1, Entries: entries{"a": day(1), "untimed": untimed["untimed"]}})
	f.putMemory("a", day(2))
	f.drop(f.memoryPath("untimed"))
	f.write(target(shard, "a", "untimed"))
	same(f, "shard after changes", f.shard(shard), hippo.Shard{ID: shard, Rev: 2, Entries: entries{"a": day(2)}})
	f.putMemory("a", day(1))
	f.write(target(shard, "a"))
	same(f, "shard after a time that ran backwards", f.shard(shard), hippo.Shard{ID: shard, Rev: 3, Entries: entries{"a": day(1)}})
}

func entriesUntouched(f *fixture) {
	shard := hippo.ShardID{Gen: f.announce(1).ID}
	fields := schema.EmptyShard(shard)
	fields[schema.Rev] = int64(41)
	fields[schema.Entries] = map[string]any{"wrong": int64(1), "gone": int64(2), "a.b": int64(3), "a": int64(4)}
	fields["note"] = "by hand"
	f.put(f.indexPath(shard.String()), fields)
	f.putMemory("a", day(1))
	f.write(target(shard, "a", "gone"))
	fields[schema.Rev] = int64(42)
	fields[schema.Entries] = map[string]any{"wrong": int64(1), "a.b": int64(3), "a": int64(day(1))}
	same(f, "document", f.document(f.indexPath(shard.String())), fields)
}

func entriesOfAnyID(f *fixture) {
	shard := hippo.ShardID{Gen: f.announce(1).ID}
	want := entries{}
	ids := f.strangeIDs()
	for i, id := range ids {
		want[id] = day(1) + hippo.Micros(i)
		f.putMemory(id, want[id])
	}
	f.write(target(shard, ids...))
	same(f, "entries", f.shard(shard).Entries, want)
	for i, id := range ids {
		if i%2 == 0 {
			f.drop(f.memoryPath(id))
			delete(want, id)
		}
	}
	f.write(target(shard, ids...))
	same(f, "entries after every other memory was deleted", f.shard(shard).Entries, want)
}

func entriesOfManyShards(f *fixture) {
	first := f.announce(2)
	_, err := f.store.PromoteGeneration(f.ctx, f.tenant, f.meta())
	f.ok(err)
	next := f.announce(3)
	f.putMemory("YQ", day(1))
	f.putMemory("Yg", day(2))
	ids := []hippo.MemoryID{"YQ", "Yg", "Yw"}
	f.write(append(first.Place(ids), next.Place(ids)...)...)
	index := f.index()
	for _, gen := range []hippo.Generation{first, next} {
		same(f, "findings", hippo.Diff(f.layout.Naming, gen, index, []hippo.Entry{{ID: "YQ", UpdatedAt: day(1)}, {ID: "Yg", UpdatedAt: day(2)}}, hippo.Range{}), nil)
	}
	one := hippo.ShardID{Gen: first.ID}
	rev := f.shard(one).Rev
	f.write(target(one, "YQ"), target(one, "Yg", "Yg"))
	same(f, "shard after a call that named it twice", f.shard(one), hippo.Shard{ID: one, Rev: rev + 1, Entries: entries{"YQ": day(1), "Yg": day(2)}})
	f.write()
	same(f, "Rev after a call without targets", f.shard(one).Rev, rev+1)
}

func entriesOfLostShard(f *fixture) {
	gen := f.announce(2)
	lost, kept := hippo.ShardID{Gen: gen.ID, N: 0}, hippo.ShardID{Gen: gen.ID, N: 1}
	f.putMemory("a", day(1))
	f.drop(f.indexPath(lost.String()))
	for range 2 {
		f.lacksShard(f.store.WriteEntries(f.ctx, f.tenant, []hippo.ShardTarget{target(kept, "a"), target(lost, "a")}))
		f.lacksShard(f.store.WriteEntries(f.ctx, f.tenant, []hippo.ShardTarget{target(lost, "nothing")}))
	}
	if f.document(f.indexPath(lost.String())) != nil {
		f.Fatal("the shard was created again")
	}
	same(f, "the other shard", f.shard(kept), hippo.Shard{ID: kept, Entries: entries{}})
}

func entriesOfPoison(f *fixture) {
	shard := hippo.ShardID{Gen: f.announce(1).ID}
	f.putMemory("a", day(1))
	for _, id := range []hippo.MemoryID{"__x__", hippo.MemoryID(strings.Repeat("x", hippo.MaxDocumentIDBytes))} {
		f.fails(f.store.WriteEntries(f.ctx, f.tenant, []hippo.ShardTarget{target(shard, "a", id)}), hippo.Invalid)
	}
	same(f, "shard", f.shard(shard), hippo.Shard{ID: shard, Entries: entries{}})
}

func entriesTooLarge(f *fixture) {
	shard := hippo.ShardID{Gen: f.announce(1).ID}
	long := func(n int) hippo.MemoryID {
		return hippo.MemoryID(fmt.Sprintf("%04d%s", n, strings.Repeat("x", hippo.MaxEntryKeyBytes-4)))
	}
	full := map[string]any{}
	for n := range 690 {
		full[string(long(n))] = int64(day(1))
	}
	fields := schema.EmptyShard(shard)
	fields[schema.Entries] = full
	f.put(f.indexPath(shard.String()), fields)
	var ids []hippo.MemoryID
	for n := range 30 {
		ids = append(ids, long(9000+n))
		f.ok(f.store.SaveMemory(f.ctx, f.tenant, hippo.Memory{ID: ids[n], Name: "n", UpdatedAt: day(2)}))
	}
	f.fails(f.store.WriteEntries(f.ctx, f.tenant, []hippo.ShardTarget{target(shard, ids...)}), hippo.TooLarge)
	got := f.shard(shard)
	same(f, "entries after the refusal", len(got.Entries), len(full))
	same(f, "Rev after the refusal", got.Rev, 0)
	f.write(target(shard, ids[0], long(0), long(1)))
	same(f, "entries after a write that fits", len(f.shard(shard).Entries), len(full)-1)
}

func entriesConverge(f *fixture) {
	const workers, rounds = 8, 6
	shard := hippo.ShardID{Gen: f.announce(1).ID}
	ids := []hippo.MemoryID{"YQ", "Yg", "Yw"}
	errs := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for n := range rounds {
				id := ids[(w+n)%len(ids)]
				change := func() error { return f.store.DeleteMemory(f.ctx, f.tenant, id) }
				if (w+n)%4 != 0 {
					m := hippo.Memory{ID: id, Name: "n", UpdatedAt: day(1) + hippo.Micros(w*rounds+n)}
					change = func() error { return f.store.SaveMemory(f.ctx, f.tenant, m) }
				}
				for _, do := range []func() error{change, func() error {
					return f.store.WriteEntries(f.ctx, f.tenant, []hippo.ShardTarget{target(shard, id)})
				}} {
					if err := retry(do); err != nil {
						errs[w] = err
						return
					}
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		f.ok(err)
	}
	times, err := f.store.MemoryTimes(f.ctx, f.tenant, ids)
	f.ok(err)
	got := f.shard(shard)
	same(f, "entries", got.Entries, times)
	if got.Rev < workers*rounds {
		f.Fatalf("Rev %d after %d writes", got.Rev, workers*rounds)
	}
}

func entriesRemoved(f *fixture) {
	shard := hippo.ShardID{Gen: f.announce(1).ID}
	for _, id := range []hippo.MemoryID{"a", "a.b", "c"} {
		f.putMemory(id, day(1))
	}
	f.write(target(shard, "a", "a.b", "c"))
	f.ok(f.store.RemoveEntries(f.ctx, f.tenant, target(shard, "a.b", "c", "nothing")))
	same(f, "shard", f.shard(shard), hippo.Shard{ID: shard, Rev: 2, Entries: entries{"a": day(1)}})
	f.ok(f.store.RemoveEntries(f.ctx, f.tenant, target(shard, "a.b")))
	same(f, "shard after removing it again", f.shard(shard), hippo.Shard{ID: shard, Rev: 3, Entries: entries{"a": day(1)}})
}

func entriesRemovedFromNothing(f *fixture) {
	shard := hippo.ShardID{Gen: f.announce(1).ID, N: 7}
	f.lacksShard(f.store.RemoveEntries(f.ctx, f.tenant, target(shard, "a")))
	if f.document(f.indexPath(shard.String())) != nil {
		f.Fatal("the shard was created")
	}
}
