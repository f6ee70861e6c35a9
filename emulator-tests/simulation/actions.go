package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// nobody is an asker and its topic to whom nothing is said.
type nobody struct{}

func (nobody) Ask(context.Context, hippo.TenantID, repairmsg.Cause) error { return nil }

// Save creates or updates a memory; a zero time is the store's.
func (w *World) Save(name string, at hippo.Micros) error {
	id, err := w.layout.Naming.ID(name)
	if err != nil {
		return err
	}
	return w.store.SaveMemory(context.Background(), tenant, hippo.Memory{ID: id, Name: name, Content: "about " + name, UpdatedAt: at})
}

// Delete deletes a memory.
func (w *World) Delete(name string) error {
	id, err := w.layout.Naming.ID(name)
	if err != nil {
		return err
	}
	return w.store.DeleteMemory(context.Background(), tenant, id)
}

// PutForeign writes a memory's document as another program might: under an id
// that stands for no name, or with an updated_at that is no time.
func (w *World) PutForeign(id hippo.MemoryID, fields map[string]any) error {
	return w.store.PutDocument(context.Background(), hippo.Fill(w.layout.Paths.Memory, string(tenant), string(id)), fields)
}

// DeleteIndexDocument deletes the n-th document of the index by hand, where there
// are so many; meta is the last one.
func (w *World) DeleteIndexDocument(n int) error {
	ids, err := w.indexDocuments()
	if err != nil || len(ids) == 0 {
		return err
	}
	id := ids[n%len(ids)]
	w.Stats.Deleted++
	w.note("deleted by hand: %s", id)
	if id == "meta" {
		w.version = 0
	}
	return w.store.DeleteDocument(context.Background(), hippo.Fill(w.layout.Paths.Index, string(tenant), id))
}

func (w *World) indexDocuments() ([]string, error) {
	index, err := w.store.ReadIndex(context.Background(), tenant)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, gen := range index.Meta.Named() {
		for _, s := range index.Of(gen) {
			if s != nil {
				ids = append(ids, s.ID.String())
			}
		}
	}
	if index.Meta.Exists() {
		ids = append(ids, "meta")
	}
	return ids, nil
}

// Send puts a message on the topic from outside.
func (w *World) Send(m repairmsg.Message) {
	w.fresh = append(w.fresh, &delivery{key: fmt.Sprintf("message from outside %s", m.Cause), message: &m})
	w.settle()
}

// Drop loses the i-th waiting delivery if it is an event; messages of the topic
// are kept until somebody acknowledges them.
func (w *World) Drop(i int) {
	if w.waiting[i].change != nil {
		w.take(i)
		w.Stats.Dropped++
	}
}

// Double makes the i-th waiting delivery come once more.
func (w *World) Double(i int) {
	w.waiting = append(w.waiting, w.waiting[i])
	w.Stats.Doubled++
}

// Deliver hands the i-th waiting delivery to a process.
func (w *World) Deliver(i, process int) { w.deliver(w.take(i), w.processes[process]) }

// BeginTurn begins a turn in a process and leaves its calls to Let.
func (w *World) BeginTurn(process int) {
	w.Stats.Turns++
	p := w.processes[process]
	w.task(func(ctx context.Context) {
		// Its list is right or behind; there is nothing to compare it with while
		// changes are in flight.
		_, _, _ = p.index.Known(withTask(ctx, p.name+" turn"), tenant)
	})
}

var _ turnreader.Asker = nobody{}

// Fault is what can happen to a call.
type Fault int

// The faults: the call is refused, or made and then reported as failed; in the
// words in which the store reports what may pass.
const (
	NoFault Fault = iota
	RefusedUnavailable
	RefusedInternal
	AppliedUnavailable
	AppliedInternal
)

var faults = map[Fault]struct {
	name string
	fate fate
}{
	RefusedUnavailable: {"refused, unavailable", fate{before: hippo.Errorf(hippo.Unavailable, "", "injected")}},
	RefusedInternal:    {"refused, internal", fate{before: hippo.Errorf(hippo.Internal, "", "injected")}},
	AppliedUnavailable: {"applied, unavailable", fate{after: hippo.Errorf(hippo.Unavailable, "", "injected")}},
	AppliedInternal:    {"applied, internal", fate{after: hippo.Errorf(hippo.Internal, "", "injected")}},
}

// Let lets the i-th waiting call through, with a fault.
func (w *World) Let(i int, f Fault) {
	if f != NoFault {
		w.Stats.Faults[faults[f].name]++
	}
	w.let(i, faults[f].fate)
}

// Wait lets time go by.
func (w *World) Wait(d time.Duration) {
	time.Sleep(d)
	w.settle()
}
