package turnreader_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/tokens"
	"github.com/hippofire/hippofire/turnreader"
)

func tokensOf(n int) *int { return &n }

// words is a text of n tokens by the rule of four characters.
func words(n int) string { return strings.Repeat("abc ", n) }

func TestThirtyOneMessagesOfWhichOneIsFiftyThousandTokens(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		var lines []string
		for i := range 31 {
			line := "user: what about it?"
			if i%2 == 1 {
				line = "assistant: It is fine."
			}
			if i == 27 {
				line = "assistant: " + words(50_000)
			}
			lines = append(lines, line)
		}
		r.say(lines...)
		turn := r.ask(turnreader.Request{Budget: tokensOf(8000), Message: newMessage("user: and now?")})
		if got := turn.Ledger.Tokens["total"]; got > 8000 || got < 7990 {
			t.Errorf("the turn costs %d tokens of 8000", got)
		}
		messages := block(turn, turnreader.RecentBlock).Messages
		if len(messages) != 29 || messages[0].ID != "m2" {
			t.Fatalf("shown: %s", shown(turn))
		}
		long := messages[25]
		if long.ID != "m27" || len(long.Content) > 32_000 || !strings.HasSuffix(long.Content, "[… cut here: 50004 tokens in all]") || !strings.HasPrefix(long.Content, "abc abc") {
			t.Errorf("the long message is shown with %d characters: %.40s … %s", len(long.Content), long.Content, long.Content[len(long.Content)-40:])
		}
		if got := dropped(turn); got != "recent_messages 1 window, recent_messages 1 cut" {
			t.Errorf("the ledger says %s", got)
		}
		whole := r.ask(turnreader.Request{})
		if got := block(whole, turnreader.RecentBlock).Messages[25].Content; len(got) != 200_000 {
			t.Errorf("without a budget the long message has %d characters", len(got))
		}
	})
}

func TestBudgetOfNothingAndOfOneAndSmallerThanTheNewMessage(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed("pages/a")
		r.say("user: hello", "assistant: hi")
		for _, budget := range []int{0, 1} {
			turn := r.ask(turnreader.Request{Budget: tokensOf(budget)})
			if len(turn.Blocks) != 0 || dropped(turn) != "memory_list 0 budget, buffer 0 budget, recent_messages 2 budget" {
				t.Errorf("budget %d: %+v, dropped %s", budget, turn.Blocks, dropped(turn))
			}
		}
		ask := turnreader.Request{System: words(50), Message: newMessage("user: " + words(100))}
		for _, budget := range []int{0, 1, 99, 157} {
			ask.Budget = tokensOf(budget)
			e := r.refused(ask)
			want := map[string]int{"budget": budget, "needed": 158, "system_text": 54, "new_message": 104}
			if diff := cmp.Diff(want, e.Figures); diff != "" || e.Kind != hippo.OverBudget || e.Field != "budget" {
				t.Errorf("budget %d: %v %s: %s", budget, e.Kind, e.Field, diff)
			}
		}
		ask.Budget = tokensOf(158)
		if turn := r.ask(ask); len(turn.Blocks) != 2 || turn.Ledger.Tokens["total"] != 158 {
			t.Errorf("%+v", turn.Blocks)
		}
	})
}

func TestTooLargeANewMessageReadsNothing(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReader(f)
	reads := 0
	f.Fault.Before = f.Count(&reads)
	r.refused(turnreader.Request{Budget: tokensOf(10), Message: newMessage("user: " + words(100))})
	if reads != 0 {
		t.Errorf("%d reads", reads)
	}
}

func TestMessagesAreDroppedInWholeExchanges(t *testing.T) {
	lines := []string{
		"user: " + words(20), "assistant: " + words(20), // m0 m1
		"user: " + words(20), "assistant c1,c2: ", "tool c1: " + words(20), "tool c2: " + words(20), "assistant: " + words(20), // m2 to m6
		"user: " + words(20), "assistant: " + words(20), // m7 m8
	}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		r.say(lines...)
		whole := block(r.ask(turnreader.Request{}), turnreader.RecentBlock).Tokens
		for _, test := range []struct {
			budget int
			want   string
		}{
			{whole, "m0 m1 m2 m3 m4 m5 m6 m7 m8"},
			{whole - 1, "m2 m3 m4 m5 m6 m7 m8"},
			{whole - 48, "m2 m3 m4 m5 m6 m7 m8"},
			{whole - 49, "m7 m8"},
			{48, "m7 m8"},
			{47, "m8"}, // of the latest exchange with a reply, the latest stays
			{24, "m8"},
			{23, "m8"}, // cut
			{12, ""},
		} {
			turn := r.ask(turnreader.Request{Budget: tokensOf(test.budget)})
			if got := shown(turn); got != test.want {
				t.Errorf("budget %d: %s, want %s", test.budget, got, test.want)
			}
		}
	})
}

func TestMessagesThatAreCutShareWhatOthersLeave(t *testing.T) {
	r := newReader(fixture.Embedded(t))
	r.say("user: "+words(20), "assistant c1,c2: ", "tool c1: "+words(5000), "tool c2: "+words(9000), "assistant: "+words(20))
	turn := r.ask(turnreader.Request{Budget: tokensOf(3000)})
	if got := turn.Ledger.Tokens["total"]; shown(turn) != "m0 m1 m2 m3 m4" || got > 3000 || got < 2980 {
		t.Fatalf("shown %s, %d tokens of 3000", shown(turn), got)
	}
	messages := block(turn, turnreader.RecentBlock).Messages
	if a, b := len(messages[2].Content), len(messages[3].Content); a < 5000 || b < 5000 || dropped(turn) != "recent_messages 2 cut" {
		t.Errorf("%d and %d characters are shown; dropped %s", a, b, dropped(turn))
	}

	// What the buffer was promised and does not need is theirs too.
	long := newReader(fixture.Embedded(t))
	long.EmptyIndex()
	messages = long.say("user: "+words(400), "assistant: "+words(400), "user: q", "assistant: "+words(5000))
	long.episode(messages[0], messages[1], "stretch 0")
	turn = long.ask(turnreader.Request{Budget: tokensOf(1000)})
	if got := turn.Ledger.Tokens["total"]; shown(turn) != "m2 m3" || block(turn, turnreader.BufferBlock).Tokens == 0 || got > 1000 || got < 990 {
		t.Errorf("shown %s, %v", shown(turn), turn.Ledger.Tokens)
	}
}

func TestLatestExchangeLosesWholeToolCallsFromItsBeginning(t *testing.T) {
	r := newReader(fixture.Embedded(t))
	r.say("user: "+words(20), "assistant: "+words(20), "user: "+words(20),
		"assistant c1: ", "tool c1: "+words(40), "assistant c2: ", "tool c2: "+words(40), "assistant: "+words(20))
	turn := r.ask(turnreader.Request{Budget: tokensOf(100)})
	if got := shown(turn); got != "m5 m6 m7" {
		t.Errorf("shown: %s", got)
	}
}

func TestBudgetThatDropsMessagesOfAShortThreadShowsTheBuffer(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		var lines []string
		for range 10 {
			lines = append(lines, "user: "+words(100), "assistant: "+words(100))
		}
		messages := r.say(lines...)
		for i := 0; i < 20; i += 2 {
			r.episode(messages[i], messages[i+1], fmt.Sprintf("stretch %d", i/2))
		}
		if b := block(r.turn(), turnreader.BufferBlock); b.Text != "" {
			t.Errorf("without a budget there is a buffer: %s", b.Text)
		}
		turn := r.ask(turnreader.Request{Budget: tokensOf(1200)})
		if got := shown(turn); got != "m12 m13 m14 m15 m16 m17 m18 m19" {
			t.Fatalf("shown: %s", got)
		}
		got, gap := gists(turn)
		if diff := cmp.Diff(stretches(0, 1, 2, 3, 4, 5), got); diff != "" || gap {
			t.Errorf("gap %v: %s", gap, diff)
		}
		if total := turn.Ledger.Tokens["total"]; total > 1200 {
			t.Errorf("%d tokens of 1200", total)
		}

		// A budget without room for any message: the buffer is of all stretches.
		turn = r.ask(turnreader.Request{Budget: tokensOf(1000), Message: newMessage("user: " + words(640)),
			Contract: &contract.Contract{Include: map[contract.Block]contract.Rule{
				contract.Buffer: {Rank: 2, MaxTokens: tokensOf(350)}, contract.RecentMessages: {Rank: 1},
			}}})
		got, gap = gists(turn)
		if diff := cmp.Diff(stretches(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), got); diff != "" || gap || shown(turn) != "" {
			t.Errorf("gap %v, shown %q: %s", gap, shown(turn), diff)
		}
	})
}

func TestBudgetThatDropsMoreStretchesOfAShortThreadThanABufferShowsLeavesAGap(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		var lines []string
		for range 15 {
			lines = append(lines, "user: "+words(100), "assistant: "+words(100))
		}
		for i, m := range r.say(lines...) { // 30 messages, which fit the window
			r.episode(m, m, fmt.Sprintf("stretch %d", i))
		}
		for _, test := range []struct {
			budget int
			first  string // the oldest message shown
			want   []string
			gap    bool
		}{
			{2500, "m12", stretches(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), false},
			{2250, "m14", stretches(0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), true},
		} {
			turn := r.ask(turnreader.Request{Budget: tokensOf(test.budget)})
			got, gap := gists(turn)
			if diff := cmp.Diff(test.want, got); diff != "" || gap != test.gap || !strings.HasPrefix(shown(turn), test.first+" ") {
				t.Errorf("budget %d: shown %s, gap %v: %s", test.budget, shown(turn), gap, diff)
			}
		}
	})
}

func TestBufferWithoutRoomLosesItsOldestLinesToTheGap(t *testing.T) {
	r := newReader(fixture.Embedded(t))
	r.EmptyIndex()
	r.thread(60, 3) // ten stretches before the window
	hold := func(n int) *contract.Contract {
		return &contract.Contract{Include: map[contract.Block]contract.Rule{contract.Buffer: {Rank: 1, MaxTokens: tokensOf(n)}, contract.RecentMessages: {Rank: 2}}}
	}
	full := r.ask(turnreader.Request{Contract: hold(10_000)})
	if got, gap := gists(full); len(got) != 10 || gap {
		t.Fatalf("%v, gap %v", got, gap)
	}
	size := full.Ledger.Tokens[string(turnreader.BufferBlock)]
	turn := r.ask(turnreader.Request{Contract: hold(size - 10)})
	got, gap := gists(turn)
	if diff := cmp.Diff(stretches(0, 5, 6, 7, 8, 9), got); diff != "" || !gap {
		t.Errorf("gap %v: %s", gap, diff)
	}
	if got := dropped(turn); got != "buffer 4 ceiling" {
		t.Errorf("the ledger says %s", got)
	}
	for _, ceiling := range []int{5, 0} {
		none := r.ask(turnreader.Request{Contract: hold(ceiling)})
		if b := block(none, turnreader.BufferBlock); b.Text != "" || dropped(none) != "buffer 0 ceiling" {
			t.Errorf("held to %d: %s, dropped %s", ceiling, b.Text, dropped(none))
		}
	}
}

func TestEmojiArabicThaiAndCJKAreCountedAndCut(t *testing.T) {
	for name, text := range map[string]string{
		"emoji":  strings.Repeat("👩‍👩‍👧‍👦👍🏽", 900),
		"Arabic": strings.Repeat("السَّلامُ عليكم ورحمة الله ", 500),
		"Thai":   strings.Repeat("สวัสดีครับ", 1500),
		"CJK":    strings.Repeat("今天天气很好我们去公园", 1200),
	} {
		for _, tokenizer := range []string{tokens.Chars4, tokens.O200k, tokens.CL100k} {
			count, err := tokens.ByName(tokenizer)
			if err != nil {
				t.Fatal(err)
			}
			r := newReader(fixture.Embedded(t))
			r.say("user: q", "assistant: "+text)
			turn := r.ask(turnreader.Request{Budget: tokensOf(2000), Tokens: count})
			messages := block(turn, turnreader.RecentBlock).Messages
			if len(messages) != 2 || turn.Ledger.Tokens["total"] > 2000 || turn.Ledger.Tokens["total"] < 300 {
				t.Errorf("%s, %s: %d messages, %v tokens", name, tokenizer, len(messages), turn.Ledger.Tokens)
				continue
			}
			kept, _, cut := strings.Cut(messages[1].Content, "\n[… cut here: ")
			if !cut || !utf8.ValidString(kept) || !strings.HasPrefix(text, kept) || strings.HasPrefix(text[len(kept):], "\u200d") || strings.HasPrefix(text[len(kept):], "\u0e35") {
				t.Errorf("%s, %s: cut to %q", name, tokenizer, kept[max(0, len(kept)-40):])
			}
		}
	}
}
