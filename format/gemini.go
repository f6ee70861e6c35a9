package format

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tools"
)

// GeminiBody is a part of a request to generate content.
type GeminiBody struct {
	Tools             []GeminiTool    `json:"tools,omitempty"`
	SystemInstruction *GeminiContent  `json:"systemInstruction,omitempty"`
	Contents          []GeminiContent `json:"contents"`
}

// GeminiTool is the functions that the model can call.
type GeminiTool struct {
	FunctionDeclarations []GeminiDeclaration `json:"functionDeclarations"`
}

// GeminiDeclaration is the definition of a function, its parameters in JSON Schema.
type GeminiDeclaration struct {
	Name                 string       `json:"name"`
	Description          string       `json:"description"`
	ParametersJSONSchema tools.Schema `json:"parametersJsonSchema"`
}

// GeminiContent is a message, or the system text, which has no role.
type GeminiContent struct {
	Role  string       `json:"role,omitempty"`
	Parts []GeminiPart `json:"parts"`
}

// GeminiPart is a text, a call of a function, or what it returned.
type GeminiPart struct {
	Text             string          `json:"text,omitempty"`
	FunctionCall     *GeminiCall     `json:"functionCall,omitempty"`
	FunctionResponse *GeminiResponse `json:"functionResponse,omitempty"`
}

// GeminiCall is a call of a function.
type GeminiCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// GeminiResponse is what a function returned.
type GeminiResponse struct {
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

func gemini(t Turn) GeminiBody {
	inside, messages := withoutSystem(t.Messages)
	messages = inOrderOfCalls(messages)
	body := GeminiBody{Contents: []GeminiContent{}}
	if parts := geminiTexts(slices.Concat(t.Stable, []string{t.Changing}, inside, []string{t.Buffer})); len(parts) > 0 {
		body.SystemInstruction = &GeminiContent{Parts: parts}
	}
	called := map[string]string{}
	for _, m := range messages {
		role, parts := geminiParts(m, called)
		if len(parts) == 0 {
			continue
		}
		if len(body.Contents) == 0 && (role != "user" || m.Role == hippo.Tool) {
			body.Contents = append(body.Contents, GeminiContent{Role: "user", Parts: geminiTexts([]string{nothing})})
		}
		if last := len(body.Contents) - 1; last >= 0 && body.Contents[last].Role == role {
			body.Contents[last].Parts = append(body.Contents[last].Parts, parts...)
		} else {
			body.Contents = append(body.Contents, GeminiContent{Role: role, Parts: parts})
		}
	}
	if len(t.Tools) > 0 {
		body.Tools = []GeminiTool{{FunctionDeclarations: declarations(t.Tools)}}
	}
	return body
}

// inOrderOfCalls puts the results behind each message into the order of its calls.
// What tells them apart in this format is their function's name, which two calls
// can share, and then nothing but their order.
func inOrderOfCalls(messages []hippo.Message) []hippo.Message {
	out := slices.Clone(messages)
	for i, m := range out {
		end := i + 1
		for end < len(out) && out[end].Role == hippo.Tool {
			end++
		}
		call := func(result hippo.Message) int {
			return slices.IndexFunc(m.ToolCalls, func(c hippo.ToolCall) bool { return c.ID == result.ToolCallID })
		}
		if len(m.ToolCalls) > 0 {
			slices.SortStableFunc(out[i+1:end], func(a, b hippo.Message) int { return cmp.Compare(call(a), call(b)) })
		}
	}
	return out
}

func declarations(of []tools.Tool) (out []GeminiDeclaration) {
	for _, tool := range of {
		out = append(out, GeminiDeclaration{Name: tool.Name, Description: tool.Description, ParametersJSONSchema: tool.Parameters})
	}
	return out
}

// geminiParts renders a message; called has the function of each call so far, since
// what it returned goes by the function's name.
func geminiParts(m hippo.Message, called map[string]string) (role string, parts []GeminiPart) {
	switch m.Role {
	case hippo.Tool:
		return "user", []GeminiPart{{FunctionResponse: &GeminiResponse{Name: called[m.ToolCallID], Response: object(m.Content, "output")}}}
	case hippo.User:
		if parts = geminiTexts([]string{said(m)}); len(parts) == 0 {
			parts = geminiTexts([]string{nothing})
		}
		return "user", parts
	}
	parts = geminiTexts([]string{said(m)})
	for _, c := range m.ToolCalls {
		name := functionName(c.Name)
		called[c.ID] = name
		parts = append(parts, GeminiPart{FunctionCall: &GeminiCall{Name: name, Args: arguments(c.Arguments)}})
	}
	return "model", parts
}

func geminiTexts(of []string) (parts []GeminiPart) {
	for _, text := range of {
		if strings.TrimSpace(text) != "" {
			parts = append(parts, GeminiPart{Text: text})
		}
	}
	return parts
}
