package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/dataset"
	"github.com/hippofire/hippofire/internal/importer"
)

// conversation has 20 sessions of 10 turns; the window begins with turn D18:1.
// Each turn has a word of its own, and each session's first turn a fact.
func conversation(questions ...importer.Question) importer.Conversation {
	c := importer.Conversation{SampleID: "c", SpeakerA: "Ann", SpeakerB: "Ben", QA: questions}
	for n := 1; n <= 20; n++ {
		s := importer.Session{Number: n, At: time.Date(2026, 1, n, 9, 0, 0, 0, time.UTC)}
		for i := 1; i <= 10; i++ {
			id := fmt.Sprintf("D%d:%d", n, i)
			s.Turns = append(s.Turns, importer.Turn{Speaker: []string{"Ann", "Ben"}[i%2], ID: id, Text: "The word is " + word(n, i)})
		}
		s.Facts = []importer.Fact{{Speaker: "Ann", Text: fmt.Sprintf("Ann spoke in session %d.", n), Turns: []string{s.Turns[0].ID}}}
		c.Sessions = append(c.Sessions, s)
	}
	return c
}

func word(session, turn int) string { return fmt.Sprintf("zz%cq%c", 'a'+session, 'a'+turn) }

func TestWhatIsWithinReach(t *testing.T) {
	questions := []importer.Question{
		{Question: "What about " + word(20, 3) + "?", Category: 1, Evidence: []string{"D20:3"}},                        // in the window
		{Question: "What about " + word(1, 3) + "?", Category: 1, Evidence: []string{"D1:3"}},                          // in the first stretch
		{Question: "What about " + word(3, 3) + "?", Category: 2, Evidence: []string{"D3:3"}},                          // in the far middle
		{Question: "And " + word(1, 3) + " with " + word(3, 3) + "?", Category: 2, Evidence: []string{"D1:3", "D3:3"}}, // half of it there
		{Question: "What about it?", Category: 3, Evidence: []string{"D17:7"}},                                         // said in other words
		{Question: "Who?", Category: 4, Evidence: []string{"D99:1"}},
		{Question: "Nobody?", Category: 5},
	}
	report, err := bench.Reach(t.Context(), []importer.Conversation{conversation(questions...)}, map[string]string{"locomo_0_qa1": questions[1].Question}, func(string, int) {})
	if err != nil {
		t.Fatal(err)
	}
	counts := []int{report.Conversations, report.Questions, report.Audited, report.NoEvidence, report.NoTurn}
	if diff := cmp.Diff([]int{1, 5, 1, 2, 1}, counts); diff != "" {
		t.Errorf("counts: %s", diff)
	}
	reached := func(shares []bench.Share) (text string) {
		for _, s := range shares {
			text += fmt.Sprintf("%d/%d %d/%d ", s.All.Reached, s.All.Of, s.Unmarked.Reached, s.Unmarked.Of)
		}
		return strings.TrimSpace(text)
	}
	var got []string
	for _, b := range report.Buffer {
		got = append(got, fmt.Sprintf("%s, %s: %.0f lines, costly %v: %s", b.Stretches, b.Rule, b.Lines, b.Tokens > 0, reached(b.Shares)))
	}
	want := []string{
		"none, the window alone: 0 lines, costly false: 1/2 1/1 0/2 0/2 0/1 0/1 0/0 0/0 0/0 0/0 1/5 1/4",
		"sessions, from before start: 12 lines, costly true: 2/2 1/1 0/2 0/2 1/1 1/1 0/0 0/0 0/0 0/0 3/5 2/4",
		"sessions, to before start: 12 lines, costly true: 2/2 1/1 0/2 0/2 1/1 1/1 0/0 0/0 0/0 0/0 3/5 2/4",
		"10 messages, from before start: 12 lines, costly true: 2/2 1/1 0/2 0/2 1/1 1/1 0/0 0/0 0/0 0/0 3/5 2/4",
		"10 messages, to before start: 12 lines, costly true: 2/2 1/1 0/2 0/2 1/1 1/1 0/0 0/0 0/0 0/0 3/5 2/4",
		// The sixth stretch straddles the window.
		"30 messages, from before start: 6 lines, costly true: 2/2 1/1 2/2 2/2 1/1 1/1 0/0 0/0 0/0 0/0 5/5 4/4",
		"30 messages, to before start: 5 lines, costly true: 2/2 1/1 2/2 2/2 0/1 0/1 0/0 0/0 0/0 0/0 4/5 3/4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buffer: %s", diff)
	}
	got = nil
	for _, s := range report.Search {
		got = append(got, fmt.Sprintf("%d: %s; %s", s.Hits, reached(s.Alone[5:]), reached(s.WithAround[5:])))
	}
	if diff := cmp.Diff([]string{"1: 3/5 2/4; 3/5 2/4", "5: 4/5 3/4; 4/5 3/4", "10: 4/5 3/4; 4/5 3/4"}, got); diff != "" {
		t.Errorf("search: %s", diff)
	}
}

func TestAuditOfOtherQuestionsIsRefused(t *testing.T) {
	c := conversation(importer.Question{Question: "Who?", Category: 1, Evidence: []string{"D1:1"}})
	for _, audited := range []map[string]string{{"locomo_0_qa0": "Where?"}, {"locomo_0_qa7": "Who?"}} {
		if _, err := bench.Reach(t.Context(), []importer.Conversation{c}, audited, func(string, int) {}); err == nil {
			t.Errorf("%v is taken for an audit of the conversation", audited)
		}
	}
}

// TestReachOfLoCoMo holds the buffer and the search to a floor a little under
// what was measured.
func TestReachOfLoCoMo(t *testing.T) {
	file := dataset.LoCoMo(t)
	conversations, err := importer.ReadLocomo(file)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := os.Open(filepath.Join(filepath.Dir(file.Name()), "audit-errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer marks.Close()
	audited, err := bench.ReadAudit(marks)
	if err != nil {
		t.Fatal(err)
	}
	report, err := bench.Reach(t.Context(), conversations, audited, func(string, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{10, 1977, 154, 9, 9}, []int{report.Conversations, report.Questions, report.Audited, report.NoEvidence, report.NoTurn}); diff != "" {
		t.Errorf("counts: %s", diff)
	}
	percent := func(shares []bench.Share) float64 {
		all := shares[len(shares)-1].All
		return 100 * float64(all.Reached) / float64(all.Of)
	}
	window, sessions := percent(report.Buffer[0].Shares), percent(report.Buffer[1].Shares)
	if window > 10 || sessions < 40 {
		t.Errorf("the window reaches %.1f %%, with the buffer of sessions %.1f %%", window, sessions)
	}
	if got := percent(report.Search[1].WithAround); got < 70 {
		t.Errorf("five hits reach %.1f %%, want 70 at least", got)
	}
}
