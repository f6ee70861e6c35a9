package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var indexReadCases = []testCase{
	{"an index that does not exist reads as nothing", readNothing},
	{"the whole index is meta and every shard of every generation", readWhole},
	{"the index since a read is meta and the shards that changed", readSince},
	{"the index since a read tells of a new meta though no shard changed", readSinceMeta},
	{"the index since a read spans more shards than one query can name", readSinceMany},
	{"a shard or a meta that the query since a read would not find is not in the whole index", readSpoilt},
	{"the index since a read beside changes of meta is of one meta, or a conflict", readSinceBesideChanges},
}

func readNothing(f *fixture) {
	same(f, "index", f.index(), hippo.IndexRead{})
	got, err := f.store.ReadIndexSince(f.ctx, f.tenant, generation(8), make([]int64, 8))
	f.ok(err)
	same(f, "index since", got, hippo.IndexRead{})
}

func readWhole(f *fixture) {
	first := f.announce(2)
	m, err := f.store.PromoteGeneration(f.ctx, f.tenant, f.meta())
	f.ok(err)
	second := f.announce(3)
	f.putMemory("a", day(1))
	f.write(first.Place([]hippo.MemoryID{"a"})...)
	index := f.index()
	same(f, "current", index.Meta.Current, m.Current)
	same(f, "next", index.Meta.Next, second)
	same(f, "shards", len(index.Shards), 5)
	same(f, "findings of the first", hippo.ShardFindings(first, index), nil)
	same(f, "findings of the second", hippo.ShardFindings(second, index), nil)
	same(f, "the entry", index.Of(first)[first.ShardOf("a").N].Entries, entries{"a": day(1)})
	f.laterThan(index.At, index.Meta.Stamp)
	f.put(f.indexPath(schema.MetaID), schema.MetaFields(hippo.Meta{Current: first}))
	again := f.index()
	f.laterThan(again.At, index.At)
	same(f, "next after it was taken out", again.Meta.Next, hippo.Generation{})
}

func (f *fixture) laterThan(got, than time.Time) {
	f.Helper()
	if got.Before(than) {
		f.Fatalf("time of the snapshot %s, want none before %s", got, than)
	}
}

// since reads what changed since revisions were seen, shards in order.
func (f *fixture) since(gen hippo.Generation, seen []int64) hippo.IndexRead {
	f.Helper()
	index, err := f.store.ReadIndexSince(f.ctx, f.tenant, gen, seen)
	f.ok(err)
	slices.SortFunc(index.Shards, func(a, b hippo.Shard) int { return cmp.Compare(a.ID.N, b.ID.N) })
	return index
}

func readSince(f *fixture) {
	gen := f.announce(4)
	seen := make([]int64, 4)
	index := f.since(gen, seen)
	same(f, "shards while nothing changed", index.Shards, nil)
	same(f, "meta while nothing changed", index.Meta, f.meta())
	f.laterThan(index.At, index.Meta.Stamp)

	f.putMemory("a", day(1))
	one, three := hippo.ShardID{Gen: gen.ID, N: 1}, hippo.ShardID{Gen: gen.ID, N: 3}
	f.write(target(one, "a"))
	f.write(target(one, "a"), target(three, "a"))
	changed := []hippo.Shard{{ID: one, Rev: 2, Entries: entries{"a": day(1)}}, {ID: three, Rev: 1, Entries: entries{"a": day(1)}}}
	same(f, "changed shards", f.since(gen, seen).Shards, changed)
	same(f, "shards behind what was seen", f.since(gen, []int64{0, 1, 0, 1}).Shards, changed[:1])
	same(f, "shards when all was seen", f.since(gen, []int64{0, 2, 0, 1}).Shards, nil)

	f.ok(f.store.RemoveEntries(f.ctx, f.tenant, target(three, "a")))
	same(f, "shards after a removal", f.since(gen, []int64{0, 2, 0, 1}).Shards, []hippo.Shard{{ID: three, Rev: 2, Entries: entries{}}})
}

func readSinceMeta(f *fixture) {
	first := f.announce(2)
	second := f.announce(2)
	f.putMemory("a", day(1))
	f.write(second.Place([]hippo.MemoryID{"a"})...)
	index := f.since(first, make([]int64, 2))
	same(f, "next", index.Meta.Next, second)
	same(f, "shards of another generation", index.Shards, nil)
	f.drop(f.indexPath(schema.MetaID))
	index = f.since(second, make([]int64, 2))
	same(f, "meta after it was deleted by hand", index.Meta, hippo.Meta{})
	same(f, "changed shards without a meta", len(index.Shards), 1)
}

func readSinceMany(f *fixture) {
	for _, shards := range []int{29, 30, 40, 64} {
		gen := f.announce(shards)
		f.putMemory("a", day(1))
		changed := []int{0, shards / 2, shards - 1}
		seen := make([]int64, shards)
		for _, n := range changed {
			f.write(target(hippo.ShardID{Gen: gen.ID, N: n}, "a"))
		}
		index := f.since(gen, seen)
		same(f, "meta", index.Meta, f.meta())
		var got []int
		for _, s := range index.Shards {
			got = append(got, s.ID.N)
		}
		same(f, "changed of "+strconv.Itoa(shards), got, changed)
	}
}

func readSpoilt(f *fixture) {
	gen := f.announce(3)
	meta := f.document(f.indexPath(schema.MetaID))
	for n, spoil := range []func(map[string]any){
		func(d map[string]any) { d[schema.Shard] = "another" },
		func(d map[string]any) { d[schema.Rev] = "none" },
	} {
		path := f.indexPath(hippo.ShardID{Gen: gen.ID, N: n}.String())
		d := f.document(path)
		spoil(d)
		f.put(path, d)
		same(f, "shards left", len(f.index().Shards), 2-n)

		spoilt := maps.Clone(meta)
		spoil(spoilt)
		f.put(f.indexPath(schema.MetaID), spoilt)
		read := f.index().Meta
		same(f, "generations named", read.Named(), nil)
		same(f, "whether meta exists", read.Exists(), true)
		same(f, "meta alone", f.meta(), read)
		f.put(f.indexPath(schema.MetaID), meta)
	}
	f.drop(f.indexPath(schema.MetaID))
	swept, err := f.store.SweepIndex(f.ctx, f.tenant)
	f.ok(err)
	same(f, "shards swept", swept, 3)
}

func readSinceBesideChanges(f *fixture) {
	const rounds = 10
	gen := f.announce(40)
	stamps := map[int64]bool{f.meta().Stamp.UnixMicro(): true}
	var announceErr error
	var group sync.WaitGroup
	group.Go(func() {
		meta, err := f.store.Meta(f.ctx, f.tenant)
		for range rounds {
			if err == nil {
				meta, err = f.store.AnnounceGeneration(f.ctx, f.tenant, meta, generation(1))
				stamps[meta.Stamp.UnixMicro()] = true
			}
		}
		announceErr = err
	})
	reads := make([]hippo.IndexRead, rounds)
	errs := make([]error, rounds)
	for i := range rounds {
		reads[i], errs[i] = f.store.ReadIndexSince(f.ctx, f.tenant, gen, make([]int64, gen.Shards))
	}
	group.Wait()
	f.ok(announceErr)
	for i, err := range errs {
		if err != nil {
			f.fails(err, hippo.Conflict)
		} else if !stamps[reads[i].Meta.Stamp.UnixMicro()] {
			f.Fatalf("read a meta of %s, which nobody wrote", reads[i].Meta.Stamp)
		}
	}
}
