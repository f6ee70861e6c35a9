package turnreader_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/turnreader"
)

// thread saves n messages, a minute apart, and records an episode for each run of
// size of them.
func (r *reading) thread(n, size int) []hippo.Message {
	r.Helper()
	start := hippo.MicrosOf(time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC))
	messages := make([]hippo.Message, n)
	for i := range messages {
		messages[i] = hippo.Message{
			ID: hippo.MessageID(fmt.Sprintf("m%04d", i)), Role: hippo.User, Content: fmt.Sprintf("message %d", i),
			CreatedAt: start + hippo.Micros(i)*hippo.Micros(time.Minute/time.Microsecond),
		}
	}
	for chunk := range slices.Chunk(messages, 100) {
		_, err := r.Direct.SaveMessages(r.Context(), fixture.Tenant, fixture.Thread, chunk)
		r.Must(err)
	}
	if size > 0 {
		for i := 0; i+size <= n; i += size {
			r.episode(messages[i], messages[i+size-1], fmt.Sprintf("stretch %d", i/size))
		}
	}
	return messages
}

func (r *reading) episode(from, to hippo.Message, gist string, wrote ...string) {
	r.Helper()
	pass := hippo.Pass{Stretch: hippo.Stretch{From: from.Position(), To: to.Position()}, Hash: gist, Gist: gist}
	for _, name := range wrote {
		pass.Writes = append(pass.Writes, hippo.Write{ID: r.ID(name), Name: name})
	}
	_, err := r.Direct.RecordPass(r.Context(), fixture.Tenant, fixture.Thread, pass)
	r.Must(err)
	var ids []hippo.MemoryID
	for _, w := range pass.Writes {
		ids = append(ids, w.ID)
	}
	r.Must(reconcile.New(r.Direct, r.Layout.Naming, r.Asked).Reconcile(r.Context(), fixture.Tenant, ids))
}

// gists are the lines of the buffer, and whether the gap line is there.
func gists(t turnreader.Turn) (gists []string, gap bool) {
	b := block(t, turnreader.BufferBlock)
	for _, l := range b.Lines {
		gists = append(gists, l.Gist)
	}
	return gists, strings.Contains(b.Text, "more of this thread")
}

func stretches(numbers ...int) []string {
	var out []string
	for _, n := range numbers {
		out = append(out, fmt.Sprintf("stretch %d", n))
	}
	return out
}

func TestThreadThatFitsItsWindowCostsNoBuffer(t *testing.T) {
	for _, n := range []int{0, 1, 29, 30} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			r := newReader(f)
			f.EmptyIndex()
			r.thread(n, 1)
			turn := r.turn()
			if b := block(turn, turnreader.BufferBlock); b.Text != "" {
				t.Errorf("%d messages: a buffer of %d tokens", n, b.Tokens)
			}
			if slices.ContainsFunc(turn.Ledger.Reads, func(read hippo.Reads) bool { return strings.Contains(read.Query, "Episode") }) {
				t.Errorf("%d messages: episodes were read: %v", n, turn.Ledger.Reads)
			}
			if got := len(block(turn, turnreader.RecentBlock).Messages); got != n {
				t.Errorf("%d messages are shown, want %d", got, n)
			}
		})
	}
}

func TestThreadsOf1And11And12And13And30Stretches(t *testing.T) {
	for _, test := range []struct {
		stretches int // of two messages each, all of them before the window
		want      []string
		gap       bool
	}{
		{1, stretches(0), false},
		{11, stretches(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), false},
		{12, stretches(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), false},
		{13, stretches(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), true},
		{30, stretches(0, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29), true},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			r := newReader(f)
			f.EmptyIndex()
			messages := r.thread(2*test.stretches+30, 0)
			for i := range test.stretches {
				r.episode(messages[2*i], messages[2*i+1], fmt.Sprintf("stretch %d", i))
			}
			got, gap := gists(r.turn())
			if diff := cmp.Diff(test.want, got); diff != "" || gap != test.gap {
				t.Errorf("%d stretches: gap %v, want %v: %s", test.stretches, gap, test.gap, diff)
			}
		})
	}
}

func TestStretchThatStraddlesTheWindowCountsAsOlder(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		messages := r.thread(40, 0)
		r.episode(messages[0], messages[4], "stretch 0")
		r.episode(messages[5], messages[14], "stretch 1") // the window begins at 10
		r.episode(messages[15], messages[39], "stretch 2")
		got, gap := gists(r.turn())
		if diff := cmp.Diff(stretches(0, 1), got); diff != "" || gap {
			t.Errorf("gap %v: %s", gap, diff)
		}
	})
}

func TestPointersFollowMovesAndAreOtherwiseDropped(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		messages := r.thread(40, 0)
		names := []string{"pages/kept", "pages/renamed", "pages/twice", "pages/deleted", "pages/circle a"}
		r.episode(messages[0], messages[1], "all", names...)
		r.indexed("pages/new name", "pages/second", "pages/third", "pages/circle b")
		move := func(at int, from, into string) {
			pass := hippo.Pass{Stretch: hippo.Stretch{From: messages[at].Position(), To: messages[at].Position()}, Hash: "h", Moves: []hippo.Move{{From: f.ID(from), Into: f.ID(into)}}}
			_, err := f.Direct.RecordPass(t.Context(), fixture.Tenant, fixture.Thread, pass)
			f.Must(err)
			f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(t.Context(), fixture.Tenant, pass.Touched()))
		}
		move(2, "pages/renamed", "pages/new name")
		move(3, "pages/twice", "pages/second")
		move(4, "pages/second", "pages/third")
		move(5, "pages/circle a", "pages/circle b")
		f.PutDocument(hippo.Fill(f.Layout.Paths.Move, "t", string(f.ID("pages/circle b"))), map[string]any{"into": string(f.ID("pages/circle a"))})
		f.DeleteMemories("pages/deleted", "pages/circle b")
		f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(t.Context(), fixture.Tenant, []hippo.MemoryID{f.ID("pages/deleted"), f.ID("pages/circle b")}))

		lines := block(r.turn(), turnreader.BufferBlock).Lines
		if len(lines) != 1 {
			t.Fatalf("%d lines, want 1", len(lines))
		}
		if diff := cmp.Diff([]string{"pages/kept", "pages/new name", "pages/third"}, lines[0].Pointers); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBufferIsTheSameForAnyNewMessage(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.thread(60, 3)
		var texts []string
		for _, content := range []string{"stretch 1", "what about stretch 4?", "", "🚲"} {
			turn, err := r.Turn(t.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread, Message: &hippo.Message{ID: "new", Role: hippo.User, Content: content}})
			f.Must(err)
			texts = append(texts, block(turn, turnreader.BufferBlock).Text)
		}
		if texts[0] == "" || len(slices.Compact(texts)) != 1 {
			t.Error("the buffer depends on the new message")
		}
	})
}

func TestStoredNewMessageIsShownOnce(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReader(f)
	messages := r.thread(5, 0)
	turn, err := r.Turn(t.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread, Message: &messages[4]})
	f.Must(err)
	if recent, fresh := block(turn, turnreader.RecentBlock).Messages, block(turn, turnreader.MessageBlock).Messages; len(recent) != 4 || len(fresh) != 1 {
		t.Errorf("%d recent and %d new messages, want 4 and 1", len(recent), len(fresh))
	}
}

func TestBufferOfANewMessageThatWasStoredLongAgoHidesNothing(t *testing.T) {
	r := newReader(fixture.Embedded(t))
	r.EmptyIndex()
	messages := r.say("user: "+words(20), "assistant: "+words(200), "user: "+words(200), "assistant: "+words(200))
	r.episode(messages[1], messages[3], "stretch 0")
	turn := r.ask(turnreader.Request{Message: &messages[0], Budget: tokensOf(400), Contract: &contract.Contract{Include: map[contract.Block]contract.Rule{
		contract.Buffer: {Rank: 2, MaxTokens: tokensOf(370)}, contract.RecentMessages: {Rank: 1},
	}}})
	if got, _ := gists(turn); shown(turn) != "" || len(got) != 1 {
		t.Errorf("shown %q; the buffer has %v", shown(turn), got)
	}
}
