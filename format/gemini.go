package format

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
)

// GeminiBody is a part of a request to generate content.
type GeminiBody struct {
	SystemInstruction *GeminiContent  `json:"systemInstruction,omitempty"`
	Contents          []GeminiContent `json:"contents"`
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
	return body
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
