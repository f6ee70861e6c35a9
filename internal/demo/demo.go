// Package demo tells, on the sample conversation, what a model sees with and
// without Hippofire, and what happens when memories change behind the agent's
// back or events are lost.
package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/sample"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/turnreader"
)

// Agent is what an agent's backend calls.
type Agent interface {
	Turn(ctx context.Context, req functions.TurnRequest) (turnreader.Turn, error)
	Save(ctx context.Context, req functions.SaveRequest) (functions.SaveResponse, error)
	Record(ctx context.Context, req episodewriter.Request) (episodewriter.Response, error)
	Open(ctx context.Context, req functions.OpenRequest) (functions.OpenResponse, error)
}

// World is where the demo takes place.
type World interface {
	Agent
	// Store is the database, as an editor's page or an operator reaches it.
	Store() hippo.Store
	// Settle waits until every event of a change has been dealt with.
	Settle(ctx context.Context) error
	// LoseEvents makes events of changes get lost, or no longer.
	LoseEvents(lose bool)
	// Repair does what the nightly message does, and returns when it is done.
	Repair(ctx context.Context, tenant hippo.TenantID) error
	// Check compares index and memories.
	Check(ctx context.Context, tenant hippo.TenantID) (repair.Check, error)
}

// The tenant and thread of the demo.
const (
	Tenant = "tern-street-cycles"
	Thread = "delphine"
)

// Result is everything that the demo shows.
type Result struct {
	Messages int `json:"messages"`
	Memories int `json:"memories"`
	// Needed is what the question asks for, Question the question.
	Question string `json:"question"`
	Needed   string `json:"needed"`
	// Without are the messages a window alone shows, and whether they say it.
	Without      []hippo.Message `json:"without"`
	WithoutKnows bool            `json:"without_knows"`
	// Turn is what the model sees with Hippofire.
	Turn turnreader.Turn `json:"turn"`
	// Line is the buffer line of the stretch where it was said, Opened the memory
	// it points at, Answer the line of it that answers.
	Line   turnreader.Line `json:"line"`
	Opened string          `json:"opened"`
	Answer string          `json:"answer"`
	Costs  []Cost          `json:"costs"`
	// Deleted is the page that an editor deletes; Before and After are the lines
	// that pointed at it.
	Deleted string   `json:"deleted"`
	Before  []string `json:"before"`
	After   []string `json:"after"`
	// Lost is what was changed while events were lost, Check what the comparison
	// found then, Healed what it found after the repair.
	Lost   []string     `json:"lost"`
	Check  repair.Check `json:"check"`
	Healed repair.Check `json:"healed"`
}

// Cost is what one way of building a turn's memory list and context reads.
type Cost struct {
	Way       string        `json:"way"`
	Documents int           `json:"documents"`
	Bytes     int64         `json:"bytes"`
	Tokens    int           `json:"tokens"`
	Took      time.Duration `json:"took"`
}

// show is the demo under way.
type show struct {
	World
	sample sample.Sample
	result Result
}

// Run plays the demo. progress is told what is being done.
func Run(ctx context.Context, w World, progress func(string)) (Result, error) {
	s := &show{World: w}
	var err error
	if s.sample, err = sample.Load(); err != nil {
		return Result{}, err
	}
	for _, step := range []struct {
		say string
		do  func(context.Context) error
	}{
		{"filing what the agent knew before", s.before},
		{"replaying the conversation", s.replay},
		{"asking the question", s.ask},
		{"weighing what it cost", s.weigh},
		{"deleting a page", s.edit},
		{"losing events and healing", s.lose},
	} {
		progress(step.say)
		if err := step.do(ctx); err != nil {
			return s.result, fmt.Errorf("%s: %w", step.say, err)
		}
	}
	return s.result, nil
}

func ref() functions.ThreadRef { return functions.ThreadRef{Tenant: Tenant, Thread: Thread} }

// before files the memories that an import brought, and lets the first turn ask
// for the index.
func (s *show) before(ctx context.Context) error {
	for _, m := range s.sample.Before {
		id, err := hippo.Base64URL.ID(m.Name)
		if err != nil {
			return err
		}
		if err := s.Store().SaveMemory(ctx, Tenant, hippo.Memory{ID: id, Name: m.Name, Content: m.Content, UpdatedAt: m.UpdatedAt}); err != nil {
			return err
		}
	}
	if _, err := s.Turn(ctx, functions.TurnRequest{ThreadRef: ref()}); err != nil {
		return err
	}
	return s.built(ctx)
}

// built waits until the index has been built.
func (s *show) built(ctx context.Context) error {
	for {
		meta, err := s.Store().Meta(ctx, Tenant)
		if err != nil || !meta.Current.IsZero() {
			return err
		}
		select {
		case <-ctx.Done():
			return hippo.Wrap(hippo.Unavailable, ctx.Err(), "waiting for the first build of the index")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// replay saves each stretch and records what its memory pass filed.
func (s *show) replay(ctx context.Context) error {
	s.result.Messages = len(s.sample.Messages)
	for _, p := range s.sample.Passes {
		stretch := s.sample.Stretch(p.Stretch)
		if _, err := s.Save(ctx, functions.SaveRequest{ThreadRef: ref(), Messages: wire(stretch)}); err != nil {
			return err
		}
		req := episodewriter.Request{
			Tenant: Tenant, Thread: Thread, Episode: p.Episode, Deletes: p.Deletes,
			From: stretch[0].ID, To: stretch[len(stretch)-1].ID,
		}
		for _, w := range p.Writes {
			req.Writes = append(req.Writes, episodewriter.Write{Name: w.Name, Content: w.Content})
		}
		for _, m := range p.Moves {
			req.Moves = append(req.Moves, episodewriter.Move{From: m.From, Into: m.Into})
		}
		if _, err := s.Record(ctx, req); err != nil {
			return fmt.Errorf("stretch %d: %w", p.Stretch, err)
		}
	}
	return s.Settle(ctx)
}

func wire(messages []hippo.Message) []functions.Message {
	out := make([]functions.Message, len(messages))
	for i, m := range messages {
		out[i] = functions.Message{ID: string(m.ID), Role: string(m.Role), Content: m.Content, Speaker: m.Speaker, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
		if m.CreatedAt != 0 {
			out[i].CreatedAt = m.CreatedAt.String()
		}
	}
	return out
}

// ask builds the turn of the question, and follows the line that leads to the
// answer as a model would.
func (s *show) ask(ctx context.Context) error {
	q := s.sample.Question
	s.result.Question, s.result.Needed = q.Content, q.Needs
	question := wire([]hippo.Message{q.Message})[0]
	var err error
	if s.result.Turn, err = s.Turn(ctx, functions.TurnRequest{ThreadRef: ref(), Message: &question}); err != nil {
		return err
	}
	s.result.Memories = s.result.Turn.Ledger.Memories
	if s.result.Without, err = s.Store().RecentMessages(ctx, Tenant, Thread, turnreader.DefaultWindow); err != nil {
		return err
	}
	s.result.WithoutKnows = slices.ContainsFunc(s.result.Without, func(m hippo.Message) bool { return strings.Contains(m.Content, q.Needs) })

	stretch := s.sample.Stretch(q.Stretch)
	handle := hippo.HandleOf(stretch[len(stretch)-1].Position())
	for _, line := range lines(s.result.Turn) {
		if line.Handle == handle {
			s.result.Line = line
		}
	}
	for _, name := range s.result.Line.Pointers {
		opened, err := s.Open(ctx, functions.OpenRequest{Tenant: Tenant, Name: name})
		if err != nil {
			return err
		}
		for l := range strings.Lines(opened.Content) {
			if strings.Contains(l, q.Needs) {
				s.result.Opened, s.result.Answer = name, strings.TrimSpace(l)
			}
		}
	}
	return nil
}

func lines(t turnreader.Turn) []turnreader.Line {
	for _, b := range t.Blocks {
		if b.Kind == turnreader.BufferBlock {
			return b.Lines
		}
	}
	return nil
}

// weigh compares the turn with reading every memory for the list, and with the
// window alone.
func (s *show) weigh(ctx context.Context) error {
	turn, err := s.Turn(ctx, functions.TurnRequest{ThreadRef: ref()})
	if err != nil {
		return err
	}
	scan, err := s.fullScan(ctx)
	if err != nil {
		return err
	}
	cost := func(way string, documents int, bytes int64, tokens int, took float64) Cost {
		return Cost{Way: way, Documents: documents, Bytes: bytes, Tokens: tokens, Took: time.Duration(took * float64(time.Millisecond))}
	}
	first, l := s.result.Turn.Ledger, turn.Ledger
	var messages hippo.Reads
	for _, r := range l.Reads {
		if r.Query == "RecentMessages" {
			messages = r
		}
	}
	s.result.Costs = []Cost{
		cost("the window alone", messages.Documents, messages.Bytes, l.Tokens[string(turnreader.RecentBlock)], l.Milliseconds["messages"]),
		cost("with Hippofire, as asked above ("+string(first.Index)+" index)", first.Documents, first.Bytes, first.Tokens["total"], first.Milliseconds["total"]),
		cost("with Hippofire, the next turn ("+string(l.Index)+" index)", l.Documents, l.Bytes, l.Tokens["total"], l.Milliseconds["total"]),
		cost("the window, and every memory read for its name", messages.Documents+scan.Documents, messages.Bytes+scan.Bytes, l.Tokens["total"], 0),
	}
	return nil
}

// fullScan reads every memory whole, as an agent does that builds its list from
// the store.
func (s *show) fullScan(ctx context.Context) (hippo.Reads, error) {
	entries, err := s.Store().ScanEntries(ctx, Tenant, "", 0)
	if err != nil {
		return hippo.Reads{}, err
	}
	var meter hippo.Meter
	metered := hippo.WithMeter(ctx, &meter)
	for _, e := range entries {
		if _, err := s.Store().Memory(metered, Tenant, e.ID); err != nil {
			return hippo.Reads{}, err
		}
	}
	return meter.Total(), nil
}

// edit deletes a page as an editor would, and shows what becomes of the lines
// that pointed at it.
func (s *show) edit(ctx context.Context) error {
	s.result.Deleted = s.sample.Question.Edit.Delete
	before, err := s.Turn(ctx, functions.TurnRequest{ThreadRef: ref()})
	if err != nil {
		return err
	}
	id, err := hippo.Base64URL.ID(s.result.Deleted)
	if err != nil {
		return err
	}
	if err := s.Store().DeleteMemory(ctx, Tenant, id); err != nil {
		return err
	}
	if err := s.Settle(ctx); err != nil {
		return err
	}
	after, err := s.Turn(ctx, functions.TurnRequest{ThreadRef: ref()})
	if err != nil {
		return err
	}
	now := lines(after)
	for i, line := range lines(before) {
		if slices.Contains(line.Pointers, s.result.Deleted) {
			s.result.Before = append(s.result.Before, line.String())
			s.result.After = append(s.result.After, now[i].String())
		}
	}
	return nil
}

// lose changes memories while their events get lost, and repairs.
func (s *show) lose(ctx context.Context) error {
	s.LoseEvents(true)
	for _, change := range []struct{ name, content string }{
		{"journal/2026-11-21", "Opened late, the parade again."},
		{"sources/Insurance rider.pdf", "Rider for rental fleets, two pages, not read yet."},
		{"pages/Trailhead Rentals", "Rewritten by hand."},
		{"notebook/Spring opening date", ""},
	} {
		if err := s.change(ctx, change.name, change.content); err != nil {
			return err
		}
	}
	if err := s.Settle(ctx); err != nil {
		return err
	}
	s.LoseEvents(false)
	var err error
	if s.result.Check, err = s.Check(ctx, Tenant); err != nil {
		return err
	}
	if err := s.Repair(ctx, Tenant); err != nil {
		return err
	}
	s.result.Healed, err = s.Check(ctx, Tenant)
	return err
}

// change writes a memory, or deletes it where the content is empty.
func (s *show) change(ctx context.Context, name, content string) error {
	id, err := hippo.Base64URL.ID(name)
	if err != nil {
		return err
	}
	if content == "" {
		s.result.Lost = append(s.result.Lost, "deleted "+name)
		return s.Store().DeleteMemory(ctx, Tenant, id)
	}
	s.result.Lost = append(s.result.Lost, "wrote "+name)
	return s.Store().SaveMemory(ctx, Tenant, hippo.Memory{ID: id, Name: name, Content: content})
}
