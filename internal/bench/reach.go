package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/importer"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/embedded"
	"github.com/hippofire/hippofire/turnreader"
)

// ReachReport tells, of the questions about conversations, for how many all that
// answers them is within a model's reach.
type ReachReport struct {
	Conversations int `json:"conversations"`
	// Questions are those that name evidence, Audited those of them whose labels
	// an audit found wrong.
	Questions int `json:"questions"`
	Audited   int `json:"audited_questions"`
	// NoEvidence counts questions left out for naming no turn, NoTurn the strings
	// of evidence that name none.
	NoEvidence int `json:"questions_without_evidence"`
	NoTurn     int `json:"evidence_that_names_no_turn"`

	Buffer []BufferReach `json:"buffer"`
	Search []SearchReach `json:"search"`
}

// BufferReach is what the window and the stretches of the shown lines reach.
type BufferReach struct {
	Stretches string `json:"stretches"`
	Rule      string `json:"rule"`
	// Lines and Tokens of the buffer are means over the conversations.
	Lines  float64 `json:"lines"`
	Tokens float64 `json:"tokens"`
	Shares []Share `json:"shares"`
}

// SearchReach is what the first hits of a search for a question's own words
// reach, alone and with the messages that are shown around them.
type SearchReach struct {
	Hits       int     `json:"hits"`
	Alone      []Share `json:"alone"`
	WithAround []Share `json:"with_around"`
}

// Share is how many questions of a category are reached, over all of them and
// over those that the audit did not object to.
type Share struct {
	Category string   `json:"category"`
	All      Fraction `json:"all"`
	Unmarked Fraction `json:"without_audited"`
}

// Fraction is so many of so many.
type Fraction struct {
	Reached int `json:"reached"`
	Of      int `json:"of"`
}

// Categories of questions, in the order of LoCoMo's numbers, and all of them.
var categories = []string{"multi-hop", "temporal", "open-domain", "single-hop", "adversarial", "all"}

// asked is a question with the turns that answer it.
type asked struct {
	text     string
	category int
	evidence []hippo.MessageID
	audited  bool
}

// tally collects a Share for each category.
type tally []Share

func newTally() tally {
	t := make(tally, len(categories))
	for i, c := range categories {
		t[i].Category = c
	}
	return t
}

func (t tally) count(q asked, reached bool) {
	for _, i := range []int{q.category - 1, len(t) - 1} {
		t[i].All.count(reached)
		if !q.audited {
			t[i].Unmarked.count(reached)
		}
	}
}

func (f *Fraction) count(reached bool) {
	f.Of++
	if reached {
		f.Reached++
	}
}

// reaches says whether all that answers the question is in a set.
func (q asked) reaches(in map[hippo.MessageID]bool) bool {
	return !slices.ContainsFunc(q.evidence, func(id hippo.MessageID) bool { return !in[id] })
}

// ReadAudit reads which questions an audit objects to, by the number of the
// conversation and of the question in it.
func ReadAudit(r io.Reader) (map[string]string, error) {
	var errors []struct {
		ID       string `json:"question_id"`
		Question string `json:"question"`
	}
	if err := json.NewDecoder(r).Decode(&errors); err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "the file is no audit of LoCoMo")
	}
	audited := make(map[string]string, len(errors))
	for _, e := range errors {
		audited[e.ID] = e.Question
	}
	return audited, nil
}

// reach is the measurement under way.
type reach struct {
	conversations []importer.Conversation
	questions     [][]asked // by conversation
	report        ReachReport
	step          func(what string, done int)
}

// Reach measures, on the embedded store, over all questions that name evidence.
func Reach(ctx context.Context, conversations []importer.Conversation, audited map[string]string, step func(what string, done int)) (ReachReport, error) {
	r := &reach{conversations: conversations, step: step}
	if err := r.readQuestions(audited); err != nil {
		return ReachReport{}, err
	}
	for i, size := range []int{0, 10, 30} {
		if err := r.stretches(ctx, size, i == 0); err != nil {
			return ReachReport{}, err
		}
	}
	return r.report, nil
}

func (r *reach) readQuestions(audited map[string]string) error {
	r.report.Conversations = len(r.conversations)
	marked := 0
	for c, conversation := range r.conversations {
		turns := make(map[string]bool)
		for _, s := range conversation.Sessions {
			for _, t := range s.Turns {
				turns[t.ID] = true
			}
		}
		var questions []asked
		for n, q := range conversation.QA {
			if q.Category < 1 || q.Category >= len(categories) {
				return hippo.Errorf(hippo.Invalid, "category", "question %d of %s has the category %d", n, conversation.SampleID, q.Category)
			}
			text, isAudited := audited[fmt.Sprintf("locomo_%d_qa%d", c, n)]
			if isAudited {
				if marked++; text != q.Question {
					return hippo.Errorf(hippo.Invalid, "audit", "question %d of %s is not the one audited", n, conversation.SampleID)
				}
			}
			a := asked{text: q.Question, category: q.Category, audited: isAudited}
			for _, e := range q.Evidence {
				if turns[e] {
					a.evidence = append(a.evidence, hippo.MessageID(e))
				} else {
					r.report.NoTurn++
				}
			}
			if len(a.evidence) == 0 {
				r.report.NoEvidence++
				continue
			}
			r.report.Questions++
			if isAudited {
				r.report.Audited++
			}
			questions = append(questions, a)
		}
		r.questions = append(r.questions, questions)
	}
	if marked != len(audited) {
		return hippo.Errorf(hippo.Invalid, "audit", "%d of %d audited questions are not in the conversations", len(audited)-marked, len(audited))
	}
	return nil
}

// stretches measures with stretches of size messages, or of a session each where
// size is 0.
func (r *reach) stretches(ctx context.Context, size int, search bool) error {
	layout := hippo.DefaultLayout()
	store, err := embedded.New(layout, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	app, err := appOn(store)
	if err != nil {
		return err
	}
	name := "sessions"
	if size > 0 {
		name = fmt.Sprintf("%d messages", size)
	}
	for i, c := range r.conversations {
		r.step("replaying conversations in stretches of "+name, i)
		if err := replay(ctx, app, c, size); err != nil {
			return fmt.Errorf("%s: %w", c.SampleID, err)
		}
	}
	if search {
		if err := r.windows(ctx, app); err != nil {
			return err
		}
		if err := r.searches(ctx, app); err != nil {
			return err
		}
	}
	if err := r.buffers(ctx, app, store, name, "from before start"); err != nil {
		return err
	}
	if app, err = appOn(toBeforeStart{store}); err != nil {
		return err
	}
	return r.buffers(ctx, app, store, name, "to before start")
}

func appOn(store hippo.Store) (*functions.App, error) {
	return functions.New(functions.Config{
		Naming: string(hippo.Base64URL), Window: turnreader.DefaultWindow, Trusted: []string{string(hippo.User)},
	}, functions.Parts{Store: store, Publisher: unheard{}, Log: slog.New(slog.DiscardHandler)})
}

// unheard takes repair messages and does nothing with them: turns scan, and what
// a line points at is in the scan.
type unheard struct{}

func (unheard) Publish(context.Context, repairmsg.Message) error { return nil }

// toBeforeStart is a store on which a buffer shows the stretches that end before
// the window, as the paper's reference has it, in place of those that begin
// before it.
type toBeforeStart struct{ hippo.Store }

// EpisodesBefore lists by To. It reads all episodes, which no turn may.
func (s toBeforeStart) EpisodesBefore(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, before hippo.Position, limit int) ([]hippo.Episode, error) {
	all, err := s.EpisodesAfter(ctx, tenant, thread, hippo.Position{}, 1<<20)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e hippo.Episode) bool { return !e.To.Before(before) })
	slices.Reverse(all)
	return all[:min(len(all), limit)], nil
}

// buffers measures what a turn's window and buffer reach.
func (r *reach) buffers(ctx context.Context, app *functions.App, store hippo.Store, stretches, rule string) error {
	shares := newTally()
	b := BufferReach{Stretches: stretches, Rule: rule}
	for i, c := range r.conversations {
		turn, err := app.Turn(ctx, functions.TurnRequest{ThreadRef: ref(c)})
		if err != nil {
			return err
		}
		in := windowOf(turn.Blocks)
		for _, block := range turn.Blocks {
			if block.Kind != turnreader.BufferBlock {
				continue
			}
			b.Lines += float64(len(block.Lines)) / float64(len(r.conversations))
			b.Tokens += float64(block.Tokens) / float64(len(r.conversations))
			for _, line := range block.Lines {
				if err := addStretch(ctx, store, c, line.Handle, in); err != nil {
					return err
				}
			}
		}
		for _, q := range r.questions[i] {
			shares.count(q, q.reaches(in))
		}
	}
	b.Shares = shares
	r.report.Buffer = append(r.report.Buffer, b)
	return nil
}

// windows measures what the window reaches alone.
func (r *reach) windows(ctx context.Context, app *functions.App) error {
	shares := newTally()
	for i, c := range r.conversations {
		turn, err := app.Turn(ctx, functions.TurnRequest{ThreadRef: ref(c)})
		if err != nil {
			return err
		}
		in := windowOf(turn.Blocks)
		for _, q := range r.questions[i] {
			shares.count(q, q.reaches(in))
		}
	}
	r.report.Buffer = append(r.report.Buffer, BufferReach{Stretches: "none", Rule: "the window alone", Shares: shares})
	return nil
}

func windowOf(blocks []turnreader.Block) map[hippo.MessageID]bool {
	in := make(map[hippo.MessageID]bool)
	for _, block := range blocks {
		for _, m := range block.Messages {
			in[m.ID] = true
		}
	}
	return in
}

func addStretch(ctx context.Context, store hippo.Store, c importer.Conversation, handle string, in map[hippo.MessageID]bool) error {
	tenant := hippo.TenantID(c.SampleID)
	e, err := store.EpisodeByHandle(ctx, tenant, importer.LocomoThread, handle)
	if err != nil {
		return err
	}
	messages, err := store.MessagesIn(ctx, tenant, importer.LocomoThread, e.Stretch, hippo.Position{}, 1<<20)
	for _, m := range messages {
		in[m.ID] = true
	}
	return err
}

func ref(c importer.Conversation) functions.ThreadRef {
	return functions.ThreadRef{Tenant: c.SampleID, Thread: importer.LocomoThread}
}
