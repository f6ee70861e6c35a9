// Package format renders a turn as the part of a request that a model provider
// takes: the messages, what stands before them, and the tools. The caller adds the
// model and its settings and sends it.
//
// What a format does with the roles:
//
//	openai     every block of ours is a system message, the buffer right before
//	           the oldest message; messages keep their roles
//	anthropic  every block of ours is a part of the system text, the buffer the
//	           last; messages alternate between user and assistant, the user
//	           first; a tool's result is a part of the user's next message
//	gemini     the same, with the assistant called model, and results in the order
//	           of their calls
//
// A message of the system inside a thread is, where a format has no such role
// there, a part of the system text before the buffer. Where a thread's first
// message is not the user's, or one says nothing, an ellipsis stands in the user's
// place, since the formats want something there and nothing was said.
package format

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tools"
)

// Format names a form of a turn.
type Format string

// The formats.
const (
	Blocks    Format = "blocks"
	OpenAI    Format = "openai"
	Anthropic Format = "anthropic"
	Gemini    Format = "gemini"
)

var formats = []Format{Blocks, OpenAI, Anthropic, Gemini}

// Parse reads a format's name; none is Blocks. Its error is of kind Invalid.
func Parse(s string) (Format, error) {
	if s == "" {
		return Blocks, nil
	}
	if f := Format(s); slices.Contains(formats, f) {
		return f, nil
	}
	return "", hippo.Errorf(hippo.Invalid, "", "%q is no format: use blocks, openai, anthropic or gemini", s)
}

// Turn is what is rendered. Empty texts are not there.
type Turn struct {
	// Stable are the texts that stay the same from turn to turn, Changing the one
	// that does not; both stand before the messages.
	Stable   []string
	Changing string
	// Buffer stands right before the oldest message.
	Buffer string
	// Messages end with the new one. Each call has its result behind it, and each
	// result its call before it.
	Messages []hippo.Message
	// Tools are the tools that the model is given.
	Tools []tools.Tool
}

// Body is the turn in a provider's form, and nil for Blocks, which is the turn as
// it is.
func (f Format) Body(t Turn) any {
	switch f {
	case OpenAI:
		return openAI(t)
	case Anthropic:
		return anthropic(t)
	case Gemini:
		return gemini(t)
	}
	return nil
}

// nothing stands where a format wants words of the user and there are none.
const nothing = "…"

// said is a message's text with its speaker's label before it, which formats
// without a field for a name need. The assistant's own is left out: it would learn
// to write it.
func said(m hippo.Message) string {
	if m.Speaker == "" || m.Role != hippo.User {
		return m.Content
	}
	return m.Speaker + ": " + m.Content
}

// withoutSystem parts the system's messages from the others.
func withoutSystem(messages []hippo.Message) (system []string, others []hippo.Message) {
	for _, m := range messages {
		if m.Role == hippo.System {
			system = append(system, m.Content)
		} else {
			others = append(others, m)
		}
	}
	return system, others
}

// arguments are a call's arguments as the object that two of the formats want.
// What is none stands in one, as it is.
func arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	return object(text, "arguments")
}

// object is a JSON object: the text, where it is one, else one with the text in a
// field.
func object(text, field string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) == nil && fields != nil {
		return json.RawMessage(text)
	}
	wrapped, err := json.Marshal(map[string]string{field: text})
	if err != nil { // a map of strings always can be written
		return json.RawMessage("{}")
	}
	return wrapped
}

// maxName is the longest name of a function that every provider takes.
const maxName = 64

// functionName makes a function's name one that every provider takes, since a
// thread can have begun with another.
func functionName(name string) string {
	return cutBytes(strings.Map(plain, name), maxName)
}

func plain(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}

// callID makes a call's id one that every provider takes: the id itself, or a
// short one that stands for it.
func callID(id string) string {
	const longest = 40
	if id != "" && len(id) <= longest && strings.Map(plain, id) == id {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:15]))
}

func cutBytes(s string, n int) string { return s[:min(len(s), n)] }
