// Package indexhook keeps the index equal to the memories as they change. It is
// told by the document trigger that a memory was written, and looks for itself
// what the memory is now, so that order, doubling and delay of events cannot
// matter.
package indexhook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
)

// Hook takes the trigger's events.
type Hook struct {
	layout    hippo.Layout
	database  string
	coalescer *Coalescer
	log       *slog.Logger
}

// New makes a Hook for the memories of one database; reconcile makes entries
// equal to their memories.
func New(layout hippo.Layout, database string, reconcile Reconcile, log *slog.Logger) *Hook {
	return &Hook{layout: layout, database: database, coalescer: NewCoalescer(reconcile), log: log}
}

// Handle takes one event: its id, for the log, and its payload. It returns nil
// when the index holds what the event was about, when there is no index and one
// was asked for, which will hold it, or when no delivery of this event ever could
// change it; that is logged. Any error asks for the event to be delivered again.
func (h *Hook) Handle(ctx context.Context, eventID string, payload []byte) error {
	tenant, id, at, err := h.target(payload)
	if err == nil {
		err = h.coalescer.Add(ctx, tenant, id)
	}
	switch {
	case err == nil:
		fields := []any{"event", eventID, "tenant", tenant}
		if !at.IsZero() {
			fields = append(fields, "lag_milliseconds", time.Since(at).Milliseconds())
		}
		h.log.InfoContext(ctx, "indexed", fields...)
	case !hippo.ErrorKindOf(err).Retry():
		h.log.WarnContext(ctx, "event dropped: it can never be indexed", "event", eventID, "tenant", tenant, "error", err)
		return nil
	}
	return err
}

// target reads which memory an event is about, and when it changed: zero where the
// event does not say, as that of a deletion does not. Its errors are of kind
// Invalid.
func (h *Hook) target(payload []byte) (tenant hippo.TenantID, id hippo.MemoryID, at time.Time, err error) {
	change, err := docevent.Decode(payload)
	switch {
	case errors.Is(err, docevent.ErrNoDocument):
		return "", "", at, hippo.Wrap(hippo.Invalid, err, "nothing to index")
	case err != nil:
		return "", "", at, err
	case change.Database != h.database:
		return "", "", at, hippo.Errorf(hippo.Invalid, "", "the document lies in the database %q; this hook serves %q", change.Database, h.database)
	}
	var ok bool
	tenant, id, ok = h.layout.Paths.MatchMemory(change.Path)
	switch {
	case !ok:
		return "", "", at, hippo.Errorf(hippo.Invalid, "", "the document is no memory: its path is not of the form %s", h.layout.Paths.Memory)
	case !h.layout.Naming.Listable(id):
		return tenant, id, at, hippo.Errorf(hippo.Invalid, "", "the memory's id stands for no name, so that no list can show it")
	}
	if !change.Deleted {
		at = change.UpdatedAt
	}
	return tenant, id, at, nil
}
