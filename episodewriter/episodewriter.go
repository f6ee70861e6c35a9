// Package episodewriter records what a memory pass filed: the memories
// themselves, and one line about the stretch of conversation they came from,
// which points at them.
package episodewriter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
)

// The form of a gist.
const (
	MaxGistWords      = 25
	MaxGistCharacters = 220
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

// Request is what a memory pass sends. Memories are named, not identified.
type Request struct {
	Tenant hippo.TenantID  `json:"tenant"`
	Thread hippo.ThreadID  `json:"thread"`
	From   hippo.MessageID `json:"from"`
	To     hippo.MessageID `json:"to"`
	// Speaker is who the stretch is from; the user where it is empty.
	Speaker string `json:"speaker,omitempty"`
	// Episode is the pass's line; empty where there is nothing to show.
	Episode string   `json:"episode"`
	Writes  []Write  `json:"writes,omitempty"`
	Deletes []string `json:"deletes,omitempty"`
	Moves   []Move   `json:"moves,omitempty"`
	Wrote   []string `json:"wrote,omitempty"`
}

// Write is a memory that the pass files.
type Write struct {
	Name    string `json:"name"`
	Content string `json:"content"`
	// IfUpdatedAt, where given, is the memory's updated_at as the pass read it,
	// in RFC 3339; the pass is refused where the memory has another by now.
	IfUpdatedAt string `json:"if_updated_at,omitempty"`
}

// Move says that a memory was renamed or merged into another.
type Move struct {
	From string `json:"from"`
	Into string `json:"into"`
}

// Response says what was recorded.
type Response struct {
	// Written says that the stretch is recorded, now or by an earlier call.
	Written bool `json:"written"`
	// Reason says why not.
	Reason string `json:"reason,omitempty"`
	// Repeated says that an earlier call recorded the very same.
	Repeated bool `json:"repeated,omitempty"`
	// Handle opens the stretch; empty where no line was written.
	Handle string `json:"handle,omitempty"`
	// Episode is the line as it is kept.
	Episode string `json:"episode,omitempty"`
	// Missing names what the pass claims to have written but is not there.
	Missing []string `json:"missing,omitempty"`
	// Indexed says that the list already shows what was filed.
	Indexed bool `json:"indexed"`
}

// Record records a pass. Doing it again with the same content changes nothing.
// Its errors are of kind Invalid or TooLarge, naming the field; NotFound, where a
// message or the end of a move is unknown; Conflict, where a memory changed since
// the pass read it; Unavailable.
func (w *Writer) Record(ctx context.Context, req Request) (Response, error) {
	speaker := req.Speaker
	if speaker == "" {
		speaker = string(hippo.User)
	}
	if !slices.Contains(w.trusted, speaker) {
		return Response{Reason: fmt.Sprintf("%q is not a trusted speaker", prompttext.Cut(speaker, 5, 60))}, nil
	}
	pass, err := w.pass(req)
	if err != nil {
		return Response{}, err
	}
	if pass.Stretch, err = w.stretch(ctx, req); err != nil {
		return Response{}, err
	}
	result, err := w.store.RecordPass(ctx, req.Tenant, req.Thread, pass)
	if err != nil {
		return Response{}, err
	}
	resp := Response{Written: true, Repeated: result.Repeated, Episode: pass.Gist}
	if pass.Gist != "" {
		resp.Handle = hippo.HandleOf(pass.To)
	}
	for _, id := range result.Missing {
		name, _ := w.naming.Name(id)
		resp.Missing = append(resp.Missing, name)
	}
	resp.Indexed = w.index(ctx, req.Tenant, pass.Touched())
	return resp, nil
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

// pass checks the request and turns its names into ids.
func (w *Writer) pass(req Request) (hippo.Pass, error) {
	if err := checkIDs(req); err != nil {
		return hippo.Pass{}, err
	}
	if !utf8.ValidString(req.Episode) {
		return hippo.Pass{}, hippo.Errorf(hippo.Invalid, "episode", "is not valid UTF-8")
	}
	pass := hippo.Pass{Hash: hash(req), Gist: prompttext.Cut(req.Episode, MaxGistWords, MaxGistCharacters)}
	n := namer{naming: w.naming, used: map[hippo.MemoryID]string{}}
	for i, write := range req.Writes {
		field := fmt.Sprintf("writes[%d]", i)
		n.checkContent(field, write)
		pass.Writes = append(pass.Writes, hippo.Write{
			ID: n.once(field+".name", write.Name), Name: write.Name, Content: write.Content,
			IfUpdatedAt: n.time(field+".if_updated_at", write.IfUpdatedAt),
		})
	}
	for i, name := range req.Deletes {
		pass.Deletes = append(pass.Deletes, n.once(fmt.Sprintf("deletes[%d]", i), name))
	}
	for i, move := range req.Moves {
		field := fmt.Sprintf("moves[%d]", i)
		m := hippo.Move{From: n.once(field+".from", move.From), Into: n.id(field+".into", move.Into)}
		if n.err == nil && m.From == m.Into {
			n.err = hippo.Errorf(hippo.Invalid, field+".into", "is the memory itself")
		}
		pass.Moves = append(pass.Moves, m)
	}
	for i, name := range req.Wrote {
		pass.Wrote = append(pass.Wrote, n.id(fmt.Sprintf("wrote[%d]", i), name))
	}
	if count := len(pass.Touched()); n.err == nil && count > hippo.MaxPassMemories {
		n.err = hippo.Errorf(hippo.TooLarge, "writes", "the pass names %d memories; the limit is %d", count, hippo.MaxPassMemories)
	}
	return pass, n.err
}

func checkIDs(req Request) error {
	if _, err := hippo.NewTenantID(string(req.Tenant)); err != nil {
		return hippo.InField(err, "tenant")
	}
	if _, err := hippo.NewThreadID(string(req.Thread)); err != nil {
		return hippo.InField(err, "thread")
	}
	if _, err := hippo.NewMessageID(string(req.From)); err != nil {
		return hippo.InField(err, "from")
	}
	_, err := hippo.NewMessageID(string(req.To))
	return hippo.InField(err, "to")
}

// hash is of everything the caller sent, in a form of its own.
func hash(req Request) string {
	body, err := json.Marshal(req)
	if err != nil {
		panic("episodewriter: a request of strings and times cannot fail to encode: " + err.Error())
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// namer turns names into ids and keeps the first error.
type namer struct {
	naming hippo.Naming
	used   map[hippo.MemoryID]string
	bytes  int
	err    error
}

func (n *namer) id(field, name string) hippo.MemoryID {
	id, err := n.naming.ID(name)
	if err != nil && n.err == nil {
		n.err = hippo.InField(err, field)
	}
	return id
}

// once is id for a memory that a pass can write, delete or move only once.
func (n *namer) once(field, name string) hippo.MemoryID {
	id := n.id(field, name)
	if other, ok := n.used[id]; ok && n.err == nil {
		n.err = hippo.Errorf(hippo.Invalid, field, "%q is in %s already", prompttext.Cut(name, 12, 80), other)
	}
	n.used[id] = field
	return id
}

func (n *namer) time(field, s string) hippo.Micros {
	if s == "" {
		return 0
	}
	at, err := hippo.ParseMicros(s)
	if err != nil && n.err == nil {
		n.err = hippo.InField(err, field)
	}
	return at
}

func (n *namer) checkContent(field string, w Write) {
	n.bytes += len(w.Name) + len(w.Content)
	switch {
	case n.err != nil:
	case !utf8.ValidString(w.Content):
		n.err = hippo.Errorf(hippo.Invalid, field+".content", "is not valid UTF-8")
	case len(w.Content) > hippo.MaxMemoryBytes:
		n.err = hippo.Errorf(hippo.TooLarge, field+".content", "is %d bytes long; the limit is %d", len(w.Content), hippo.MaxMemoryBytes)
	case n.bytes > hippo.MaxPassBytes:
		n.err = hippo.Errorf(hippo.TooLarge, field, "with this the pass writes more than %d bytes", hippo.MaxPassBytes)
	}
}
