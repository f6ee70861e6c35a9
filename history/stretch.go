package history

import (
	"context"
	"strconv"
	"strings"

	"github.com/hippofire/hippofire/hippo"
)

// How many messages of a stretch one OpenStretch returns, and how much text. A
// message that does not fit the rest of a page goes on on the next.
const (
	defaultStretch  = 20
	maxStretch      = 50
	maxStretchBytes = 32 << 10
)

// StretchRequest asks for the messages of a stretch.
type StretchRequest struct {
	Tenant string `json:"tenant"`
	Thread string `json:"thread"`
	// Handle is what stands in brackets in the stretch's line.
	Handle string `json:"handle"`
	// Limit is how many messages to return at most.
	Limit int `json:"limit,omitempty"`
	// Cursor is the next_cursor of the page before.
	Cursor string `json:"cursor,omitempty"`
}

// StretchResponse is a page of a stretch, oldest first.
type StretchResponse struct {
	Handle string `json:"handle"`
	// From is when the stretch's first message was said.
	From hippo.Micros `json:"from"`
	// To is when its last message was said.
	To       hippo.Micros `json:"to"`
	Messages []Said       `json:"messages"`
	// NextCursor asks for the next page; absent on the last.
	NextCursor string `json:"next_cursor,omitempty"`
	// Documents is how many documents were read.
	Documents int `json:"documents"`
	// Bytes is how much was read.
	Bytes int64 `json:"bytes"`
}

// Stretch reads a page of the stretch that a handle names. Its errors are of kind
// Invalid, naming the field, and NotFound for a handle that no line has.
func (r *Reader) Stretch(ctx context.Context, req StretchRequest) (StretchResponse, error) {
	tenant, thread, err := hippo.ThreadOf(req.Tenant, req.Thread)
	if err != nil {
		return StretchResponse{}, err
	}
	if err := hippo.CheckHandle(req.Handle); err != nil {
		return StretchResponse{}, hippo.InField(err, "handle")
	}
	if req.Limit == 0 {
		req.Limit = defaultStretch
	}
	if req.Limit < 1 || req.Limit > maxStretch {
		return StretchResponse{}, hippo.Errorf(hippo.Invalid, "limit", "%d lies outside 1 to %d messages", req.Limit, maxStretch)
	}
	at, err := parsePlace(req.Cursor)
	if err != nil {
		return StretchResponse{}, err
	}
	var meter hippo.Meter
	ctx = hippo.WithMeter(ctx, &meter)
	e, err := r.store.EpisodeByHandle(ctx, tenant, thread, req.Handle)
	if hippo.IsKind(err, hippo.NotFound) {
		return StretchResponse{}, hippo.Errorf(hippo.NotFound, "handle", "no line of this thread has the handle %q", req.Handle)
	}
	if err != nil {
		return StretchResponse{}, err
	}
	in := e.Stretch
	if in.From.Before(at.position) {
		in.From = at.position
	}
	messages, err := r.store.MessagesIn(ctx, tenant, thread, in, hippo.Position{}, req.Limit+1)
	if err != nil {
		return StretchResponse{}, err
	}
	resp := StretchResponse{Handle: e.Handle, From: e.From.At, To: e.To.At}
	resp.Messages, resp.NextCursor = page(messages, at.offset, req.Limit)
	cost := meter.Total()
	resp.Documents, resp.Bytes = cost.Documents, cost.Bytes
	return resp, nil
}

// page shows as many messages as fit, the first one from an offset on. messages
// has one more than limit where the stretch goes on.
func page(messages []hippo.Message, offset, limit int) (shown []Said, next string) {
	shown = []Said{}
	left := maxStretchBytes
	for i, m := range messages {
		if i == limit || left < minPart {
			return shown, place{position: m.Position()}.String()
		}
		s, rest := say(m, offset, left)
		shown = append(shown, s)
		if rest > 0 {
			return shown, place{position: m.Position(), offset: rest}.String()
		}
		left -= len(s.Text)
		offset = 0
	}
	return shown, ""
}

// minPart is how many bytes of a page a message is begun for.
const minPart = 500

// place is where in a stretch a page begins: at a message, and at an offset in
// it. The zero place is the beginning of the stretch.
type place struct {
	position hippo.Position
	offset   int
}

// String is the place as a cursor.
func (p place) String() string { return strconv.Itoa(p.offset) + "@" + p.position.String() }

func parsePlace(cursor string) (place, error) {
	if cursor == "" {
		return place{}, nil
	}
	offset, at, _ := strings.Cut(cursor, "@")
	n, err := strconv.Atoi(offset)
	position, errPosition := hippo.ParsePosition(at)
	if err != nil || errPosition != nil || n < 0 {
		return place{}, hippo.Errorf(hippo.Invalid, "cursor", "is not one that this function gave")
	}
	return place{position: position, offset: n}, nil
}
