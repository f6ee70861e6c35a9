package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
	"github.com/hippofire/hippofire/turnreader"
)

// Style says how a Result is written.
type Style struct {
	// Colour makes headings bold.
	Colour bool
	// Times shows how long reading took.
	Times bool
}

// Write tells a Result in plain words.
func (r Result) Write(w io.Writer, style Style) error {
	p := &printer{style: style}
	r.without(p)
	r.with(p)
	r.costs(p)
	r.edited(p)
	r.lostEvents(p)
	_, err := io.WriteString(w, p.String())
	return err
}

type printer struct {
	strings.Builder
	style Style
}

func (p *printer) heading(text string) {
	if p.style.Colour {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	fmt.Fprintf(p, "\n%s\n\n", text)
}

func (p *printer) say(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// quote sets off what the model reads.
func (p *printer) quote(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(p, "  | %s\n", strings.TrimRight(line, "\n"))
	}
}

func (r Result) without(p *printer) {
	p.say("A bicycle shop's owner has talked with her agent for seven weeks: %d messages, %d memories on file.", r.Messages, r.Memories)
	p.say("Now she asks:\n")
	p.quote(r.Question)
	p.heading("1. What the model sees without Hippofire")
	p.say("The latest %d messages, and nothing else:\n", len(r.Without))
	p.messages(r.Without)
	if r.WithoutKnows {
		p.say("\nThe answer (%q) stands in them.", r.Needed)
	} else {
		p.say("\nThe answer (%q) is not in them, and nothing says that it was ever talked about.", r.Needed)
	}
}

// messages prints the first and the last of a run of messages.
func (p *printer) messages(messages []hippo.Message) {
	const ends = 3
	for i, m := range messages {
		if i == ends && len(messages) > 2*ends {
			p.quote(fmt.Sprintf("... %d more messages ...", len(messages)-2*ends))
		}
		if i < ends || i >= len(messages)-ends {
			text := m.Content
			for _, c := range m.ToolCalls {
				text += fmt.Sprintf(" (calls %s)", c.Name)
			}
			p.quote(fmt.Sprintf("%s  %s: %s", m.CreatedAt.Time().Format(time.DateOnly), m.Role, prompttext.Cut(text, 16, 100)))
		}
	}
}

func (r Result) with(p *printer) {
	p.heading("2. What it sees with Hippofire")
	for _, b := range r.Turn.Blocks {
		switch b.Kind {
		case turnreader.RecentBlock:
			p.messages(b.Messages)
		case turnreader.MessageBlock:
			p.quote("new  " + string(b.Messages[0].Role) + ": " + b.Messages[0].Content)
		default:
			p.quote(b.Text)
		}
		p.quote("\n")
	}
	if r.Answer == "" {
		p.say("\nNo line led to the answer.")
		return
	}
	p.say("\nThe line [%s] names %s. The model opens it and reads:\n", r.Line.Handle, r.Opened)
	p.quote(r.Answer)
}

func (r Result) costs(p *printer) {
	p.heading("3. What it cost")
	p.say("  %-52s %9s %9s %7s%s", "", "documents", "bytes", "tokens", when(p.style.Times, "       ms"))
	for _, c := range r.Costs {
		took := fmt.Sprintf("%9.1f", float64(c.Took.Microseconds())/1000)
		p.say("  %-52s %9d %9d %7d%s", c.Way, c.Documents, c.Bytes, c.Tokens, when(p.style.Times && c.Took > 0, took))
	}
	p.say("\nThe last way grows with every memory on file; the index does not.")
}

func when(show bool, text string) string {
	if show {
		return text
	}
	return ""
}

func (r Result) edited(p *printer) {
	p.heading("4. An editor deletes " + r.Deleted)
	for i := range r.Before {
		p.quote("before: " + r.Before[i])
		p.quote("after:  " + r.After[i])
	}
	p.say("\nThe gist stays; the pointer to what is gone does not.")
}

func (r Result) lostEvents(p *printer) {
	p.heading("5. Events get lost, and a repair")
	p.say("While events were lost on purpose, somebody")
	for _, change := range r.Lost {
		p.say("  - %s", change)
	}
	p.say("\nCompared with the memories, the index is now: %s.", verdict(r.Check.Counts))
	p.say("After the repair that runs every night: %s.", verdict(r.Healed.Counts))
}

// verdict says what a comparison found, such as "2 missing, 1 stale".
func verdict(counts map[hippo.FindingType]int) string {
	if len(counts) == 0 {
		return "equal"
	}
	var parts []string
	for t, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, t))
	}
	slices.SortFunc(parts, func(a, b string) int {
		_, x, _ := strings.Cut(a, " ")
		_, y, _ := strings.Cut(b, " ")
		return strings.Compare(x, y)
	})
	return strings.Join(parts, ", ")
}
