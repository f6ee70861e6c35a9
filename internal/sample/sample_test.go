package sample

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
)

const (
	window = 30
	lines  = 12
)

func loaded(t *testing.T) Sample {
	t.Helper()
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMessagesCanBeStoredAsTheyAre(t *testing.T) {
	s := loaded(t)
	if n := len(s.Messages); n < 170 {
		t.Errorf("%d messages, want 170 at least", n)
	}
	seen := make(map[hippo.MessageID]bool)
	var last hippo.Micros
	for _, m := range s.Messages {
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if m.CreatedAt <= last {
			t.Errorf("%s: %s is not after the message before it", m.ID, m.CreatedAt)
		}
		if seen[m.ID] {
			t.Errorf("%s stands twice", m.ID)
		}
		last, seen[m.ID] = m.CreatedAt, true
	}
	if seen[s.Question.ID] {
		t.Errorf("the question has the id of a message, %s", s.Question.ID)
	}
	if err := s.Question.Check(); err != nil || s.Question.Role != hippo.User {
		t.Errorf("the question is from %q: %v", s.Question.Role, err)
	}
}

func TestEveryStretchIsOneSittingWithOnePass(t *testing.T) {
	s := loaded(t)
	if n := len(s.Passes); n < 17 {
		t.Errorf("%d stretches, want 17 at least", n)
	}
	if got, want := s.Messages[len(s.Messages)-1].Stretch, len(s.Passes); got != want {
		t.Errorf("the last message is of stretch %d of %d", got, want)
	}
	for i, m := range s.Messages[1:] {
		if step := m.Stretch - s.Messages[i].Stretch; step != 0 && step != 1 {
			t.Errorf("%s of stretch %d follows stretch %d", m.ID, m.Stretch, s.Messages[i].Stretch)
		}
	}
	var end hippo.Micros
	for i, p := range s.Passes {
		if p.Stretch != i+1 {
			t.Errorf("pass %d is of stretch %d", i+1, p.Stretch)
		}
		in := s.Stretch(p.Stretch)
		if len(in) < 6 || len(in) > 14 {
			t.Fatalf("stretch %d has %d messages, want 6 to 14", p.Stretch, len(in))
		}
		from, to := in[0].CreatedAt, in[len(in)-1].CreatedAt
		if to.Time().Sub(from.Time()).Hours() > 2 || from.Time().Sub(end.Time()).Hours() < 24 {
			t.Errorf("stretch %d, %s to %s, is not one sitting days after the one before", p.Stretch, from, to)
		}
		end = to
	}
}

func TestEveryTurnAndEveryToolCallIsAnswered(t *testing.T) {
	s := loaded(t)
	for n := range len(s.Passes) {
		in := s.Stretch(n + 1)
		if in[0].Role != hippo.User {
			t.Errorf("stretch %d does not begin with the user", n+1)
		}
		for i, m := range in {
			next := hippo.Message{}
			if i+1 < len(in) {
				next = in[i+1]
			}
			switch {
			case len(m.ToolCalls) == 1 && (next.Role != hippo.Tool || next.ToolCallID != m.ToolCalls[0].ID):
				t.Errorf("%s: its tool call is not answered", m.ID)
			case len(m.ToolCalls) > 1:
				t.Errorf("%s has more than one tool call", m.ID)
			case m.Role == hippo.Tool && (len(in[i-1].ToolCalls) == 0 || next.Role != hippo.Assistant):
				t.Errorf("%s: a result without a call or a reply", m.ID)
			case m.Role == hippo.User && next.Role != hippo.User && next.Role != hippo.Assistant:
				t.Errorf("%s is not answered", m.ID)
			}
		}
	}
}

func TestLinesAreShortAndOneStretchIsSmallTalk(t *testing.T) {
	smallTalk := 0
	for _, p := range loaded(t).Passes {
		if p.Episode == "" {
			smallTalk++
			if len(p.Writes)+len(p.Deletes)+len(p.Moves) > 0 {
				t.Errorf("stretch %d is small talk, and files something", p.Stretch)
			}
		}
		if w, c := len(strings.Fields(p.Episode)), utf8.RuneCountInString(p.Episode); w >= 25 || c > 220 || strings.Contains(p.Episode, "\n") {
			t.Errorf("stretch %d: %d words, %d characters: %q", p.Stretch, w, c, p.Episode)
		}
	}
	if smallTalk != 1 {
		t.Errorf("%d stretches of small talk, want 1", smallTalk)
	}
}

func TestPassesFileAndDropOnlyWhatCanBe(t *testing.T) {
	s := loaded(t)
	live := make(map[string]string)
	for _, m := range s.Before {
		checkMemory(t, m.Name, m.Content)
		if _, ok := live[m.Name]; ok || m.UpdatedAt == 0 || m.UpdatedAt >= s.Messages[0].CreatedAt {
			t.Errorf("%q, of %s, stands twice or is not from before the thread", m.Name, m.UpdatedAt)
		}
		live[m.Name] = m.Content
	}
	var rewritten, deleted, moved int
	for _, p := range s.Passes {
		named := make(map[string]bool)
		for _, w := range p.Writes {
			checkMemory(t, w.Name, w.Content)
			if old, ok := live[w.Name]; ok {
				rewritten++
				if old == w.Content {
					t.Errorf("stretch %d writes %q as it was", p.Stretch, w.Name)
				}
			}
			if named[w.Name] {
				t.Errorf("stretch %d writes %q twice", p.Stretch, w.Name)
			}
			live[w.Name], named[w.Name] = w.Content, true
		}
		for _, name := range p.Deletes {
			drop(t, live, p.Stretch, name)
			deleted++
		}
		for _, m := range p.Moves {
			drop(t, live, p.Stretch, m.From)
			if _, ok := live[m.Into]; !ok {
				t.Errorf("stretch %d moves into %q, which is not there", p.Stretch, m.Into)
			}
			moved++
		}
	}
	if rewritten < 10 || deleted != 1 || moved != 1 {
		t.Errorf("%d rewritten, %d deleted, %d moved, want 10 at least, 1 and 1", rewritten, deleted, moved)
	}
	if n := len(live); n < 55 || n > 66 {
		t.Errorf("%d memories at the end, want 55 to 66", n)
	}
	kinds := make(map[hippo.Kind]int)
	for name := range live {
		kinds[hippo.KindOf(name)]++
	}
	if got, want := slices.Sorted(maps.Keys(kinds)), []hippo.Kind{"journal", "notebook", "pages", "sources"}; !cmp.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
	checkOnlyIn(t, live, s.Question)
}

func checkMemory(t *testing.T, name, content string) {
	t.Helper()
	id, err := hippo.Base64URL.ID(name)
	if err != nil || !hippo.Base64URL.Listable(id) {
		t.Errorf("%q cannot be listed: %v", name, err)
	}
	if n := utf8.RuneCountInString(content); n == 0 || n > 1500 {
		t.Errorf("%q has %d characters, want 1 to 1500", name, n)
	}
}

func drop(t *testing.T, live map[string]string, stretch int, name string) {
	t.Helper()
	if _, ok := live[name]; !ok {
		t.Errorf("stretch %d drops %q, which is not there", stretch, name)
	}
	delete(live, name)
}

// checkOnlyIn holds that the answer, and what the editor deletes, are there at
// the end, and that no other memory gives the answer away.
func checkOnlyIn(t *testing.T, live map[string]string, q Question) {
	t.Helper()
	if _, ok := live[q.Edit.Delete]; !ok || q.Edit.Delete == q.Memory {
		t.Errorf("the editor deletes %q, which is not there or holds the answer", q.Edit.Delete)
	}
	if !strings.Contains(live[q.Memory], q.Needs) {
		t.Errorf("%q does not have %q", q.Memory, q.Needs)
	}
	for name, content := range live {
		if name != q.Memory && strings.Contains(content, figure(q)) {
			t.Errorf("%q has %q too", name, figure(q))
		}
	}
}

// figure is the part of the answer that nobody could guess.
func figure(q Question) string {
	first, _, _ := strings.Cut(q.Needs, " ")
	return strings.TrimPrefix(first, "$")
}

func TestTheAnswerWasSaidOnceAndLongAgo(t *testing.T) {
	s := loaded(t)
	q := s.Question
	said := func(m StretchMessage) bool { return m.Role == hippo.User && strings.Contains(m.Content, q.Needs) }
	if i := slices.IndexFunc(s.Messages, said); i < 0 || s.Messages[i].Stretch != q.Stretch {
		t.Errorf("the user did not say %q in stretch %d", q.Needs, q.Stretch)
	}
	for _, m := range s.Messages {
		if m.Stretch != q.Stretch && strings.Contains(m.Content, figure(q)) {
			t.Errorf("%s, of stretch %d, says %q", m.ID, m.Stretch, figure(q))
		}
	}
	for _, m := range s.Messages[len(s.Messages)-window:] {
		for _, word := range []string{figure(q), "deposit", "Arceneaux"} {
			if strings.Contains(m.Content, word) {
				t.Errorf("%s, in the window, says %q", m.ID, word)
			}
		}
	}
	for _, p := range s.Passes {
		if strings.Contains(p.Episode, figure(q)) || strings.Contains(q.Content, figure(q)) {
			t.Errorf("the line of stretch %d or the question gives the answer away", p.Stretch)
		}
	}
}

// TestTheLinesThatMatterAreShown works out the buffer by its rule: the first
// episode and the latest before the window, and a gap between them.
func TestTheLinesThatMatterAreShown(t *testing.T) {
	s := loaded(t)
	for name, visible := range map[string]int{
		"the question comes on top of the window": window,
		"the question is part of the window":      window - 1,
	} {
		t.Run(name, func(t *testing.T) {
			shown, gap := buffer(s, visible)
			if !gap || len(shown) != lines || shown[0].Stretch != 1 {
				t.Errorf("%d lines from stretch %d on, gap %v, want %d from stretch 1 on and a gap", len(shown), shown[0].Stretch, gap, lines)
			}
			var pointsAt []string
			found := false
			for _, p := range shown {
				for _, w := range p.Writes {
					pointsAt = append(pointsAt, w.Name)
					found = found || p.Stretch == s.Question.Stretch && w.Name == s.Question.Memory
				}
			}
			if !found {
				t.Errorf("no line shows stretch %d pointing at %q", s.Question.Stretch, s.Question.Memory)
			}
			if !slices.Contains(pointsAt, s.Question.Edit.Delete) {
				t.Errorf("no line points at %q, which the editor deletes", s.Question.Edit.Delete)
			}
			for _, p := range s.Passes {
				for _, m := range p.Moves {
					if !slices.Contains(pointsAt, m.From) {
						t.Errorf("no line points at %q, which moved", m.From)
					}
				}
			}
		})
	}
}

// buffer lists the passes whose lines are shown before the last messages of the
// thread, and says whether a line between them was left out.
func buffer(s Sample, visible int) ([]Pass, bool) {
	start := s.Messages[len(s.Messages)-visible].Position()
	var older []Pass
	for _, p := range s.Passes {
		if p.Episode != "" && s.Stretch(p.Stretch)[0].Position().Before(start) {
			older = append(older, p)
		}
	}
	if len(older) <= lines {
		return older, false
	}
	return append([]Pass{older[0]}, older[len(older)-lines+1:]...), true
}

func TestUnknownFieldsAndMissingFilesAreRefused(t *testing.T) {
	whole := func() fstest.MapFS {
		fsys := make(fstest.MapFS)
		for _, name := range []string{"before.jsonl", "thread.jsonl", "passes.jsonl", "question.json"} {
			raw, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			fsys[name] = &fstest.MapFile{Data: raw}
		}
		return fsys
	}
	for _, name := range slices.Sorted(maps.Keys(whole())) {
		fsys := whole()
		fsys[name].Data = append([]byte(`{"colour":"red"}`+"\n"), fsys[name].Data...)
		if _, err := load(fsys); !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with an unknown field: %v", name, err)
		}
		fsys = whole()
		delete(fsys, name)
		if _, err := load(fsys); !hippo.IsKind(err, hippo.NotFound) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	fsys := whole()
	fsys["question.json"].Data = append(fsys["question.json"].Data, fsys["question.json"].Data...)
	if _, err := load(fsys); !hippo.IsKind(err, hippo.Invalid) {
		t.Errorf("two questions: %v", err)
	}
}
