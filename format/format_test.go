package format_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/format"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tools"
)

func TestFormatsByName(t *testing.T) {
	for name, want := range map[string]format.Format{"": format.Blocks, "blocks": format.Blocks, "openai": format.OpenAI, "anthropic": format.Anthropic, "gemini": format.Gemini} {
		if got, err := format.Parse(name); err != nil || got != want {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
	if _, err := format.Parse("OpenAI"); !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), `"OpenAI"`) {
		t.Errorf("error %v", err)
	}
	if body := format.Blocks.Body(format.Turn{}); body != nil {
		t.Errorf("blocks have the body %v", body)
	}
}

func user(content string) hippo.Message { return hippo.Message{Role: hippo.User, Content: content} }

func assistant(content string, calls ...hippo.ToolCall) hippo.Message {
	return hippo.Message{Role: hippo.Assistant, Content: content, ToolCalls: calls}
}

func result(id, content string) hippo.Message {
	return hippo.Message{Role: hippo.Tool, ToolCallID: id, Content: content}
}

func TestTextsStandInOrderAndTheCacheEndsBehindWhatIsStable(t *testing.T) {
	turn := format.Turn{Stable: []string{"mine", "list"}, Changing: "facts", Buffer: "buffer", Messages: []hippo.Message{{Role: hippo.System, Content: "inside"}, user("q")}}
	var openAI, anthropic, gemini []string
	for _, m := range format.OpenAI.Body(turn).(format.OpenAIBody).Messages {
		openAI = append(openAI, m.Role+" "+*m.Content)
	}
	for _, p := range format.Anthropic.Body(turn).(format.AnthropicBody).System {
		text := p.Text
		if p.CacheControl != nil {
			text += " | " + p.CacheControl.Type
		}
		anthropic = append(anthropic, text)
	}
	for _, p := range format.Gemini.Body(turn).(format.GeminiBody).SystemInstruction.Parts {
		gemini = append(gemini, p.Text)
	}
	if diff := cmp.Diff([]string{"system mine", "system list", "system facts", "system buffer", "system inside", "user q"}, openAI); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"mine", "list | ephemeral", "facts", "inside", "buffer"}, anthropic); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"mine", "list", "facts", "inside", "buffer"}, gemini); diff != "" {
		t.Error(diff)
	}
}

// The same bytes are made for the same turn, whatever slices it was made of.
func TestBodyLeavesItsTurnAlone(t *testing.T) {
	stable := make([]string, 1, 8)
	stable[0] = "mine"
	turn := format.Turn{Stable: stable, Changing: "facts", Buffer: "buffer", Messages: []hippo.Message{user("q"), assistant("a ")}}
	for _, f := range []format.Format{format.OpenAI, format.Anthropic, format.Gemini} {
		f.Body(turn)
	}
	if diff := cmp.Diff([]string{"mine", "", ""}, stable[:3]); diff != "" || turn.Messages[1].Content != "a " {
		t.Errorf("the turn was changed: %s", diff)
	}
}

func TestWhatOneProviderMadeAnotherTakes(t *testing.T) {
	long := strings.Repeat("x", 100)
	call := hippo.ToolCall{ID: "a/b", Name: "files.read " + long, Arguments: "plain"}
	turn := format.Turn{Messages: []hippo.Message{user("q"), assistant("", call), result("a/b", "[1]")}}
	openAI := format.OpenAI.Body(turn).(format.OpenAIBody).Messages
	if got := openAI[1].ToolCalls[0]; got.ID != openAI[2].ToolCallID || len(got.ID) > 40 || strings.Contains(got.ID, "/") || len(got.Function.Name) != 64 || !strings.HasPrefix(got.Function.Name, "files_read_xxx") || got.Function.Arguments != "plain" {
		t.Errorf("openai: %+v", got)
	}
	anthropic := format.Anthropic.Body(turn).(format.AnthropicBody).Messages
	if got := anthropic[1].Content[0]; got.ID != anthropic[2].Content[0].ToolUseID || string(got.Input) != `{"arguments":"plain"}` {
		t.Errorf("anthropic: %+v", got)
	}
	gemini := format.Gemini.Body(turn).(format.GeminiBody).Contents
	if got := gemini[2].Parts[0].FunctionResponse; got.Name != gemini[1].Parts[0].FunctionCall.Name || string(got.Response) != `{"output":"[1]"}` {
		t.Errorf("gemini: %+v", got)
	}
	for arguments, want := range map[string]string{"": "{}", " ": "{}", `{"a":1}`: `{"a":1}`, "null": `{"arguments":"null"}`, "[1]": `{"arguments":"[1]"}`, `{"a":`: `{"arguments":"{\"a\":"}`} {
		call := hippo.ToolCall{ID: "c", Name: "n", Arguments: arguments}
		turn := format.Turn{Messages: []hippo.Message{user("q"), assistant("", call), result("c", "")}}
		if got := format.Gemini.Body(turn).(format.GeminiBody).Contents[1].Parts[0].FunctionCall.Args; string(got) != want {
			t.Errorf("arguments %q become %s, want %s", arguments, got, want)
		}
	}
}

func TestResultsThatCameInAnotherOrderAreTheirCallsOwn(t *testing.T) {
	look := func(id string) hippo.ToolCall { return hippo.ToolCall{ID: id, Name: "look", Arguments: "{}"} }
	messages := []hippo.Message{user("q"), assistant("", look("a"), look("b"), look("c")), result("c", "3"), result("a", "1"), result("b", "2"), assistant("done")}
	var got []string
	for _, p := range format.Gemini.Body(format.Turn{Messages: messages}).(format.GeminiBody).Contents[2].Parts {
		got = append(got, string(p.FunctionResponse.Response))
	}
	if diff := cmp.Diff([]string{`{"output":"1"}`, `{"output":"2"}`, `{"output":"3"}`}, got); diff != "" || messages[2].ToolCallID != "c" {
		t.Errorf("gemini, whose results have no ids: %s", diff)
	}
	for i, m := range format.OpenAI.Body(format.Turn{Messages: messages}).(format.OpenAIBody).Messages[2:5] {
		if m.ToolCallID != messages[2+i].ToolCallID {
			t.Errorf("openai: result %d is that of %s", i, m.ToolCallID)
		}
	}
}

func TestSpeakersAreNamed(t *testing.T) {
	m, a := user("q"), assistant("a")
	m.Speaker, a.Speaker = "Ida <Roux>", "Ada"
	turn := format.Turn{Messages: []hippo.Message{m, a}}
	if got := format.OpenAI.Body(turn).(format.OpenAIBody).Messages; got[0].Name != "Ida__Roux_" || *got[0].Content != "q" || got[1].Name != "Ada" {
		t.Errorf("openai: %+v", got)
	}
	if got := format.Anthropic.Body(turn).(format.AnthropicBody).Messages; got[0].Content[0].Text != "Ida <Roux>: q" || got[1].Content[0].Text != "a" {
		t.Errorf("anthropic: %+v", got)
	}
}

func TestToolsAreDefinedInEachForm(t *testing.T) {
	turn := format.Turn{Tools: tools.All}
	openAI := format.OpenAI.Body(turn).(format.OpenAIBody).Tools
	anthropic := format.Anthropic.Body(turn).(format.AnthropicBody).Tools
	gemini := format.Gemini.Body(turn).(format.GeminiBody).Tools[0].FunctionDeclarations
	for i, want := range []string{"list_memories", "open_memory", "open_stretch", "search_chat_history"} {
		if openAI[i].Function.Name != want || anthropic[i].Name != want || gemini[i].Name != want || openAI[i].Type != "function" {
			t.Errorf("tool %d is %s, %s and %s; want %s", i, openAI[i].Function.Name, anthropic[i].Name, gemini[i].Name, want)
		}
	}
	if len(openAI) != 4 || len(anthropic) != 4 || len(gemini) != 4 {
		t.Errorf("%d, %d and %d tools", len(openAI), len(anthropic), len(gemini))
	}
}

// drawMessages are messages in which each call has its results behind it.
func drawMessages(t *rapid.T) []hippo.Message {
	content := rapid.SampledFrom([]string{"", " ", "\n", "words", "more words\n"})
	var out []hippo.Message
	for i := range rapid.IntRange(0, 12).Draw(t, "messages") {
		switch rapid.IntRange(0, 3).Draw(t, "role") {
		case 0:
			out = append(out, user(content.Draw(t, "content")))
		case 1:
			out = append(out, assistant(content.Draw(t, "content")))
		case 2:
			out = append(out, hippo.Message{Role: hippo.System, Content: content.Draw(t, "content")})
		case 3:
			a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
			out = append(out, assistant(content.Draw(t, "content"), hippo.ToolCall{ID: a, Name: "n", Arguments: "{}"}, hippo.ToolCall{ID: b, Name: "n", Arguments: "{}"}), result(a, content.Draw(t, "content")), result(b, "x"))
		}
	}
	return out
}

// turnOf is a message of a body: who has it, what is said in it, and the ids of
// the calls and results that are in it.
type turnOf struct {
	role                  string
	texts, calls, results []string
	textFirst             bool // a text stands before a result
}

func anthropicTurns(body format.AnthropicBody) (out []turnOf) {
	for _, m := range body.Messages {
		turn := turnOf{role: m.Role}
		for _, p := range m.Content {
			switch p.Type {
			case "text":
				turn.texts = append(turn.texts, p.Text)
			case "tool_use":
				turn.calls = append(turn.calls, p.ID)
			case "tool_result":
				turn.textFirst = turn.textFirst || len(turn.texts) > 0
				turn.results = append(turn.results, p.ToolUseID)
			}
		}
		out = append(out, turn)
	}
	return out
}

func geminiTurns(body format.GeminiBody) (out []turnOf) {
	for _, c := range body.Contents {
		turn := turnOf{role: strings.Replace(c.Role, "model", "assistant", 1)}
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				turn.calls = append(turn.calls, p.FunctionCall.Name)
			case p.FunctionResponse != nil:
				turn.textFirst = turn.textFirst || len(turn.texts) > 0
				turn.results = append(turn.results, p.FunctionResponse.Name)
			default:
				turn.texts = append(turn.texts, p.Text)
			}
		}
		out = append(out, turn)
	}
	return out
}

func TestRolesKeepTheRulesOfEachFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turn := format.Turn{Stable: []string{"ours"}, Changing: "ours", Buffer: "ours", Messages: drawMessages(t)}
		anthropic := format.Anthropic.Body(turn).(format.AnthropicBody)
		gemini := format.Gemini.Body(turn).(format.GeminiBody)
		for name, turns := range map[string][]turnOf{"anthropic": anthropicTurns(anthropic), "gemini": geminiTurns(gemini)} {
			for i, m := range turns {
				if want := []string{"user", "assistant"}[i%2]; m.role != want {
					t.Fatalf("%s: message %d is %s's", name, i, m.role)
				}
				if slices.ContainsFunc(m.texts, func(s string) bool { return strings.TrimSpace(s) == "" || s == "ours" }) || len(m.texts)+len(m.calls)+len(m.results) == 0 {
					t.Fatalf("%s: message %d says %q", name, i, m.texts)
				}
				if len(m.calls) > 0 && (i+1 == len(turns) || !slices.Equal(m.calls, turns[i+1].results) || turns[i+1].textFirst) {
					t.Fatalf("%s: message %d calls %v, and its results are not right behind it", name, i, m.calls)
				}
				if len(m.results) > 0 && (i == 0 || len(turns[i-1].calls) == 0) {
					t.Fatalf("%s: message %d has the results of nothing", name, i)
				}
			}
		}
		if n := len(anthropic.Messages); n > 0 && anthropic.Messages[n-1].Role == "assistant" {
			parts := anthropic.Messages[n-1].Content
			if last := parts[len(parts)-1].Text; last != strings.TrimRight(last, " \n") {
				t.Fatalf("the last answer ends in white space: %q", last)
			}
		}
		for _, f := range []format.Format{format.OpenAI, format.Anthropic, format.Gemini} {
			if _, err := json.Marshal(f.Body(turn)); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
		}
	})
}
