package edgefuzz

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/embedded"
)

// edge is the HTTP functions on a store of their own, which holds a thread with a
// line and two memories, and no index.
type edge struct {
	*testing.T
	http.Handler
	handle string // that of the line
}

// nowhere takes every message.
type nowhere struct{}

func (nowhere) Publish(context.Context, repairmsg.Message) error { return nil }

func newEdge(t *testing.T) edge {
	config, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(map[string]string{"HIPPOFIRE_WINDOW": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	store, err := embedded.New(hippo.DefaultLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	app, err := functions.New(config, functions.Parts{Store: store, Publisher: nowhere{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	e := edge{t, functions.Handler(app), ""}
	e.post("SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m1","role":"user","content":"the roof leaks"},{"id":"m2","role":"assistant","content":"noted"}]}`)
	_, recorded := e.post("RecordEpisode", `{"tenant":"t","thread":"th","from":"m1","to":"m1","episode":"A leak.","writes":[{"name":"n","content":"c"},{"name":"pages/a","content":"c"}]}`)
	if e.handle, _ = recorded["handle"].(string); e.handle == "" {
		t.Fatalf("recorded without a handle: %v", recorded)
	}
	return e
}

// answer looks at what every answer has: nothing that a caller sends is the
// functions' own failure, and each refusal is a problem with its status.
func (e edge) answer(r *http.Request) (int, map[string]any) {
	e.Helper()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if w.Code == http.StatusNoContent {
		return w.Code, nil
	}
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		e.Errorf("%s answered no JSON: %q", r.URL.Path, w.Body)
	}
	if w.Code >= 500 {
		e.Errorf("%s answered %d: %v", r.URL.Path, w.Code, answer)
	}
	if w.Code != http.StatusOK && answer["status"] != float64(w.Code) {
		e.Errorf("%s answered %d with the problem %v", r.URL.Path, w.Code, answer)
	}
	return w.Code, answer
}

func (e edge) post(function, body string) (int, map[string]any) {
	e.Helper()
	return e.answer(httptest.NewRequest(http.MethodPost, "/"+function, strings.NewReader(body)))
}

// FuzzRequestBody posts any body to every function. The same body again has the
// same status: what was written by the first is there, or nothing was.
func FuzzRequestBody(f *testing.F) {
	for _, seed := range []string{
		`{"tenant":"t","thread":"th","messages":[{"id":"m3","role":"user","content":"x","created_at":"2026-10-01T10:00:00Z","speaker":"s"},{"id":"m4","role":"assistant","content":"","tool_calls":[{"id":"c","name":"n","arguments":"{}"}]},{"id":"m5","role":"tool","tool_call_id":"c","content":"x"}]}`,
		`{"tenant":"t","thread":"th","from":"m2","to":"m2","speaker":"user","episode":"e","writes":[{"name":"n","content":"c","if_updated_at":"2026-10-01T10:00:00Z"}],"deletes":["pages/a"],"moves":[{"from":"pages/a","into":"n"}],"wrote":["n"]}`,
		`{"tenant":"t","thread":"th","message":{"id":"m9","role":"user","content":"x"},"system":"s","facts":["f"],"budget":50,"tokenizer":"chars4","format":"openai","tools":true}`,
		`{"tenant":"t","thread":"th","contract_inline":"budget: 100"}`,
		`{"tenant":"t","kind":"pages","words":"a","limit":1,"cursor":"MCBuYQ"}`, `{"tenant":"t","names":["n","gone"]}`,
		`{"tenant":"t","name":"n","offset":1,"limit":4}`,
		`{"tenant":"t","thread":"th","handle":"abcd","limit":1,"cursor":"0@1.m1"}`,
		`{"tenant":"t","thread":"th","query":"roof","limit":1,"cursor":"1.m1"}`,
		`{"tenant":1}`, `[`, `{"a":{"b":[{"c":`, "{\"tenant\":\"\xff\"}", `{} {}`, `null`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e := newEdge(t)
		for _, function := range functions.HTTPNames() {
			first, answer := e.post(function, body)
			if again, _ := e.post(function, body); again != first {
				t.Errorf("%s answered %d (%v) and then %d", function, first, answer, again)
			}
		}
	})
}

// FuzzCursor sends any text as the cursor of each function that takes one, as it
// is and in the form of a list's. It is refused, or leads to a page.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"0@1.m1", "1.m1", "0 bg", "-1 cGFnZXMvYQ", "99999999999999999999@x", "@", " ", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := newEdge(t)
		for _, cursor := range []string{text, base64.RawURLEncoding.EncodeToString([]byte(text))} {
			for function, request := range map[string]map[string]any{
				"ListMemories":  {"tenant": "t"},
				"OpenStretch":   {"tenant": "t", "thread": "th", "handle": e.handle},
				"SearchHistory": {"tenant": "t", "thread": "th", "query": "roof"},
			} {
				request["cursor"] = cursor
				body, err := json.Marshal(request)
				if err != nil {
					t.Fatal(err)
				}
				if status, answer := e.post(function, string(body)); status != http.StatusOK && answer["field"] != "cursor" {
					t.Errorf("%s answered %d: %v", function, status, answer)
				}
			}
		}
	})
}
