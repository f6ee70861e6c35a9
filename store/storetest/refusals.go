package storetest

import (
	"github.com/hippofire/hippofire/hippo"
)

var passRefusalCases = []testCase{
	{"a memory that changed since the pass read it refuses the whole pass", passConflict},
	{"a memory that did not change since the pass read it is written", passNoConflict},
	{"a move that leads to nothing refuses the whole pass", passMoveToNothing},
}

// refused records a pass that fails, and demands that nothing of it was written.
func (f *fixture) refused(pass hippo.Pass, kind hippo.ErrorKind) {
	f.Helper()
	paths := []string{f.receiptPath(pass.To), f.episodePath(pass.To)}
	for _, id := range pass.Touched() {
		paths = append(paths, f.memoryPath(id), f.movePath(id))
	}
	before := make([]map[string]any, len(paths))
	for i, path := range paths {
		before[i] = f.document(path)
	}
	_, err := f.store.RecordPass(f.ctx, f.tenant, f.thread, pass)
	f.fails(err, kind)
	for i, path := range paths {
		same(f, path+" after a refused pass", f.document(path), before[i])
	}
}

func passConflict(f *fixture) {
	f.putMemory("a", day(2))
	f.putMemory("gone", day(2))
	f.put(f.memoryPath("untimed"), map[string]any{f.layout.Fields.MemoryName: "n"})
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Gist: "earlier", Writes: []hippo.Write{{ID: "b", Name: "n"}}})
	for _, w := range []hippo.Write{
		{ID: "a", Name: "n", Content: "new", IfUpdatedAt: new(day(1))},
		{ID: "a", Name: "n", Content: "new", IfUpdatedAt: new(day(2) + 1)},
		{ID: "nothing", Name: "n", Content: "new", IfUpdatedAt: new(day(2))},
		{ID: "untimed", Name: "n", Content: "new", IfUpdatedAt: new(day(2))},
	} {
		f.refused(hippo.Pass{Stretch: stretch, Hash: "h2", Gist: "new", Writes: []hippo.Write{{ID: "b", Name: "n", Content: "x"}, w},
			Deletes: []hippo.MemoryID{"gone"}, Moves: []hippo.Move{{From: "gone", Into: "a"}}}, hippo.Conflict)
	}
}

func passNoConflict(f *fixture) {
	f.putMemory("a", day(2))
	f.put(f.memoryPath("untimed"), map[string]any{f.layout.Fields.MemoryName: "n"})
	times, err := f.store.MemoryTimes(f.ctx, f.tenant, []hippo.MemoryID{"untimed"})
	f.ok(err)
	f.record(hippo.Pass{Stretch: stretch, Hash: "h", Writes: []hippo.Write{
		{ID: "a", Name: "n", Content: "new", IfUpdatedAt: new(day(2))},
		{ID: "untimed", Name: "n", Content: "new", IfUpdatedAt: new(times["untimed"])},
	}})
	for _, id := range []hippo.MemoryID{"a", "untimed"} {
		m, err := f.store.Memory(f.ctx, f.tenant, id)
		f.ok(err)
		same(f, "content", m.Content, "new")
	}
}

func passMoveToNothing(f *fixture) {
	f.putMemory("a", day(1))
	f.refused(hippo.Pass{Stretch: stretch, Hash: "h", Gist: "g", Writes: []hippo.Write{{ID: "b", Name: "n"}}, Moves: []hippo.Move{{From: "a", Into: "nothing"}}}, hippo.NotFound)
}
