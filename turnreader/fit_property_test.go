package turnreader_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/turnreader"
)

// drawThread is a thread as people and agents make it, with what goes wrong in it.
func drawThread(t *rapid.T) []string {
	var lines []string
	calls := 0
	for range rapid.IntRange(0, 14).Draw(t, "parts") {
		long := words(rapid.SampledFrom([]int{1, 5, 40, 300}).Draw(t, "long"))
		switch rapid.IntRange(0, 6).Draw(t, "part") {
		case 0, 1:
			lines = append(lines, "user: "+long)
		case 2, 3:
			lines = append(lines, "assistant: "+long)
		case 4:
			calls++
			lines = append(lines, fmt.Sprintf("assistant c%d,d%d: ", calls, calls), fmt.Sprintf("tool c%d: %s", calls, long), fmt.Sprintf("tool d%d: %s", calls, long))
		case 5:
			lines = append(lines, rapid.SampledFrom([]string{"assistant lost: ", "tool lost: x", "robot: beep"}).Draw(t, "wrong"))
		case 6:
			lines = append(lines, "system: "+long)
		}
	}
	return lines
}

func TestWhateverTheBudgetATurnKeepsItsRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newReader(fixture.Embedded(t))
		r.EmptyIndex()
		r.indexed(fixture.Names(rapid.IntRange(0, 30).Draw(rt, "memories"))...)
		saved := r.say(drawThread(rt)...)
		for i := 0; i+1 < len(saved); i += 3 {
			r.episode(saved[i], saved[min(i+2, len(saved)-1)], fmt.Sprintf("stretch %d", i/3))
		}
		budget := rapid.IntRange(0, 1500).Draw(rt, "budget")
		ask := turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread, Budget: &budget, System: "You sell bicycles.", Message: newMessage("user: well?")}
		if rapid.Bool().Draw(rt, "facts") {
			ask.Facts = []string{words(20), words(20), words(20)}
		}
		turn, err := r.Turn(t.Context(), ask)
		var refused *hippo.Error
		if errors.As(err, &refused) {
			if refused.Kind != hippo.OverBudget || refused.Figures["needed"] <= budget {
				rt.Fatalf("budget %d: %v %v", budget, err, refused.Figures)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		if got := turn.Ledger.Tokens["total"]; got > budget {
			rt.Fatalf("the turn costs %d of %d", got, budget)
		}
		if last := turn.Blocks[len(turn.Blocks)-1]; last.Kind != turnreader.MessageBlock {
			rt.Fatalf("%s is last", last.Kind)
		}
		checkMessages(rt, saved, block(turn, turnreader.RecentBlock).Messages)
	})
}

// checkMessages demands of the messages shown that each call has its results right
// behind it, that no result is alone, and that nothing that could be shown is
// missing between two of them.
func checkMessages(t *rapid.T, saved, shown []hippo.Message) {
	open := map[string]bool{}
	for _, m := range shown {
		if m.Role == hippo.Tool {
			if !open[m.ToolCallID] {
				t.Fatalf("%s answers no call", m.ID)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Fatalf("%s stands before the results of %v", m.ID, open)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		t.Fatalf("no results of %v", open)
	}
	if len(shown) == 0 {
		return
	}
	begin := slices.IndexFunc(saved, func(m hippo.Message) bool { return m.ID == shown[0].ID })
	for _, m := range saved[begin:] {
		possible := m.Role != "robot" && m.ToolCallID != "lost" && !(len(m.ToolCalls) == 1 && m.ToolCalls[0].ID == "lost")
		if possible && !slices.ContainsFunc(shown, func(s hippo.Message) bool { return s.ID == m.ID }) {
			t.Fatalf("%s is missing behind %s", m.ID, shown[0].ID)
		}
	}
}
