// Package episodewriter records what a memory pass filed: the memories
// themselves, and one line about the stretch of conversation they came from,
// which points at them.
package episodewriter

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/textscan"
)

// Reconcile makes the entries of the named memories equal to what the store
// holds.
type Reconcile func(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error

// Writer records memory passes.
type Writer struct {
	store     hippo.ThreadStore
	naming    hippo.Naming
	trusted   []string
	reconcile Reconcile
	log       *slog.Logger
}

// DefaultTrusted are the speakers whose stretches are recorded unless
// configuration says otherwise.
func DefaultTrusted() []string { return []string{string(hippo.User), string(hippo.Assistant)} }

// New makes a Writer. trusted names the speakers whose stretches are recorded;
// a nil reconcile leaves the index to the document trigger.
func New(store hippo.ThreadStore, naming hippo.Naming, trusted []string, reconcile Reconcile, log *slog.Logger) *Writer {
	return &Writer{store: store, naming: naming, trusted: trusted, reconcile: reconcile, log: log}
}

// Response says what was recorded.
type Response struct {
	// Written says that the stretch is recorded, now or by an earlier call.
	Written bool `json:"written"`
	// Reason says why not.
	Reason string `json:"reason,omitempty"`
	// Repeated says that an earlier call recorded the very same.
	Repeated bool `json:"repeated,omitempty"`
	// Handle opens the stretch; empty where it has no line.
	Handle string `json:"handle,omitempty"`
	// Episode is the line as it will be shown.
	Episode string `json:"episode,omitempty"`
	// Blocked is the rule of the scan that keeps the line from being shown.
	Blocked string `json:"blocked,omitempty"`
	// Missing names what the pass claims to have written but is not there.
	Missing []string `json:"missing,omitempty"`
	// Withheld are the names that the scan refuses. The memories are filed all the
	// same, but no list and no line will show such a name.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Indexed says that the list already shows what was filed.
	Indexed bool `json:"indexed"`
}

// Withheld is a field of the request with a name that will not be shown.
type Withheld struct {
	Field string `json:"field"`
	// Rule is the rule of the scan that the name hits.
	Rule string `json:"rule"`
}

// Record records a pass. Doing it again with the same content changes nothing.
// Its errors are of kind Invalid or TooLarge, naming the field; NotFound, where a
// message or the end of a move is unknown; Conflict, where a memory changed since
// the pass read it; Unavailable.
func (w *Writer) Record(ctx context.Context, req Request) (Response, error) {
	pass, err := w.pass(req)
	if err != nil {
		return Response{}, err
	}
	if !slices.Contains(w.trusted, cmp.Or(req.Speaker, string(hippo.User))) {
		return Response{Reason: "the speaker is not one of those whose stretches are recorded: " + strings.Join(w.trusted, ", ")}, nil
	}
	if pass.Stretch, err = w.stretch(ctx, req); err != nil {
		return Response{}, err
	}
	result, err := w.store.RecordPass(ctx, req.Tenant, req.Thread, pass)
	if err != nil {
		return Response{}, err
	}
	resp := Response{Written: true, Repeated: result.Repeated, Withheld: withheld(req)}
	if e := result.Episode; e != nil {
		resp.Handle, resp.Blocked = e.Handle, e.Blocked
		if e.Blocked == "" {
			resp.Episode = e.Gist
		}
	}
	for _, id := range result.Missing {
		name, _ := w.naming.Name(id)
		resp.Missing = append(resp.Missing, name)
	}
	if resp.Blocked != "" || len(resp.Withheld) > 0 {
		w.log.WarnContext(ctx, "the scan refuses what a pass filed", "tenant", req.Tenant, "thread", req.Thread, "line", resp.Blocked, "names", resp.Withheld)
	}
	resp.Indexed = w.index(ctx, req.Tenant, pass.Touched())
	return resp, nil
}

// withheld lists the names that memories will have once the pass is recorded,
// and that the scan refuses.
func withheld(req Request) []Withheld {
	var refused []Withheld
	scan := func(field, name string) {
		if rule, hit := textscan.Scan(name); hit {
			refused = append(refused, Withheld{Field: field, Rule: rule})
		}
	}
	for i, write := range req.Writes {
		scan(fmt.Sprintf("writes[%d].name", i), write.Name)
	}
	for i, name := range req.Wrote {
		scan(fmt.Sprintf("wrote[%d]", i), name)
	}
	for i, move := range req.Moves {
		scan(fmt.Sprintf("moves[%d].into", i), move.Into)
	}
	return refused
}

// index brings the list up to date. The pass is recorded whatever comes of it,
// and the document trigger does the same a little later.
func (w *Writer) index(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) bool {
	if w.reconcile == nil {
		return false
	}
	if err := w.reconcile(ctx, tenant, ids); err != nil {
		w.log.WarnContext(ctx, "recorded but not indexed yet", "tenant", tenant, "memories", len(ids), "error", err)
		return false
	}
	return true
}

// stretch finds the stretch that the request names.
func (w *Writer) stretch(ctx context.Context, req Request) (hippo.Stretch, error) {
	at, err := w.store.Positions(ctx, req.Tenant, req.Thread, []hippo.MessageID{req.From, req.To})
	if err != nil {
		return hippo.Stretch{}, err
	}
	from, okFrom := at[req.From]
	to, okTo := at[req.To]
	switch {
	case !okFrom:
		return hippo.Stretch{}, hippo.Errorf(hippo.NotFound, "from", "the thread has no message %q", req.From)
	case !okTo:
		return hippo.Stretch{}, hippo.Errorf(hippo.NotFound, "to", "the thread has no message %q", req.To)
	case to.Before(from):
		return hippo.Stretch{}, hippo.Errorf(hippo.Invalid, "to", "message %q comes before %q, where the stretch begins", req.To, req.From)
	}
	return hippo.Stretch{From: from, To: to}, nil
}
