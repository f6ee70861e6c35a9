package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
)

// model is a server of chat completions that answers by rules: it opens the memory
// whose name the question contains, reads the figure out of it, and files it.
type model struct {
	t    *testing.T
	seen []string // the requests, in order
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		m.t.Error(err)
	}
	m.seen = append(m.seen, string(body))
	var req struct {
		Model    string
		Messages []struct{ Role, Content string }
		Tools    []any
	}
	if err := json.Unmarshal(body, &req); err != nil || req.Model != "rules" || len(req.Messages) == 0 {
		m.t.Errorf("the model was asked %s: %v", body, err)
	}
	last := req.Messages[len(req.Messages)-1]
	said := map[string]any{"role": "assistant"}
	switch {
	case last.Role == "user" && strings.Contains(last.Content, "deposit"):
		said["tool_calls"] = []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": "open_memory", "arguments": `{"name":"pages/Depot"}`}}}
	case last.Role == "tool":
		_, figure, _ := strings.Cut(last.Content, "deposit of ")
		figure, _, _ = strings.Cut(figure, " ")
		said["content"] = "It is " + figure + "."
	case last.Role == "system":
		said["content"] = `{"episode":"She asked for the deposit again.","writes":[{"name":"notebook/Deposit","content":"asked twice"}]}`
	default:
		said["content"] = "You are welcome."
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": said}}}); err != nil {
		m.t.Error(err)
	}
}

func TestAgentTakesAWholeTurn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.EmptyIndex()
		p := f.Layout.Paths
		app, err := functions.New(functions.Config{
			Naming: string(f.Layout.Naming), Window: 4, CacheBytes: 1 << 20, TurnDeadline: time.Minute, Trusted: []string{"user", "assistant"},
			MemoryPath: p.Memory, IndexPath: p.Index, MovePath: p.Move, MessagePath: p.Message, EpisodePath: p.Episode, PassPath: p.Pass, ReportPath: p.Report,
		}, functions.Parts{Store: f.Direct, Log: f.Log()})
		f.Must(err)
		memory := httptest.NewServer(functions.Handler(app))
		defer memory.Close()
		rules := &model{t: t}
		models := httptest.NewServer(rules)
		defer models.Close()
		f.Must(f.Direct.SaveMemory(t.Context(), fixture.Tenant, hippo.Memory{ID: f.ID("pages/Depot"), Name: "pages/Depot", Content: "He agreed to a deposit of $1,150 on the phone."}))

		a := newAgent(memory.URL, models.URL, "rules")
		a.tenant, a.thread = string(fixture.Tenant), string(fixture.Thread)
		if got, err := a.reply(t.Context(), "what was the deposit?"); err != nil || got != "It is $1,150." {
			t.Fatalf("the question was answered by %q, %v", got, err)
		}
		messages, err := f.Direct.RecentMessages(t.Context(), fixture.Tenant, fixture.Thread, 10)
		f.Must(err)
		var roles []string
		for _, m := range messages {
			roles = append(roles, string(m.Role))
		}
		if got := fmt.Sprint(roles); got != "[user assistant tool assistant]" {
			t.Errorf("the thread has %s", got)
		}
		for _, name := range []string{"list_memories", "open_memory", system} {
			if !strings.Contains(rules.seen[0], name) {
				t.Errorf("the model was not told of %s: %s", name, rules.seen[0])
			}
		}

		// What the pass filed is there in the turns that follow, and when the first
		// turn has left the window its line is.
		for range 2 {
			if _, err := a.reply(t.Context(), "thanks"); err != nil {
				t.Fatal(err)
			}
		}
		latest := rules.seen[len(rules.seen)-2] // the last one is the memory pass
		if !strings.Contains(latest, "notebook/Deposit") || !strings.Contains(latest, "She asked for the deposit again. (filed in notebook/Deposit)") {
			t.Errorf("the third turn was asked as %s", latest)
		}
	})
}
