package indexhook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/indexhook"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
)

// hooked is a hook on a fixture, and the log it writes.
type hooked struct {
	*fixture.Fixture
	hook *indexhook.Hook
	log  *bytes.Buffer
}

func newHook(f *fixture.Fixture) *hooked {
	h := &hooked{Fixture: f, log: &bytes.Buffer{}}
	r := reconcile.New(f.Fault, f.Layout.Naming, f.Asked)
	h.hook = indexhook.New(f.Layout, "(default)", r.Reconcile, slog.New(slog.NewTextHandler(io.MultiWriter(h.log, os.Stderr), nil)))
	return h
}

// payload is the event of a change of the document at a path.
func (h *hooked) payload(path string) []byte {
	h.Helper()
	data, err := docevent.Change{Project: "p", Database: "(default)", Path: path}.Encode()
	h.Must(err)
	return data
}

func (h *hooked) memoryPath(name string) string {
	return hippo.Fill(h.Layout.Paths.Memory, string(fixture.Tenant), string(h.ID(name)))
}

// deliver hands over an event of a memory and demands that it is acknowledged.
func (h *hooked) deliver(name string) { h.handle(h.payload(h.memoryPath(name))) }

func (h *hooked) handle(payload []byte) {
	h.Helper()
	if err := h.hook.Handle(h.Context(), "e", payload); err != nil {
		h.Error(err)
	}
}

// arrive hands over an event and returns when it is in a batch.
func (h *hooked) arrive(payload []byte, acknowledged *sync.WaitGroup) {
	in := make(chan struct{})
	ctx := waiting{h.Context(), sync.OnceFunc(func() { close(in) })}
	acknowledged.Go(func() {
		if err := h.hook.Handle(ctx, "e", payload); err != nil {
			h.Error(err)
		}
		ctx.begun()
	})
	<-in
}

// waiting is a context that tells when somebody begins to wait for its end, which
// the hook does once the event is in a batch.
type waiting struct {
	context.Context
	begun func()
}

func (w waiting) Done() <-chan struct{} {
	w.begun()
	return w.Context.Done()
}

// together hands over events while another memory's batch is being written, so that
// they share the next one, and counts the writes that they took.
func (h *hooked) together(events ...[]byte) int {
	writing, release := make(chan struct{}), make(chan struct{})
	var writes atomic.Int32
	h.Fault.Before = func(_ context.Context, method string) error {
		if method == "WriteEntries" && writes.Add(1) == 1 {
			close(writing)
			<-release
		}
		return nil
	}
	var all sync.WaitGroup
	h.arrive(h.payload(h.memoryPath("pages/other")), &all)
	<-writing
	for _, event := range events {
		h.arrive(event, &all)
	}
	close(release)
	all.Wait()
	h.Fault.Before = nil
	return int(writes.Load()) - 1
}

// write saves a memory and returns the event that says so.
func (h *hooked) write(name string) []byte {
	h.Helper()
	id := h.SaveMemories(name)[0]
	times, err := h.Direct.MemoryTimes(h.Context(), fixture.Tenant, []hippo.MemoryID{id})
	h.Must(err)
	return h.event(name, times[id].Time(), false)
}

// remove deletes a memory and returns the event that says so, which knows when the
// memory was last written and not when it was deleted.
func (h *hooked) remove(name string, written time.Time) []byte {
	h.Helper()
	h.DeleteMemories(name)
	return h.event(name, written, true)
}

func (h *hooked) event(name string, at time.Time, deleted bool) []byte {
	h.Helper()
	data, err := docevent.Change{Project: "p", Database: "(default)", Path: h.memoryPath(name), UpdatedAt: at, Deleted: deleted}.Encode()
	h.Must(err)
	return data
}

func TestVersionsOfOneMemoryDelivered51324(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		var versions [][]byte
		for range 5 {
			versions = append(versions, h.write("pages/a"))
		}
		for _, version := range []int{5, 1, 3, 2, 4} {
			h.handle(versions[version-1])
			f.WantEqual(gen)
		}
	})
}

func TestOneEventSevenTimesAtOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		event := h.write("pages/a")
		if n := h.together(slices.Repeat([][]byte{event}, 7)...); n != 1 {
			t.Errorf("%d writes, want one for all", n)
		}
		f.WantEqual(gen)
	})
}

func TestEventThatArrivesWhileABatchWithTheSameIdIsCommitting(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		f.SaveMemories("pages/a")
		committed, release := make(chan struct{}), make(chan struct{})
		var writes atomic.Int32
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "WriteEntries" && writes.Add(1) == 1 {
				close(committed)
				<-release
			}
			return nil
		}
		var wg sync.WaitGroup
		wg.Go(func() { h.deliver("pages/a") })
		<-committed // the batch has read and written the first version
		f.SaveMemories("pages/a")
		h.arrive(h.payload(h.memoryPath("pages/a")), &wg)
		close(release)
		wg.Wait()
		f.WantEqual(gen)
	})
}

func TestOneBadIdAmongFiftyGoodOnesInOneCommit(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		gen := f.EmptyIndex()
		names := fixture.Names(50)
		ids := append(f.SaveMemories(names...), "__x__")
		// No check stands before the store here, so that one id fails the commit of
		// all that are with it.
		c := indexhook.NewCoalescer(func(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error {
			return f.Direct.WriteEntries(ctx, tenant, gen.Place(ids))
		})
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() {
				if err := c.Add(t.Context(), fixture.Tenant, id); (id == "__x__") != hippo.IsKind(err, hippo.Invalid) {
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		wg.Wait()
		f.WantEqual(gen)
	})
}

func TestDeleteBeforeItsWrite(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		h.handle(h.write("pages/a"))
		written := h.write("pages/a")
		for _, event := range [][]byte{h.remove("pages/a", time.Now()), written} {
			h.handle(event)
			f.WantEqual(gen)
		}
	})
}

func TestDeleteAndRecreateWithinOneBatch(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		h.handle(h.write("pages/a"))
		deleted, written := h.remove("pages/a", time.Now()), h.write("pages/a")
		for _, events := range [][][]byte{{deleted, written}, {written, deleted}} {
			if n := h.together(events...); n != 1 {
				t.Errorf("%d writes, want one for both", n)
			}
			f.WantEqual(gen)
		}
	})
}

func TestLagIsOfWritesAlone(t *testing.T) {
	h := newHook(fixture.Embedded(t))
	h.EmptyIndex()
	for name, event := range map[string]struct {
		payload []byte
		lag     bool
	}{
		"a write":                   {h.write("pages/a"), true},
		"a deletion":                {h.remove("pages/b", time.Now().AddDate(-1, 0, 0)), false},
		"an event without any time": {h.event("pages/a", time.Time{}, false), false},
	} {
		h.log.Reset()
		h.handle(event.payload)
		if line := h.log.String(); !strings.Contains(line, "msg=indexed") || strings.Contains(line, "lag_milliseconds=") != event.lag {
			t.Errorf("%s is logged as %s", name, line)
		}
	}
}

func TestShuffledAndDoubledEventsOfManyWritersConverge(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		names := fixture.Names(40)
		var events []string
		for range 5 {
			for _, name := range names {
				if rand.IntN(3) == 0 {
					f.DeleteMemories(name)
				} else {
					f.SaveMemories(name)
				}
				events = append(events, name, name)
			}
		}
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		var wg sync.WaitGroup
		for _, name := range events {
			wg.Go(func() { h.deliver(name) })
		}
		wg.Wait()
		f.WantEqual(gen)
	})
}

func TestEventsThatCanNeverBeIndexedAreLoggedAndAcknowledged(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		f.SaveMemories("pages/a")
		h.deliver("pages/a")
		tenant := string(fixture.Tenant)
		other, err := docevent.Change{Project: "p", Database: "other", Path: h.memoryPath("pages/a")}.Encode()
		f.Must(err)
		memory := func(tenant, id string) []byte { return h.payload(hippo.Fill(f.Layout.Paths.Memory, tenant, id)) }
		for name, payload := range map[string][]byte{
			"an event without documents":              nil,
			"payload ff ff ff":                        {0xff, 0xff, 0xff},
			"a payload of another schema":             []byte(`{"message":{"data":""}}`),
			"an event from inside the index":          h.payload(hippo.Fill(f.Layout.Paths.Index, tenant, "meta")),
			"an event from a shard":                   h.payload(hippo.Fill(f.Layout.Paths.Index, tenant, gen.ShardIDs()[0].String())),
			"an event from an episode":                h.payload(hippo.Fill(f.Layout.Paths.Episode, tenant, "th", "e")),
			"an event from a memory's sub-collection": h.payload(h.memoryPath("pages/a") + "/versions/1"),
			"an event from another database":          other,
			"an id that stands for no name":           memory(tenant, "1865_v3.1"),
			"QR beside QQ":                            memory(tenant, "QR"),
			"an id of 1,500 bytes":                    memory(tenant, strings.Repeat("Q", 1500)),
			"a tenant that escapes":                   memory("a..b", "QQ"),
		} {
			t.Run(name, func(t *testing.T) {
				h.log.Reset()
				calls := 0
				f.Fault.Before = f.Count(&calls)
				if err := h.hook.Handle(t.Context(), "event-1", payload); err != nil {
					t.Errorf("%v, want it acknowledged", err)
				}
				if !strings.Contains(h.log.String(), "event-1") {
					t.Errorf("the log does not name the event: %q", h.log)
				}
				if calls > 0 {
					t.Errorf("%d calls of the store", calls)
				}
			})
		}
		f.WantEqual(gen)
	})
}

func TestNamesOfEveryShapeAreIndexed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		names := []string{
			"184.174.14.109", "notes.2026.md", "a/b", "a%2Fb", "https://a.b/c?d=1#e%2F", "?>?>", "🚲 Räder", "`", `\`, "__x__",
			strings.Repeat("n", hippo.Base64URL.MaxNameBytes()),
		}
		f.SaveMemories(names...)
		for _, name := range names {
			h.deliver(name)
		}
		f.WantEqual(gen)
	})
}

func TestDocumentIdsThatStandForNoNameAreInNoIndexAndReported(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		tooLong := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("n", 1120)))
		odd := []hippo.MemoryID{"1865_v3.1", "QR", hippo.MemoryID(strings.Repeat("Q", 1500)), hippo.MemoryID(tooLong)}
		f.SaveMemories("A") // its id is QQ
		h.deliver("A")
		for _, id := range odd {
			f.PutMemory(id, map[string]any{"name": "a name", "content": "text"})
			f.Must(h.hook.Handle(t.Context(), "e", h.payload(hippo.Fill(f.Layout.Paths.Memory, string(fixture.Tenant), string(id)))))
		}
		f.WantEqualBut(gen, hippo.Unindexable)
		if n := len(f.Findings(gen)); n != len(odd) {
			t.Errorf("%d findings, want one for each of %d ids", n, len(odd))
		}
	})
}

func TestAllTransactionAttemptsAborted(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		f.SaveMemories("pages/a")
		f.Fault.Before = f.FailAll("WriteEntries", hippo.Errorf(hippo.Unavailable, "", "all attempts aborted"))
		if err := h.hook.Handle(t.Context(), "e", h.payload(h.memoryPath("pages/a"))); !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("got %v, want unavailable, which asks for the event again", err)
		}
		f.Fault.Before = nil
		h.deliver("pages/a")
		f.WantEqual(gen)
	})
}

func TestCommitAppliedButReportedCancelledIsDoneAgain(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		f.SaveMemories("pages/a")
		f.Fault.After = f.FailOnce("WriteEntries", hippo.Errorf(hippo.Unavailable, "", "cancelled"))
		h.deliver("pages/a")
		f.WantEqual(gen)
	})
}
