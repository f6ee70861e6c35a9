package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/internal/openapi"
)

const file = "../../docs/openapi.json"

var update = flag.Bool("update", false, "write the description anew")

func TestDescriptionIsWhatTheTypesSay(t *testing.T) {
	doc, err := openapi.Describe("../..")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("docs/openapi.json is not what the types say; go test ./internal/openapi -update writes it anew: %s", diff)
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	doc, err := openapi.Describe("../..")
	if err != nil {
		t.Fatal(err)
	}
	for path, p := range doc.Paths {
		if p.Post.Summary == "" {
			t.Errorf("%s has no summary", path)
		}
	}
	for name, s := range doc.Components.Schemas {
		if s.Description == "" || strings.HasPrefix(s.Description, name) {
			t.Errorf("%s is described by %q", name, s.Description)
		}
	}
	for _, e := range functions.Endpoints() {
		if _, ok := doc.Paths["/"+e.Name]; !ok {
			t.Errorf("%s is not in the description", e.Name)
		}
	}
}

// schemas are the description's, as a validator reads them.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]*jsonschema.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/")), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Components.Schemas
}

func TestAnswersAreAsTheDescriptionSays(t *testing.T) {
	f := fixture.Embedded(t)
	app, err := functions.New(functions.Config{Naming: "base64url", Window: 2, CacheBytes: 1 << 20, Trusted: []string{"user", "assistant"}}, functions.Parts{Store: f.Direct, Log: functions.NewLog(io.Discard)})
	f.Must(err)
	server := httptest.NewServer(functions.Handler(app))
	defer server.Close()
	f.EmptyIndex()
	defs := schemas(t)
	valid := func(name, what string, body []byte) {
		t.Helper()
		var value any
		f.Must(json.Unmarshal(body, &value))
		resolved, err := (&jsonschema.Schema{Ref: "#/$defs/" + name, Defs: defs}).Resolve(nil)
		f.Must(err)
		if err := resolved.Validate(value); err != nil {
			t.Errorf("%s is no %s: %v\n%s", what, name, err, body)
		}
	}
	call := func(function, response, body string, status int) {
		t.Helper()
		valid(function+"Request", "the request", []byte(body))
		resp, err := http.Post(server.URL+"/"+function, "application/json", strings.NewReader(body))
		f.Must(err)
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		f.Must(err)
		if resp.StatusCode != status {
			t.Errorf("%s answered %d: %s", function, resp.StatusCode, answer)
		}
		valid(response, "the answer of "+function, answer)
	}
	call("SaveTurn", "SaveTurnResponse", `{"tenant":"t","thread":"th","messages":[{"id":"m1","role":"user","content":"an apple"},{"id":"m2","role":"assistant","content":"","tool_calls":[{"id":"c","name":"n","arguments":"{}"}]},{"id":"m3","role":"tool","content":"x","tool_call_id":"c"},{"id":"m4","role":"assistant","content":"b"},{"id":"m5","role":"user","content":"c"}]}`, 200)
	call("RecordEpisode", "RecordEpisodeResponse", `{"tenant":"t","thread":"th","from":"m1","to":"m2","episode":"They said a.","writes":[{"name":"pages/A","content":"a"}]}`, 200)
	call("OpenMemory", "OpenMemoryResponse", `{"tenant":"t","name":"pages/A"}`, 200)
	call("ListMemories", "ListMemoriesResponse", `{"tenant":"t"}`, 200)
	stretches, err := f.Direct.EpisodesAfter(t.Context(), fixture.Tenant, fixture.Thread, hippo.Position{}, 1)
	f.Must(err)
	call("OpenStretch", "OpenStretchResponse", `{"tenant":"t","thread":"th","handle":"`+stretches[0].Handle+`"}`, 200)
	call("SearchHistory", "SearchHistoryResponse", `{"tenant":"t","thread":"th","query":"apple"}`, 200)
	for _, form := range []string{"blocks", "openai", "anthropic", "gemini"} {
		call("TurnContext", "TurnContextResponse", `{"tenant":"t","thread":"th","format":"`+form+`","tools":true,"system":"s","facts":["f"],"budget":1000,"message":{"id":"m9","role":"user","content":"d"}}`, 200)
	}
	call("TurnContext", "Problem", `{"tenant":"t","thread":"th","budget":1,"message":{"id":"m9","role":"user","content":"hello"}}`, 422)
	call("OpenMemory", "Problem", `{"tenant":"t","name":"pages/B"}`, 404)
}
