package hippo

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Role says who a message is from, in the terms that model providers share.
type Role string

// The roles a message can have.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Known says whether r is one of them.
func (r Role) Known() bool { return slices.Contains([]Role{System, User, Assistant, Tool}, r) }

// What one SaveTurn takes. Firestore takes 1 MiB for a document and 10 MiB for a
// commit; the bound on a message leaves room for its search terms, the bound on
// the call keeps the commit under gRPC's default of 4 MiB. A speaker's label stands
// beside every part of a message that is shown, and is no place for text.
const (
	MaxMessages     = 100
	MaxMessageBytes = 512 << 10
	MaxSaveBytes    = 3 << 20
	MaxSpeakerBytes = 256
)

// maxCreatedAt is the latest time of a message: the day behind it leaves room for
// the times of those that follow in the same call.
var maxCreatedAt = MicrosOf(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))

// Message is one entry of a thread.
type Message struct {
	ID      MessageID `json:"id"`
	Role    Role      `json:"role"`
	Content string    `json:"content"`
	// CreatedAt orders the thread. Zero asks SaveTurn for the store's time.
	CreatedAt Micros `json:"created_at,omitzero"`
	// Speaker is a label for who spoke, where the role does not tell.
	Speaker string `json:"speaker,omitempty"`
	// ToolCalls are what an assistant message asked for.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID names the call that a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Terms are the words by which the message can be searched.
	Terms []string `json:"-"`
}

// ToolCall is a call of a tool by the model, its arguments as the model wrote
// them (JSON text).
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ParseCreatedAt reads the time of a message. Its error is of kind Invalid, also for
// the time that Message takes for none.
func ParseCreatedAt(s string) (Micros, error) {
	at, err := ParseMicros(s)
	if err == nil && at == 0 {
		err = Errorf(Invalid, "", "%s stands for no time: use one beside it", at)
	}
	return at, err
}

// Position is the message's place in its thread.
func (m Message) Position() Position { return Position{At: m.CreatedAt, ID: m.ID} }

// Label is the speaker's label as it can be shown. One that other programs stored
// may be longer than SaveTurn takes.
func (m Message) Label() string {
	label, _, _ := Part(m.Speaker, 0, MaxSpeakerBytes)
	return label
}

// Bytes is the size of what the message says, without its search terms.
func (m Message) Bytes() int {
	n := len(m.Content) + len(m.Speaker) + len(m.ToolCallID)
	for _, c := range m.ToolCalls {
		n += len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	return n
}

// Check holds the rules for a message that is to be stored. Its error names the
// field and is of kind Invalid or TooLarge.
func (m Message) Check() error {
	if _, err := NewMessageID(string(m.ID)); err != nil {
		return InField(err, "id")
	}
	if !m.Role.Known() {
		return Errorf(Invalid, "role", "%q is no role: use system, user, assistant or tool", m.Role)
	}
	if n := m.Bytes(); n > MaxMessageBytes {
		return Errorf(TooLarge, "content", "the message is %d bytes long; the limit is %d", n, MaxMessageBytes)
	}
	if n := len(m.Speaker); n > MaxSpeakerBytes {
		return Errorf(TooLarge, "speaker", "is %d bytes long; the limit is %d", n, MaxSpeakerBytes)
	}
	if m.Content == "" && len(m.ToolCalls) == 0 && m.Role != Tool {
		return Errorf(Invalid, "content", "is missing")
	}
	if len(m.ToolCalls) > 0 && m.Role != Assistant {
		return Errorf(Invalid, "tool_calls", "only an assistant message can have them")
	}
	if (m.Role == Tool) != (m.ToolCallID != "") {
		return Errorf(Invalid, "tool_call_id", "belongs to a tool message, and to no other")
	}
	if m.CreatedAt != 0 && (m.CreatedAt < minMicros || m.CreatedAt > maxCreatedAt) {
		return Errorf(Invalid, "created_at", "lies outside %s to %s", minMicros, maxCreatedAt)
	}
	for _, field := range []struct{ name, text string }{{"content", m.Content}, {"speaker", m.Speaker}, {"tool_call_id", m.ToolCallID}} {
		if !utf8.ValidString(field.text) {
			return Errorf(Invalid, field.name, "is not valid UTF-8")
		}
	}
	return m.checkCalls()
}

func (m Message) checkCalls() error {
	seen := make(map[string]int)
	for i, c := range m.ToolCalls {
		field := fmt.Sprintf("tool_calls[%d]", i)
		if c.ID == "" || c.Name == "" {
			return Errorf(Invalid, field, "needs an id and a name")
		}
		if !utf8.ValidString(c.ID + c.Name + c.Arguments) {
			return Errorf(Invalid, field, "is not valid UTF-8")
		}
		if first, ok := seen[c.ID]; ok {
			return Errorf(Invalid, field, "has the id of tool_calls[%d] too", first)
		}
		seen[c.ID] = i
	}
	return nil
}

// PlanSave decides what a SaveTurn writes: messages is what was asked for,
// stored what of it is there already, now the store's time. A stored message
// stays as it is, and of several with one id the first counts. They are given the
// store's time where they have none, and their times strictly increase in the
// order of the result; given times may run backwards and are sorted.
func PlanSave(messages []Message, stored map[MessageID]Message, now Micros) []Message {
	var fresh []Message
	planned := make(map[MessageID]bool)
	for _, m := range messages {
		if _, ok := stored[m.ID]; ok || planned[m.ID] {
			continue
		}
		planned[m.ID] = true
		if m.CreatedAt == 0 {
			m.CreatedAt = now
		}
		fresh = append(fresh, m)
	}
	slices.SortStableFunc(fresh, func(a, b Message) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	for i := 1; i < len(fresh); i++ {
		fresh[i].CreatedAt = max(fresh[i].CreatedAt, fresh[i-1].CreatedAt+1)
	}
	return fresh
}

// Stretch is the run of messages, both ends included, that one memory pass
// consolidated.
type Stretch struct {
	From, To Position
}

// The form of a gist: one line of so many words and characters at most.
const (
	MaxGistWords      = 25
	MaxGistCharacters = 220
)

// Episode is the record of a stretch.
type Episode struct {
	Stretch
	// Gist is the episode's one line.
	Gist string
	// Pointers are the memories that the pass really wrote.
	Pointers []MemoryID
	// Handle opens the stretch; see HandleOf.
	Handle string
	// Blocked names the rule that keeps the line from being shown; empty where
	// none does.
	Blocked   string
	CreatedAt Micros
}

// HandleOf is the short name by which the stretch that ends at to is opened. It
// depends on that position alone, so a retried pass keeps it. 40 bits: among the
// 1,000 stretches of a thread two share one with a chance of 1 in two million.
func HandleOf(to Position) string {
	sum := sha256.Sum256([]byte(to.String()))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// CheckHandle refuses what HandleOf cannot have made. Its error is of kind
// Invalid.
func CheckHandle(s string) error {
	if raw, err := base32.StdEncoding.DecodeString(strings.ToUpper(s)); err != nil || len(raw) != 5 || len(s) != 8 || s != strings.ToLower(s) {
		return Errorf(Invalid, "", "%q is no handle: use the eight characters in brackets of a line", s)
	}
	return nil
}
