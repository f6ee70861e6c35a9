package storetest

import (
	"sync"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var passCases = []testCase{
	{"a pass files memories at the store's time and keeps other fields", passWrites},
	{"a pass deletes memories, also those that do not exist", passDeletes},
	{"a pass moves a memory and leaves word of where it went", passMoves},
	{"writing a memory ends a move away from it", passEndsMove},
	{"a pass points at what it wrote by itself, and tells what is not there", passPointers},
	{"a pass without a line files and writes no episode", passWithoutLine},
	{"a pass without a line deletes the episode of an earlier one", passTakesLineBack},
	{"what a pass wrote by itself ends a move away from it too", passWroteEndsMove},
	{"a pass does not point at what it moves away", passMovesWhatItWrote},
	{"a pass that moves on what it moves leads both to the end", passMovesOn},
	{"a pass recorded again changes nothing", passRepeated},
	{"a pass recorded again after another took its place changes nothing", passRepeatedLate},
	{"other content under the same key replaces what was filed", passReplaced},
	{"of racing passes of the same content one is recorded", passRaced},
}

var stretch = hippo.Stretch{From: at(1, "a"), To: at(2, "b")}

func passWrites(f *fixture) {
	f.put(f.memoryPath("old"), map[string]any{f.layout.Fields.MemoryName: "old", f.layout.Fields.MemoryContent: "old", f.layout.Fields.MemoryUpdatedAt: day(1).Time(), "tags": []any{"x"}})
	before := f.storeTime()
	result := f.record(hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g", Writes: []hippo.Write{
		{ID: "old", Name: "Old page", Content: "text"}, {ID: "new.`1`", Name: "New page", Content: "more"},
	}})
	same(f, "repeated", result.Repeated, false)
	for id, want := range map[hippo.MemoryID]hippo.Memory{
		"old": {ID: "old", Name: "Old page", Content: "text"}, "new.`1`": {ID: "new.`1`", Name: "New page", Content: "more"},
	} {
		got, err := f.store.Memory(f.ctx, f.tenant, id)
		f.ok(err)
		f.between(before, got.UpdatedAt, f.storeTime())
		want.UpdatedAt = got.UpdatedAt
		same(f, "memory", got, want)
	}
	same(f, "field of another writer", f.document(f.memoryPath("old"))["tags"], any([]any{"x"}))
	same(f, "receipt", f.document(f.receiptPath(stretch.To))[schema.Hash], any("h"))
}

func passDeletes(f *fixture) {
	f.putMemory("a", day(1))
	f.putMemory("b", day(1))
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Deletes: []hippo.MemoryID{"a", "nothing"}})
	same(f, "memories left", f.scan("", 0), []hippo.MemoryID{"b"})
}

func (f *fixture) moves(ids ...hippo.MemoryID) map[hippo.MemoryID]hippo.MemoryID {
	f.Helper()
	moves, err := f.store.Moves(f.ctx, f.tenant, ids)
	f.ok(err)
	return moves
}

type moveMap = map[hippo.MemoryID]hippo.MemoryID

func passMoves(f *fixture) {
	f.putMemory("a", day(1))
	f.putMemory("b", day(1))
	f.putMemory("c", day(1))
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Writes: []hippo.Write{{ID: "new", Name: "n"}}, Moves: []hippo.Move{
		{From: "a", Into: "b"}, {From: "c", Into: "new"}, {From: "gone already", Into: "b"},
	}})
	same(f, "memories left", f.scan("", 0), []hippo.MemoryID{"b", "new"})
	same(f, "moves", f.moves("a", "b", "c", "new", "gone already"), moveMap{"a": "b", "c": "new", "gone already": "b"})
}

func passEndsMove(f *fixture) {
	f.putMemory("b", day(1))
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Moves: []hippo.Move{{From: "a", Into: "b"}, {From: "c", Into: "b"}}})
	f.record(hippo.Pass{Stretch: hippo.Stretch{From: at(3, "a"), To: at(3, "a")}, Hash: "h", Writes: []hippo.Write{{ID: "a", Name: "n"}}})
	same(f, "moves", f.moves("a", "c"), moveMap{"c": "b"})
}

func passWroteEndsMove(f *fixture) {
	f.putMemory("b", day(1))
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Moves: []hippo.Move{{From: "a", Into: "b"}, {From: "c", Into: "b"}}})
	f.putMemory("a", day(2))
	f.record(hippo.Pass{Stretch: hippo.Stretch{From: at(3, "a"), To: at(3, "a")}, Hash: "h", Wrote: []hippo.MemoryID{"a", "c"}})
	same(f, "moves", f.moves("a", "c"), moveMap{"c": "b"})
}

func passMovesWhatItWrote(f *fixture) {
	f.putMemory("own", day(1))
	f.putMemory("into", day(1))
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g", Wrote: []hippo.MemoryID{"own", "into"}, Moves: []hippo.Move{{From: "own", Into: "into"}}})
	same(f, "pointers", f.episode().Pointers, []hippo.MemoryID{"into"})
	same(f, "memories left", f.scan("", 0), []hippo.MemoryID{"into"})
	same(f, "moves", f.moves("own"), moveMap{"own": "into"})
}

func passMovesOn(f *fixture) {
	f.putMemory("a", day(1))
	f.putMemory("b", day(1))
	f.putMemory("c", day(1))
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Moves: []hippo.Move{{From: "a", Into: "b"}, {From: "b", Into: "c"}}})
	same(f, "memories left", f.scan("", 0), []hippo.MemoryID{"c"})
	same(f, "moves", f.moves("a", "b"), moveMap{"a": "c", "b": "c"})
	_, err := f.store.RecordPass(f.ctx, f.tenant, f.thread, hippo.Pass{Stretch: stretch, Hash: "h2", Moves: []hippo.Move{{From: "c", Into: "d"}, {From: "d", Into: "c"}}})
	f.fails(err, hippo.Invalid)
	same(f, "memories left after a circle", f.scan("", 0), []hippo.MemoryID{"c"})
}

func passPointers(f *fixture) {
	f.putMemory("own", day(1))
	f.putMemory("taken back", day(1))
	pass := hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g",
		Writes: []hippo.Write{{ID: "new", Name: "n"}}, Deletes: []hippo.MemoryID{"taken back"},
		Wrote: []hippo.MemoryID{"nothing", "own", "new", "taken back"},
	}
	for _, repeated := range []bool{false, true} {
		result := f.record(pass)
		same(f, "repeated", result.Repeated, repeated)
		want := []hippo.MemoryID{"nothing"}
		if repeated {
			want = append(want, "taken back")
		}
		same(f, "missing", result.Missing, want)
		same(f, "pointers of the result", result.Episode.Pointers, []hippo.MemoryID{"new", "own"})
		same(f, "pointers", f.episode().Pointers, []hippo.MemoryID{"new", "own"})
	}
	_, err := f.store.Memory(f.ctx, f.tenant, "nothing")
	f.fails(err, hippo.NotFound)
}

func passWithoutLine(f *fixture) {
	result := f.record(hippo.Pass{Stretch: stretch, Hash: "h", Writes: []hippo.Write{{ID: "a", Name: "n"}}})
	if result.Episode != nil {
		f.Fatalf("the result has the episode %v", *result.Episode)
	}
	_, ok := f.first()
	same(f, "whether there is an episode", ok, false)
	same(f, "memories", f.scan("", 0), []hippo.MemoryID{"a"})
	result = f.record(hippo.Pass{Stretch: stretch, Hash: "h"})
	same(f, "repeated", result, hippo.PassResult{Repeated: true})
}

func passTakesLineBack(f *fixture) {
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g"})
	kept := line(at(3, "a"), at(3, "b"))
	f.record(kept)
	f.record(hippo.Pass{Stretch: stretch, Hash: "h2"})
	same(f, "the episode left", f.episode().Gist, kept.Gist)
	same(f, "receipt", f.document(f.receiptPath(stretch.To))[schema.Hash], any("h2"))
}

func passRepeated(f *fixture) {
	f.putMemory("from", day(1))
	pass := hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g",
		Writes: []hippo.Write{{ID: "a", Name: "n", Content: "filed"}, {ID: "b", Name: "n", Content: "filed"}},
		Moves:  []hippo.Move{{From: "from", Into: "a"}}, Deletes: []hippo.MemoryID{"gone"},
	}
	f.record(pass)
	paths := []string{f.receiptPath(stretch.To), f.episodePath(stretch.To), f.movePath("from"), f.memoryPath("a"), f.memoryPath("b"), f.memoryPath("from"), f.memoryPath("gone")}
	f.put(f.memoryPath("a"), map[string]any{f.layout.Fields.MemoryName: "n", f.layout.Fields.MemoryContent: "edited by the user"})
	f.drop(f.memoryPath("b"))
	f.putMemory("from", day(2))
	f.putMemory("gone", day(2))
	before := make([]map[string]any, len(paths))
	for i, path := range paths {
		before[i] = f.document(path)
	}
	result := f.record(pass)
	same(f, "repeated", result.Repeated, true)
	same(f, "the result's episode", *result.Episode, f.episode())
	for i, path := range paths {
		same(f, path, f.document(path), before[i])
	}
}

func passRepeatedLate(f *fixture) {
	first := hippo.Pass{Stretch: stretch, Hash: "h", Gist: "old", Writes: []hippo.Write{{ID: "a", Name: "n", Content: "old"}}}
	f.record(first)
	f.record(hippo.Pass{Stretch: stretch, Hash: "h2", Gist: "new", Writes: []hippo.Write{{ID: "a", Name: "n", Content: "new"}}})
	paths := []string{f.receiptPath(stretch.To), f.episodePath(stretch.To), f.memoryPath("a")}
	before := make([]map[string]any, len(paths))
	for i, path := range paths {
		before[i] = f.document(path)
	}
	result := f.record(first)
	same(f, "repeated", result.Repeated, true)
	same(f, "the result's episode", *result.Episode, f.episode())
	for i, path := range paths {
		same(f, path, f.document(path), before[i])
	}
}

func passReplaced(f *fixture) {
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Gist: "old", Blocked: "rule", Writes: []hippo.Write{{ID: "a", Name: "n", Content: "old"}}})
	second := hippo.Pass{Stretch: hippo.Stretch{From: at(1, "z"), To: stretch.To}, Hash: "h2", Gist: "new", Writes: []hippo.Write{{ID: "a", Name: "n", Content: "new"}, {ID: "b", Name: "n"}}}
	result := f.record(second)
	same(f, "repeated", result.Repeated, false)
	got := f.episode()
	same(f, "episode", got, hippo.Episode{Stretch: second.Stretch, Gist: "new", Pointers: []hippo.MemoryID{"a", "b"}, Handle: hippo.HandleOf(stretch.To), CreatedAt: got.CreatedAt})
	m, err := f.store.Memory(f.ctx, f.tenant, "a")
	f.ok(err)
	same(f, "content", m.Content, "new")
	same(f, "receipt", f.document(f.receiptPath(stretch.To))[schema.Hash], any("h2"))
	n, err := f.store.EpisodesBefore(f.ctx, f.tenant, f.thread, at(1, "y"), 5)
	f.ok(err)
	same(f, "episodes under the old from", n, nil)
}

func passRaced(f *fixture) {
	const callers = 6
	pass := hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g", Writes: []hippo.Write{{ID: "a", Name: "n", Content: "c"}}}
	results, errs := make([]hippo.PassResult, callers), make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			errs[i] = retry(func() (err error) {
				results[i], err = f.store.RecordPass(f.ctx, f.tenant, f.thread, pass)
				return err
			})
		})
	}
	group.Wait()
	recorded := 0
	for i, err := range errs {
		f.ok(err)
		if !results[i].Repeated {
			recorded++
		}
	}
	same(f, "passes recorded", recorded, 1)
	same(f, "pointers", f.episode().Pointers, []hippo.MemoryID{"a"})
}
