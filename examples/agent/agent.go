package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// What the agent is told, and what its memory pass is told.
const (
	system = "You help the owner of a bicycle shop. Look up what you do not know with your tools; do not guess a number."
	pass   = `The conversation above is over for now. Answer with JSON alone: {"episode": one line of at most 25 words on what was said and decided, or "" for small talk, ` +
		`"writes": [{"name": "pages/TITLE", "content": what is worth keeping, in full}]}.`
)

// The bounds of a turn.
const (
	budget   = 12_000 // tokens
	maxSteps = 8      // calls of the model
	maxBody  = 32 << 20
)

type agent struct {
	memory, modelURL, model, key string
	tenant, thread               string
	http                         *http.Client
}

func newAgent(memory, modelURL, model string) *agent {
	return &agent{memory: memory, modelURL: modelURL, model: model, http: &http.Client{Timeout: 2 * time.Minute}}
}

// message is a message as SaveTurn takes it.
type message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// reply takes one turn: from the user's words to the agent's.
func (a *agent) reply(ctx context.Context, words string) (string, error) {
	said := []message{{ID: rand.Text(), Role: "user", Content: words}}
	if err := a.save(ctx, said...); err != nil {
		return "", err
	}
	for range maxSteps {
		body, err := a.context(ctx)
		if err != nil {
			return "", err
		}
		answer, err := a.complete(ctx, body)
		if err != nil {
			return "", err
		}
		step := append([]message{answer}, a.use(ctx, answer.ToolCalls)...)
		if err := a.save(ctx, step...); err != nil {
			return "", err
		}
		said = append(said, step...)
		if len(answer.ToolCalls) == 0 {
			return answer.Content, a.remember(ctx, body, said)
		}
	}
	return "", fmt.Errorf("the model still calls tools after %d steps", maxSteps)
}

// save appends messages to the thread. Their ids make it safe to do it again.
func (a *agent) save(ctx context.Context, messages ...message) error {
	return a.call(ctx, "SaveTurn", map[string]any{"tenant": a.tenant, "thread": a.thread, "messages": messages}, nil)
}

// context asks for what the model is to see: the part of a request that Hippofire
// makes.
func (a *agent) context(ctx context.Context) (map[string]any, error) {
	var turn struct {
		Body map[string]any `json:"body"`
	}
	err := a.call(ctx, "TurnContext", map[string]any{
		"tenant": a.tenant, "thread": a.thread, "system": system, "format": "openai", "tools": true, "budget": budget, "tokenizer": "o200k",
	}, &turn)
	return turn.Body, err
}

// complete sends the request to the model.
func (a *agent) complete(ctx context.Context, body map[string]any) (message, error) {
	request := map[string]any{"model": a.model}
	for field, value := range body {
		request[field] = value
	}
	var completion struct {
		Choices []struct {
			Message struct {
				Content   string `json:"content"`
				ToolCalls []struct {
					ID       string   `json:"id"`
					Function toolCall `json:"function"`
				} `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := a.post(ctx, a.modelURL+"/chat/completions", a.key, request, &completion); err != nil {
		return message{}, err
	}
	if len(completion.Choices) == 0 {
		return message{}, fmt.Errorf("the model gave no answer")
	}
	said := completion.Choices[0].Message
	m := message{ID: rand.Text(), Role: "assistant", Content: said.Content}
	for _, c := range said.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return m, nil
}

// function is what answers each tool, and whether it is about the thread.
var function = map[string]struct {
	name     string
	ofThread bool
}{
	"list_memories":       {"ListMemories", false},
	"open_memory":         {"OpenMemory", false},
	"open_stretch":        {"OpenStretch", true},
	"search_chat_history": {"SearchHistory", true},
}

// use hands the model's calls to the functions. Whose memory it is, the agent says
// and never the model. What goes wrong is told to the model, which can try again.
func (a *agent) use(ctx context.Context, calls []toolCall) []message {
	var results []message
	for _, c := range calls {
		results = append(results, message{ID: rand.Text(), Role: "tool", ToolCallID: c.ID, Content: a.useOne(ctx, c)})
	}
	return results
}

func (a *agent) useOne(ctx context.Context, c toolCall) string {
	f, ok := function[c.Name]
	if !ok {
		return "there is no such tool"
	}
	arguments := map[string]any{}
	if err := json.Unmarshal([]byte(c.Arguments), &arguments); err != nil {
		return "the arguments are not JSON: " + err.Error()
	}
	arguments["tenant"] = a.tenant
	if f.ofThread {
		arguments["thread"] = a.thread
	}
	var result json.RawMessage
	if err := a.call(ctx, f.name, arguments, &result); err != nil {
		return err.Error()
	}
	return string(result)
}

// remember is the memory pass: the model says what is worth keeping of the turn,
// and it is filed together with the line that will stand for it.
func (a *agent) remember(ctx context.Context, body map[string]any, said []message) error {
	messages, _ := body["messages"].([]any)
	answer := map[string]any{"role": "assistant", "content": said[len(said)-1].Content}
	filed, err := a.complete(ctx, map[string]any{"messages": append(messages, answer, map[string]any{"role": "system", "content": pass})})
	if err != nil {
		return err
	}
	record := map[string]any{}
	if err := json.Unmarshal([]byte(filed.Content), &record); err != nil {
		return nil // the model did not keep to the form; the messages are saved, and nothing is filed
	}
	record["tenant"], record["thread"] = a.tenant, a.thread
	record["from"], record["to"] = said[0].ID, said[len(said)-1].ID
	return a.call(ctx, "RecordEpisode", record, nil)
}

// call calls a function of Hippofire.
func (a *agent) call(ctx context.Context, name string, request, answer any) error {
	return a.post(ctx, a.memory+"/"+name, "", request, answer)
}

func (a *agent) post(ctx context.Context, url, key string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
