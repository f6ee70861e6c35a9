// Package history reads what a turn no longer shows of its thread: the messages
// behind a line of the buffer, and those that say certain words. What either
// costs does not depend on how long the thread is.
package history

import (
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/terms"
	"github.com/hippofire/hippofire/textscan"
)

// Reader reads threads.
type Reader struct {
	store hippo.ThreadStore
}

// New makes a Reader over a store.
func New(store hippo.ThreadStore) *Reader { return &Reader{store: store} }

// Said is a message as it is shown to the model, or a part of one.
type Said struct {
	ID   hippo.MessageID `json:"id"`
	Role hippo.Role      `json:"role"`
	// Speaker is empty too where the scan refuses the label.
	Speaker   string       `json:"speaker,omitempty"`
	CreatedAt hippo.Micros `json:"created_at"`
	// Text is what the message says, with a line for each tool it calls.
	Text string `json:"text"`
	// Offset is where in the message the text begins, where that is not its
	// beginning.
	Offset int `json:"offset,omitempty"`
	// Bytes is how long the whole is, where the text is a part.
	Bytes int `json:"bytes,omitempty"`
}

// say shows the part of a message that begins at an offset and is limit bytes
// long at most; next is where the rest begins, 0 where there is none.
func say(m hippo.Message, offset, limit int) (s Said, next int) {
	s = Said{ID: m.ID, Role: m.Role, CreatedAt: m.CreatedAt}
	if _, hit := textscan.Scan(m.Label()); !hit {
		s.Speaker = m.Label()
	}
	text := textOf(m)
	s.Text, offset, next = hippo.Part(text, offset, limit)
	if len(s.Text) < len(text) {
		s.Offset, s.Bytes = offset, len(text)
	}
	return s, next
}

// textOf is everything that a message says.
func textOf(m hippo.Message) string {
	parts := make([]string, 0, 1+len(m.ToolCalls))
	if m.Content != "" {
		parts = append(parts, m.Content)
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, "calls "+c.Name+" "+c.Arguments)
	}
	return strings.Join(parts, "\n")
}

// Terms are the search terms with which a message is to be stored: of who says it
// and of what it says.
func Terms(m hippo.Message) []string { return terms.Of(m.Speaker + " " + textOf(m)) }

// termsOf are a message's terms, also of one that was stored without.
func termsOf(m hippo.Message) []string {
	if len(m.Terms) > 0 {
		return m.Terms
	}
	return Terms(m)
}
