package format

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tools"
)

// OpenAIBody is a part of a request for a chat completion.
type OpenAIBody struct {
	Tools    []OpenAITool    `json:"tools,omitempty"`
	Messages []OpenAIMessage `json:"messages"`
}

// OpenAITool is a tool that the model can call.
type OpenAITool struct {
	Type     string           `json:"type"`
	Function OpenAIDefinition `json:"function"`
}

// OpenAIDefinition is the definition of a function.
type OpenAIDefinition struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Parameters  tools.Schema `json:"parameters"`
}

// OpenAIMessage is one of its messages.
type OpenAIMessage struct {
	Role       string       `json:"role"`
	Name       string       `json:"name,omitempty"`
	Content    *string      `json:"content,omitempty"`
	ToolCalls  []OpenAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

// OpenAICall is a call of a tool.
type OpenAICall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function OpenAIFunction `json:"function"`
}

// OpenAIFunction is what is called, with arguments as JSON text.
type OpenAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func openAI(t Turn) OpenAIBody {
	body := OpenAIBody{Messages: []OpenAIMessage{}}
	for _, text := range slices.Concat(t.Stable, []string{t.Changing, t.Buffer}) {
		if text != "" {
			body.Messages = append(body.Messages, OpenAIMessage{Role: "system", Content: &text})
		}
	}
	for _, m := range t.Messages {
		body.Messages = append(body.Messages, openAIMessage(m))
	}
	for _, tool := range t.Tools {
		body.Tools = append(body.Tools, OpenAITool{Type: "function", Function: OpenAIDefinition{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters}})
	}
	return body
}

func openAIMessage(m hippo.Message) OpenAIMessage {
	out := OpenAIMessage{Role: string(m.Role), Content: &m.Content, Name: openAIName(m.Speaker)}
	switch {
	case m.Role == hippo.Tool:
		out.ToolCallID, out.Name = callID(m.ToolCallID), ""
	case m.Content == "" && len(m.ToolCalls) > 0:
		out.Content = nil
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, OpenAICall{
			ID: callID(c.ID), Type: "function", Function: OpenAIFunction{Name: functionName(c.Name), Arguments: c.Arguments},
		})
	}
	return out
}

// openAIName is a speaker's label in the signs that a name may have.
func openAIName(speaker string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(`<|\/>`, r) {
			return '_'
		}
		return r
	}, speaker)
	for utf8.RuneCountInString(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
