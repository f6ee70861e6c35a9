package turnreader

import (
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
	"github.com/hippofire/hippofire/textscan"
)

// unit is what is shown together or not at all: a message, or an assistant's tool
// calls with their results.
type unit struct {
	messages []hippo.Message
	costs    []int // of each message
	tokens   int   // of all of them
	// cut counts messages of it that were cut; kept is what they still cost, lost
	// what they lost.
	cut, kept, lost int
}

// begins says whether an exchange begins with the unit: a message of the user,
// whose replies follow, or one of the system.
func (u unit) begins() bool {
	return u.messages[0].Role == hippo.User || u.messages[0].Role == hippo.System
}

func (u unit) position() hippo.Position { return u.messages[0].Position() }

// window is the recent messages of a thread.
type window struct {
	units []unit
	// pinned is the call that the new message answers; it is shown whatever else
	// is. Nil where the new message answers none.
	pinned *unit
	// older says that the thread has messages before these.
	older bool
	// newest is the position of the latest message, stored that of the new one
	// where it is stored already; zero where there is none.
	newest, stored hippo.Position
}

// newWindow makes the window of the latest messages as they were read, of which
// one more than it holds may be there.
func (w *work) newWindow(messages []hippo.Message) (window, error) {
	var out window
	if len(messages) > 0 {
		out.newest = messages[len(messages)-1].Position()
	}
	if out.older = len(messages) > w.Reader.window; out.older {
		messages = messages[1:]
	}
	var shown []hippo.Message
	for _, m := range messages {
		switch {
		case w.req.Message != nil && m.ID == w.req.Message.ID:
			out.stored = m.Position()
		case !m.Role.Known():
			w.drop(RecentBlock, UnknownRole, 1, 0)
		default:
			shown = append(shown, w.label(RecentBlock, m))
		}
	}
	if err := w.pair(&out, shown); err != nil {
		return out, err
	}
	if out.older {
		w.dropHeadless(&out)
	}
	return out, nil
}

// label makes one line of the speaker's label, or none where the scan refuses it.
func (w *work) label(b BlockKind, m hippo.Message) hippo.Message {
	if m.Speaker == "" {
		return m
	}
	m.Speaker = prompttext.Line(m.Label())
	if _, hit := textscan.Scan(m.Speaker); hit {
		m.Speaker = ""
		w.drop(b, Scanned, 1, 0)
	}
	return m
}

// pair puts each result behind the call it answers, and leaves out a result whose
// call is not there and a call whose result is not there: no model provider takes
// one without the other.
func (w *work) pair(out *window, messages []hippo.Message) error {
	open := map[string]int{} // the unit whose call with this id waits for its result
	for _, m := range messages {
		if m.Role == hippo.Tool {
			at, ok := open[m.ToolCallID]
			if !ok {
				w.drop(RecentBlock, NoCall, 1, 0)
				continue
			}
			delete(open, m.ToolCallID)
			out.units[at].messages = append(out.units[at].messages, m)
			continue
		}
		out.units = append(out.units, unit{messages: []hippo.Message{m}})
		for _, c := range m.ToolCalls {
			open[c.ID] = len(out.units) - 1
		}
	}
	answers := -1
	if m := w.req.Message; m != nil && m.Role == hippo.Tool {
		at, ok := open[m.ToolCallID]
		if !ok {
			return hippo.Errorf(hippo.Invalid, "message.tool_call_id", "%q answers no call of the messages that the turn shows", m.ToolCallID)
		}
		answers = at
	}
	units := out.units[:0]
	for i, u := range out.units {
		u = w.answered(u, i == answers)
		if len(u.messages) == 0 {
			continue
		}
		for _, m := range u.messages {
			u.costs = append(u.costs, w.messageTokens(m))
			u.tokens += u.costs[len(u.costs)-1]
		}
		if i == answers {
			out.pinned = &u
		} else {
			units = append(units, u)
		}
	}
	out.units = units
	return nil
}

// answered is the unit without calls whose result is not there; the new message is
// one where the unit is the one it answers. A message that says nothing beside such
// calls is left out.
func (w *work) answered(u unit, answersNew bool) unit {
	call := u.messages[0]
	if len(call.ToolCalls) == 0 {
		return u
	}
	results := map[string]bool{}
	for _, m := range u.messages[1:] {
		results[m.ToolCallID] = true
	}
	if answersNew {
		results[w.req.Message.ToolCallID] = true
	}
	calls := call.ToolCalls
	call.ToolCalls = nil
	for _, c := range calls {
		if results[c.ID] {
			call.ToolCalls = append(call.ToolCalls, c)
			delete(results, c.ID) // a second call of the id has no result of its own
		}
	}
	if missing := len(calls) - len(call.ToolCalls); missing > 0 {
		w.drop(RecentBlock, NoResult, missing, 0)
	}
	if len(call.ToolCalls) == 0 && call.Content == "" {
		return unit{}
	}
	return unit{messages: append([]hippo.Message{call}, u.messages[1:]...)}
}

// dropHeadless leaves out the rest of an exchange that begins before the window,
// where a later exchange has a reply in it. Where none has, that rest is all there
// is to go on from.
func (w *work) dropHeadless(out *window) {
	head := slices.IndexFunc(out.units, unit.begins)
	if head <= 0 || !slices.ContainsFunc(out.units[head:], func(u unit) bool { return !u.begins() }) {
		return
	}
	for _, u := range out.units[:head] {
		w.drop(RecentBlock, ByWindow, len(u.messages), u.tokens)
	}
	out.units = out.units[head:]
}

// itemTokens is what a provider's own form takes about a message or a text.
const itemTokens = 4

func (w *work) messageTokens(m hippo.Message) int { return w.count(messageText(m)) + itemTokens }

func (w *work) textTokens(s string) int {
	if s == "" {
		return 0
	}
	return w.count(s) + itemTokens
}

// messageText is everything of a message that a model reads.
func messageText(m hippo.Message) string {
	if m.Speaker == "" && len(m.ToolCalls) == 0 {
		return m.Content
	}
	parts := []string{m.Speaker, m.Content}
	for _, c := range m.ToolCalls {
		parts = append(parts, c.Name, c.Arguments)
	}
	return strings.Join(parts, " ")
}

// newest lists the latest units that fit into room, in whole exchanges. Of the
// latest exchange that has a reply, where it is too large, its latest units stay.
func newest(units []unit, room int) []unit {
	end := len(units) // what stands from here on is shown
	for end > 0 {
		begin, cost := end, 0
		for begin == end || begin > 0 && !units[begin].begins() {
			begin--
			cost += units[begin].tokens
		}
		if cost > room {
			shorten := !replied(units[end:])
			for shorten && end > begin && units[end-1].tokens <= room {
				end--
				room -= units[end].tokens
			}
			break
		}
		end = begin
		room -= cost
	}
	return units[end:]
}

// replied says whether any of the units is a reply.
func replied(units []unit) bool {
	return slices.ContainsFunc(units, func(u unit) bool { return !u.begins() })
}
