package indexhook_test

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

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
	h.hook = indexhook.New(f.Layout, "(default)", r.Reconcile, slog.New(slog.NewTextHandler(h.log, nil)))
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

// deliver hands over the event of a memory and demands that it is acknowledged.
func (h *hooked) deliver(name string) {
	h.Helper()
	h.Must(h.hook.Handle(h.Context(), "e", h.payload(h.memoryPath(name))))
}

func TestVersionsOfOneMemoryDelivered51324(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		// What the event says never counts, so that five deliveries at any time
		// end with the memory as it is.
		f.SaveMemories("pages/a", "pages/a", "pages/a")
		h.deliver("pages/a")
		f.SaveMemories("pages/a", "pages/a")
		for range 4 {
			h.deliver("pages/a")
		}
		f.WantEqual(gen)
	})
}

func TestDeleteBeforeItsWrite(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		f.SaveMemories("pages/a")
		f.DeleteMemories("pages/a")
		h.deliver("pages/a") // the delete
		h.deliver("pages/a") // the write, late
		f.WantEqual(gen)
	})
}

func TestDeleteAndRecreateWithinOneBatch(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		h := newHook(f)
		gen := f.EmptyIndex()
		f.SaveMemories("pages/a")
		h.deliver("pages/a")
		f.DeleteMemories("pages/a")
		f.SaveMemories("pages/a")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { h.deliver("pages/a") })
		}
		wg.Wait()
		f.WantEqual(gen)
	})
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
	f := fixture.Embedded(t)
	h := newHook(f)
	gen := f.EmptyIndex()
	other, err := docevent.Change{Project: "p", Database: "other", Path: h.memoryPath("pages/a")}.Encode()
	f.Must(err)
	nothing, err := docevent.Encode(nil, nil)
	f.Must(err)
	for name, payload := range map[string][]byte{
		"no documents":                  nothing,
		"ff ff ff":                      {0xff, 0xff, 0xff},
		"another schema":                []byte(`{"message":{"data":""}}`),
		"from inside the index":         h.payload("tenants/t/memory_index/meta"),
		"from an episode":               h.payload("tenants/t/threads/th/episodes/e"),
		"a sub-collection of a memory":  h.payload(h.memoryPath("pages/a") + "/versions/1"),
		"another database":              other,
		"an id that stands for no name": h.payload("tenants/t/memories/1865_v3.1"),
		"QR beside QQ":                  h.payload("tenants/t/memories/QR"),
		"an id of 1,500 bytes":          h.payload("tenants/t/memories/" + strings.Repeat("Q", 1500)),
		"a tenant that escapes":         h.payload("tenants/a..b/memories/QQ"),
	} {
		h.log.Reset()
		if err := h.hook.Handle(t.Context(), "event-1", payload); err != nil {
			t.Errorf("%s: %v, want it acknowledged", name, err)
		}
		if !strings.Contains(h.log.String(), "event-1") {
			t.Errorf("%s: the log does not name the event: %q", name, h.log)
		}
	}
	f.WantEqual(gen)
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

func TestPassingFailureAsksForTheEventAgain(t *testing.T) {
	f := fixture.Embedded(t)
	h := newHook(f)
	gen := f.EmptyIndex()
	f.SaveMemories("pages/a")
	f.Fault.Before = f.FailAll("WriteEntries", hippo.Errorf(hippo.Unavailable, "", "all attempts aborted"))
	if err := h.hook.Handle(t.Context(), "e", h.payload(h.memoryPath("pages/a"))); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	f.Fault.Before = nil
	h.deliver("pages/a")
	f.WantEqual(gen)
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
