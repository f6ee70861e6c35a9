package functions

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/history"
	"github.com/hippofire/hippofire/textscan"
)

// Message is a message in a request. Its time is text, so that an error can
// name the field.
type Message struct {
	ID         string           `json:"id"`
	Role       string           `json:"role"`
	Content    string           `json:"content"`
	CreatedAt  string           `json:"created_at,omitempty"`
	Speaker    string           `json:"speaker,omitempty"`
	ToolCalls  []hippo.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string           `json:"tool_call_id,omitempty"`
}

// message checks the message; its error names the field under prefix.
func (w Message) message(prefix string) (hippo.Message, error) {
	m := hippo.Message{
		ID: hippo.MessageID(w.ID), Role: hippo.Role(w.Role), Content: w.Content,
		Speaker: w.Speaker, ToolCalls: w.ToolCalls, ToolCallID: w.ToolCallID,
	}
	if w.CreatedAt != "" {
		at, err := hippo.ParseCreatedAt(w.CreatedAt)
		if err != nil {
			return m, hippo.InField(err, prefix+".created_at")
		}
		m.CreatedAt = at
	}
	return m, hippo.Under(m.Check(), prefix)
}

// ThreadRef names a thread in a request.
type ThreadRef struct {
	Tenant string `json:"tenant"`
	Thread string `json:"thread"`
}

func (t ThreadRef) ids() (hippo.TenantID, hippo.ThreadID, error) {
	return hippo.ThreadOf(t.Tenant, t.Thread)
}

// Record records what a memory pass filed.
func (a *App) Record(ctx context.Context, req episodewriter.Request) (episodewriter.Response, error) {
	return a.writer.Record(ctx, req)
}

// SaveRequest appends messages to a thread.
type SaveRequest struct {
	ThreadRef
	Messages []Message `json:"messages"`
}

// SavedMessage says where a new message stands.
type SavedMessage struct {
	ID        hippo.MessageID `json:"id"`
	CreatedAt hippo.Micros    `json:"created_at"`
}

// SaveResponse says what was saved.
type SaveResponse struct {
	// Created lists the messages that are new, in the order of the thread.
	Created []SavedMessage `json:"created"`
	// Existing counts those that were there already and stay as they are.
	Existing int `json:"existing"`
	// Withheld are the speakers' labels that the scan refuses. The messages are
	// saved all the same, but no model will see who said them.
	Withheld []episodewriter.Withheld `json:"withheld,omitempty"`
}

// Save appends messages to a thread.
func (a *App) Save(ctx context.Context, req SaveRequest) (SaveResponse, error) {
	resp := SaveResponse{Created: []SavedMessage{}}
	tenant, thread, err := req.ids()
	if err != nil {
		return resp, err
	}
	messages, err := req.messages()
	if err != nil {
		return resp, err
	}
	created, err := a.store.SaveMessages(ctx, tenant, thread, messages)
	for _, m := range created {
		resp.Created = append(resp.Created, SavedMessage{ID: m.ID, CreatedAt: m.CreatedAt})
	}
	resp.Existing = len(messages) - len(created)
	for i, m := range messages {
		if rule, hit := textscan.Scan(m.Speaker); hit {
			resp.Withheld = append(resp.Withheld, episodewriter.Withheld{Field: fmt.Sprintf("messages[%d].speaker", i), Rule: rule})
		}
	}
	if len(resp.Withheld) > 0 {
		a.log.WarnContext(ctx, "the scan refuses speakers of messages", "tenant", tenant, "thread", thread, "labels", resp.Withheld)
	}
	return resp, err
}

func (req SaveRequest) messages() ([]hippo.Message, error) {
	if len(req.Messages) == 0 {
		return nil, hippo.Errorf(hippo.Invalid, "messages", "is missing")
	}
	if len(req.Messages) > hippo.MaxMessages {
		return nil, hippo.Errorf(hippo.TooLarge, "messages", "holds %d messages; the limit is %d", len(req.Messages), hippo.MaxMessages)
	}
	messages := make([]hippo.Message, len(req.Messages))
	seen := make(map[string]int)
	bytes := 0
	for i, w := range req.Messages {
		field := fmt.Sprintf("messages[%d]", i)
		m, err := w.message(field)
		if err != nil {
			return nil, err
		}
		if first, ok := seen[w.ID]; ok {
			return nil, hippo.Errorf(hippo.Invalid, field+".id", "is that of messages[%d] too", first)
		}
		seen[w.ID] = i
		if bytes += m.Bytes(); bytes > hippo.MaxSaveBytes {
			return nil, hippo.Errorf(hippo.TooLarge, field, "with this the messages are larger than %d bytes", hippo.MaxSaveBytes)
		}
		m.Terms = history.Terms(m)
		messages[i] = m
	}
	return messages, nil
}

// How much of a memory one OpenMemory returns, in bytes.
const (
	defaultPage = 16 << 10
	maxPage     = 256 << 10
)

// OpenRequest asks for a memory.
type OpenRequest struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	// Offset is where to begin, in bytes; Limit how many to return at most.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// OpenResponse is a memory, or a page of it.
type OpenResponse struct {
	Name      string       `json:"name"`
	UpdatedAt hippo.Micros `json:"updated_at"`
	Content   string       `json:"content"`
	Bytes     int          `json:"bytes"`
	// NextOffset is where the next page begins; absent on the last.
	NextOffset int `json:"next_offset,omitempty"`
}

// Open reads one memory by its name.
func (a *App) Open(ctx context.Context, req OpenRequest) (OpenResponse, error) {
	tenant, err := hippo.NewTenantID(req.Tenant)
	if err != nil {
		return OpenResponse{}, hippo.InField(err, "tenant")
	}
	id, err := a.layout.Naming.ID(req.Name)
	if err != nil {
		return OpenResponse{}, hippo.InField(err, "name")
	}
	if req.Limit == 0 {
		req.Limit = defaultPage
	}
	if req.Limit < utf8.UTFMax || req.Limit > maxPage {
		return OpenResponse{}, hippo.Errorf(hippo.Invalid, "limit", "%d lies outside %d to %d bytes", req.Limit, utf8.UTFMax, maxPage)
	}
	m, err := a.store.Memory(ctx, tenant, id)
	if hippo.IsKind(err, hippo.NotFound) {
		return OpenResponse{}, hippo.Errorf(hippo.NotFound, "name", "no such memory")
	}
	if err != nil {
		return OpenResponse{}, err
	}
	if req.Offset < 0 || req.Offset > len(m.Content) {
		return OpenResponse{}, hippo.Errorf(hippo.Invalid, "offset", "%d lies outside the memory's %d bytes", req.Offset, len(m.Content))
	}
	resp := OpenResponse{Name: req.Name, UpdatedAt: m.UpdatedAt, Bytes: len(m.Content)}
	resp.Content, _, resp.NextOffset = hippo.Part(m.Content, req.Offset, req.Limit)
	return resp, nil
}
