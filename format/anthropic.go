package format

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tools"
)

// AnthropicBody is a part of a request for a message.
type AnthropicBody struct {
	Tools    []AnthropicTool    `json:"tools,omitempty"`
	System   []AnthropicPart    `json:"system,omitempty"`
	Messages []AnthropicMessage `json:"messages"`
}

// AnthropicTool is a tool that the model can use.
type AnthropicTool struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	InputSchema tools.Schema `json:"input_schema"`
}

// AnthropicMessage is one of its messages.
type AnthropicMessage struct {
	Role    string          `json:"role"`
	Content []AnthropicPart `json:"content"`
}

// AnthropicPart is a part of a message or of the system text: text, a call of a
// tool, or its result.
type AnthropicPart struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// ID, Name and Input are a call's.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// ToolUseID and Content are a result's.
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []AnthropicPart `json:"content,omitempty"`
	// CacheControl marks the end of what a prompt cache should hold.
	CacheControl *AnthropicCache `json:"cache_control,omitempty"`
}

// AnthropicCache says how it is held.
type AnthropicCache struct {
	Type string `json:"type"`
}

func anthropic(t Turn) AnthropicBody {
	inside, messages := withoutSystem(t.Messages)
	body := AnthropicBody{System: texts(t.Stable), Messages: []AnthropicMessage{}}
	if n := len(body.System); n > 0 {
		body.System[n-1].CacheControl = &AnthropicCache{Type: "ephemeral"}
	}
	body.System = append(body.System, texts(slices.Concat([]string{t.Changing}, inside, []string{t.Buffer}))...)
	for _, m := range messages {
		role, parts := anthropicParts(m)
		if len(parts) == 0 {
			continue
		}
		if len(body.Messages) == 0 && (role != "user" || m.Role == hippo.Tool) {
			body.Messages = append(body.Messages, AnthropicMessage{Role: "user", Content: texts([]string{nothing})})
		}
		if last := len(body.Messages) - 1; last >= 0 && body.Messages[last].Role == role {
			body.Messages[last].Content = append(body.Messages[last].Content, parts...)
		} else {
			body.Messages = append(body.Messages, AnthropicMessage{Role: role, Content: parts})
		}
	}
	trimLast(body.Messages)
	for _, tool := range t.Tools {
		body.Tools = append(body.Tools, AnthropicTool{Name: tool.Name, Description: tool.Description, InputSchema: tool.Parameters})
	}
	return body
}

func anthropicParts(m hippo.Message) (role string, parts []AnthropicPart) {
	switch m.Role {
	case hippo.Tool:
		return "user", []AnthropicPart{{Type: "tool_result", ToolUseID: callID(m.ToolCallID), Content: texts([]string{m.Content})}}
	case hippo.User:
		if parts = texts([]string{said(m)}); len(parts) == 0 {
			parts = texts([]string{nothing})
		}
		return "user", parts
	}
	parts = texts([]string{said(m)})
	for _, c := range m.ToolCalls {
		parts = append(parts, AnthropicPart{Type: "tool_use", ID: callID(c.ID), Name: functionName(c.Name), Input: arguments(c.Arguments)})
	}
	return "assistant", parts
}

// texts are parts of text, one for each that has more than white space in it,
// which is refused.
func texts(of []string) (parts []AnthropicPart) {
	for _, text := range of {
		if strings.TrimSpace(text) != "" {
			parts = append(parts, AnthropicPart{Type: "text", Text: text})
		}
	}
	return parts
}

// trimLast takes white space from the end of an answer that the model is to go on
// with, where it is refused.
func trimLast(messages []AnthropicMessage) {
	if n := len(messages); n > 0 && messages[n-1].Role == "assistant" {
		parts := messages[n-1].Content
		if last := &parts[len(parts)-1]; last.Type == "text" {
			last.Text = strings.TrimRight(last.Text, " \t\r\n")
		}
	}
}
