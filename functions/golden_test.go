package functions_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"golang.org/x/tools/txtar"
	"google.golang.org/genai"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/turnreader"
)

var update = flag.Bool("update", false, "write the golden files anew")

// script is a golden turn: what is stored, what is asked, and what is answered in
// each format.
type script struct {
	*fixture.Fixture
	app     *functions.App
	archive *txtar.Archive
}

// part is a file of the archive; empty where it is missing.
func (s *script) part(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// TestGoldenTurns holds the turns of testdata/turns to what they were. A file
// begins with what it shows; memories (a time and a name a line), thread.jsonl and
// episodes.jsonl are what is stored, request.json is what is asked. The rest is the
// answer, written by -update.
func TestGoldenTurns(t *testing.T) {
	files, err := filepath.Glob("testdata/turns/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden turns: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				archive, err := txtar.ParseFile(file)
				f.Must(err)
				app, err := functions.New(configOf(f), functions.Parts{Store: f.Fault, Log: f.Log()})
				f.Must(err)
				s := &script{Fixture: f, app: app, archive: archive}
				s.arrange()
				for _, answer := range s.answers() {
					if *update {
						s.write(file, answer)
					} else if diff := cmp.Diff(s.part(answer.Name), string(answer.Data)); diff != "" {
						t.Errorf("%s is another one; -update writes it anew: %s", answer.Name, diff)
					}
				}
			})
		})
	}
}

func configOf(f *fixture.Fixture) functions.Config {
	p := f.Layout.Paths
	return functions.Config{
		Naming: string(f.Layout.Naming), Window: 6, CacheBytes: 1 << 20, TurnDeadline: time.Minute,
		MemoryPath: p.Memory, IndexPath: p.Index, MovePath: p.Move, MessagePath: p.Message, EpisodePath: p.Episode, PassPath: p.Pass, ReportPath: p.Report,
	}
}

func (s *script) arrange() {
	s.Helper()
	s.EmptyIndex()
	var ids []hippo.MemoryID
	for line := range strings.Lines(s.part("memories")) {
		at, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		updated, err := hippo.ParseMicros(at)
		s.Must(err)
		ids = append(ids, s.ID(name))
		s.Must(s.Direct.SaveMemory(s.Context(), fixture.Tenant, hippo.Memory{ID: s.ID(name), Name: name, Content: "about " + name, UpdatedAt: updated}))
	}
	s.Must(reconcile.New(s.Direct, s.Layout.Naming, s.Asked).Reconcile(s.Context(), fixture.Tenant, ids))
	positions := map[string]hippo.Position{}
	for line := range strings.Lines(s.part("thread.jsonl")) {
		var m hippo.Message
		s.Must(json.Unmarshal([]byte(line), &m))
		positions[string(m.ID)] = m.Position()
		_, err := s.Direct.SaveMessages(s.Context(), fixture.Tenant, fixture.Thread, []hippo.Message{m})
		s.Must(err)
	}
	for line := range strings.Lines(s.part("episodes.jsonl")) {
		var e struct {
			From, To, Episode string
			Wrote             []string
		}
		s.Must(json.Unmarshal([]byte(line), &e))
		pass := hippo.Pass{Stretch: hippo.Stretch{From: positions[e.From], To: positions[e.To]}, Hash: e.Episode, Gist: e.Episode}
		for _, name := range e.Wrote {
			pass.Wrote = append(pass.Wrote, s.ID(name))
		}
		_, err := s.Direct.RecordPass(s.Context(), fixture.Tenant, fixture.Thread, pass)
		s.Must(err)
	}
}

// answers are the turn in each format, and its ledger.
func (s *script) answers() []txtar.File {
	s.Helper()
	var out []txtar.File
	for _, form := range []string{"blocks", "openai", "anthropic", "gemini"} {
		var req functions.TurnRequest
		s.Must(json.Unmarshal([]byte(s.part("request.json")), &req))
		req.Tenant, req.Thread, req.Format = string(fixture.Tenant), string(fixture.Thread), form
		resp, err := s.app.Turn(s.Context(), req)
		s.Must(err)
		if form == "blocks" {
			out = append(out, txtar.File{Name: "blocks.txt", Data: readable(resp.Blocks)}, txtar.File{Name: "ledger.txt", Data: ledgerText(resp.Ledger)})
			continue
		}
		body := pretty(s, resp.Body)
		s.decodeStrictly(form, body)
		s.checkRoles(form, body)
		out = append(out, txtar.File{Name: form + ".json", Data: body})
	}
	return out
}

// readable is the turn as a person reads it.
func readable(blocks []turnreader.Block) []byte {
	var out bytes.Buffer
	for _, b := range blocks {
		fmt.Fprintf(&out, "=== %s, %d tokens\n", b.Kind, b.Tokens)
		if b.Text != "" {
			fmt.Fprintln(&out, b.Text)
		}
		for _, m := range b.Messages {
			fmt.Fprintf(&out, "%s", m.Role)
			if m.Speaker != "" {
				fmt.Fprintf(&out, " (%s)", m.Speaker)
			}
			if m.ToolCallID != "" {
				fmt.Fprintf(&out, " answers %s", m.ToolCallID)
			}
			fmt.Fprintf(&out, ": %s\n", m.Content)
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&out, "  calls %s: %s %s\n", c.ID, c.Name, c.Arguments)
			}
		}
	}
	return out.Bytes()
}

func ledgerText(l turnreader.Ledger) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "index %s, %d of %d memories listed\n", l.Index, l.Listed, l.Memories)
	reads := slices.Clone(l.Reads)
	slices.SortFunc(reads, func(a, b hippo.Reads) int { return strings.Compare(a.Query, b.Query) })
	for _, r := range reads {
		fmt.Fprintf(&out, "read %s: %d\n", r.Query, r.Documents)
	}
	for _, d := range l.Dropped {
		fmt.Fprintf(&out, "dropped %s: %s, %d, %d tokens\n", d.Block, d.Why, d.Count, d.Tokens)
	}
	fmt.Fprintf(&out, "%d tokens\n", l.Tokens["total"])
	return out.Bytes()
}

func pretty(s *script, v any) []byte {
	s.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	s.Must(e.Encode(v))
	return out.Bytes()
}

// decodeStrictly reads a body into the request type of the provider's own library
// and demands that it is all there when it is written again: that the library
// knows every field.
func (s *script) decodeStrictly(form string, body []byte) {
	s.Helper()
	var again []byte
	var err error
	switch form {
	case "openai":
		var params openai.ChatCompletionNewParams
		s.Must(json.Unmarshal(body, &params))
		again, err = json.Marshal(params)
	case "anthropic":
		var params anthropic.MessageNewParams
		s.Must(json.Unmarshal(body, &params))
		again, err = json.Marshal(params)
	case "gemini":
		var params struct {
			Tools             []*genai.Tool    `json:"tools,omitempty"`
			SystemInstruction *genai.Content   `json:"systemInstruction,omitempty"`
			Contents          []*genai.Content `json:"contents"`
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		s.Must(d.Decode(&params))
		again, err = json.Marshal(params)
	}
	s.Must(err)
	var want, got map[string]any
	s.Must(json.Unmarshal(body, &want))
	s.Must(json.Unmarshal(again, &got))
	for _, set := range []string{"model", "max_tokens"} { // which are the caller's to set
		delete(got, set)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s: what the provider's library makes of the body is another one: %s", form, diff)
	}
}

// write puts an answer into the golden file.
func (s *script) write(file string, answer txtar.File) {
	s.Helper()
	if at := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == answer.Name }); at >= 0 {
		s.archive.Files[at] = answer
	} else {
		s.archive.Files = append(s.archive.Files, answer)
	}
	s.Must(os.WriteFile(file, txtar.Format(s.archive), 0o644))
}

// checkRoles holds the role rules of a provider.
func (s *script) checkRoles(form string, body []byte) {
	s.Helper()
	turns := rolesOf(s, form, body)
	words := map[string]bool{"…": true}
	for line := range strings.Lines(s.part("thread.jsonl")) {
		var m functions.Message
		s.Must(json.Unmarshal([]byte(line), &m))
		words[m.Content], words[m.Speaker+": "+m.Content] = true, true
	}
	var req functions.TurnRequest
	s.Must(json.Unmarshal([]byte(s.part("request.json")), &req))
	if req.Message != nil {
		words[req.Message.Content], words[req.Message.Speaker+": "+req.Message.Content] = true, true
	}
	for i, turn := range turns {
		if turn.role != "user" {
			continue
		}
		for _, text := range turn.texts {
			if !words[text] && !strings.Contains(text, "[… cut here") {
				s.Errorf("%s: the user is made to say %q", form, text)
			}
		}
		if form != "openai" && i > 0 && turns[i-1].role == "user" {
			s.Errorf("%s: two messages of the user in a row", form)
		}
	}
	if form != "openai" && len(turns) > 0 && turns[0].role != "user" {
		s.Errorf("%s: the first message is %s's", form, turns[0].role)
	}
}

// roleTurn is a message of a body, as far as the role rules look at it.
type roleTurn struct {
	role  string
	texts []string
}

func rolesOf(s *script, form string, body []byte) (out []roleTurn) {
	s.Helper()
	type part struct {
		Text    string
		Type    string
		Content json.RawMessage
	}
	var b struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Contents []struct {
			Role  string
			Parts []part
		}
	}
	s.Must(json.Unmarshal(body, &b))
	for _, c := range b.Contents {
		turn := roleTurn{role: c.Role}
		for _, p := range c.Parts {
			if p.Text != "" {
				turn.texts = append(turn.texts, p.Text)
			}
		}
		out = append(out, turn)
	}
	for _, m := range b.Messages {
		turn := roleTurn{role: m.Role}
		var text string
		var parts []part
		if json.Unmarshal(m.Content, &text) == nil {
			turn.texts = []string{text}
		} else if json.Unmarshal(m.Content, &parts) == nil {
			for _, p := range parts {
				if p.Type == "text" {
					turn.texts = append(turn.texts, p.Text)
				}
			}
		}
		out = append(out, turn)
	}
	return out
}
