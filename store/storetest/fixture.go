package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hippofire/hippofire/hippo"
)

// fixture is what a case works on: a store, a way around it, and a tenant that
// no other case knows.
type fixture struct {
	*testing.T
	ctx    context.Context
	h      Harness
	store  hippo.Store
	layout hippo.Layout
	tenant hippo.TenantID
	thread hippo.ThreadID
}

func newFixture(t *testing.T, h Harness, store hippo.Store, layout hippo.Layout) *fixture {
	return &fixture{
		T: t, ctx: t.Context(), h: h, store: store, layout: layout,
		tenant: hippo.TenantID("t" + strings.ToLower(rand.Text())[:12]), thread: "thread",
	}
}

// other is the same store, and another tenant.
func (f *fixture) other() *fixture {
	g := newFixture(f.T, f.h, f.store, f.layout)
	return g
}

func (f *fixture) memoryPath(id hippo.MemoryID) string {
	return hippo.Fill(f.layout.Paths.Memory, string(f.tenant), string(id))
}

func (f *fixture) movePath(id hippo.MemoryID) string {
	return hippo.Fill(f.layout.Paths.Move, string(f.tenant), string(id))
}

func (f *fixture) indexPath(id string) string {
	return hippo.Fill(f.layout.Paths.Index, string(f.tenant), id)
}

func (f *fixture) messagePath(id hippo.MessageID) string {
	return hippo.Fill(f.layout.Paths.Message, string(f.tenant), string(f.thread), string(id))
}

func (f *fixture) episodePath(to hippo.Position) string {
	return hippo.Fill(f.layout.Paths.Episode, string(f.tenant), string(f.thread), to.String())
}

func (f *fixture) receiptPath(to hippo.Position) string {
	return hippo.Fill(f.layout.Paths.Pass, string(f.tenant), string(f.thread), to.String())
}

// ok ends the case on an error.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

// fails demands an error of a kind.
func (f *fixture) fails(err error, kind hippo.ErrorKind) {
	f.Helper()
	if !hippo.IsKind(err, kind) {
		f.Fatalf("error %v, want one of kind %q", err, kind)
	}
}

// lacksShard demands the error of a write into a shard that does not exist.
func (f *fixture) lacksShard(err error) {
	f.Helper()
	f.fails(err, hippo.NotFound)
	if !errors.Is(err, hippo.ErrShardMissing) {
		f.Fatalf("error %v does not wrap ErrShardMissing", err)
	}
}

// same compares values; an empty list and none are the same.
func same[T any](f *fixture, what string, got, want T) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (f *fixture) put(path string, fields map[string]any) {
	f.Helper()
	f.ok(f.h.PutDocument(f.ctx, path, fields))
}

func (f *fixture) drop(path string) {
	f.Helper()
	f.ok(f.h.DeleteDocument(f.ctx, path))
}

// document reads a document around the store; nil where it does not exist.
func (f *fixture) document(path string) map[string]any {
	f.Helper()
	fields, ok, err := f.h.Document(f.ctx, path)
	f.ok(err)
	if !ok {
		return nil
	}
	return fields
}

// putMemory writes a memory as another writer would, with its own updated_at.
func (f *fixture) putMemory(id hippo.MemoryID, at hippo.Micros) {
	f.Helper()
	f.put(f.memoryPath(id), map[string]any{f.layout.Fields.MemoryName: "name of " + string(id), f.layout.Fields.MemoryContent: "content", f.layout.Fields.MemoryUpdatedAt: at.Time()})
}

// storeTime is a moment of the store's clock: the time of a write made now.
func (f *fixture) storeTime() hippo.Micros {
	f.Helper()
	const id = "the-clock"
	f.put(f.memoryPath(id), map[string]any{"tick": rand.Text()})
	times, err := f.store.MemoryTimes(f.ctx, f.tenant, []hippo.MemoryID{id})
	f.ok(err)
	f.drop(f.memoryPath(id))
	return times[id]
}

// clockSlack is by how much a time that a server sets on a field may differ from
// the update times that it gives to documents.
const clockSlack = hippo.Micros(time.Second / time.Microsecond)

// between demands a time that the store set after one moment and before another.
func (f *fixture) between(before, got, after hippo.Micros) {
	f.Helper()
	if got < before-clockSlack || got > after+clockSlack {
		f.Fatalf("time %s, want one from %s to %s", got, before, after)
	}
}

// day is a time of the cases' calendar.
func day(n int) hippo.Micros {
	return hippo.MicrosOf(time.Date(2026, 3, n, 9, 30, 0, 0, time.UTC))
}

// retry does again what contention refused, a bounded number of times.
func retry(do func() error) error {
	var err error
	for range 50 {
		err = do()
		if !hippo.IsKind(err, hippo.Unavailable) && !hippo.IsKind(err, hippo.Internal) {
			break
		}
	}
	return err
}
