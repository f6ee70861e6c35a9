package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
)

func TestTurnOverItsBudgetIsA422WithTheFigures(t *testing.T) {
	s := serve(fixture.Embedded(t))
	a := s.post("TurnContext", `{"tenant":"t","thread":"th","budget":10,"system":"You sell bicycles.","message":{"id":"m","role":"user","content":"Which one should I buy for my daughter?"}}`)
	want := map[string]any{"budget": 10.0, "needed": 23.0, "system_text": 9.0, "new_message": 14.0}
	if a.status != http.StatusUnprocessableEntity || a.contentType != "application/problem+json" || a.body["field"] != "budget" || fmt.Sprint(a.body["figures"]) != fmt.Sprint(want) {
		t.Errorf("%d %v, want the figures %v", a.status, a.body, want)
	}
}

func TestContractWithAnUnknownBlockANegativeCeilingAndATab(t *testing.T) {
	s := serve(fixture.Embedded(t))
	for yaml, want := range map[string][2]string{
		"include:\n  lease: {rank: 1}\n":                   {"contract_inline.include.lease", "line 2: there is no such block"},
		"include:\n  buffer: {rank: 1, max_tokens: -1}\n":  {"contract_inline.include.buffer.max_tokens", "line 2: -1 is negative"},
		"include:\n\tbuffer: {rank: 1}\n":                  {"contract_inline", "line 2: begins with a tab"},
		"max_tokens: 5\ninclude: {buffer: {rank: 1}}\n# x": {"", ""},
	} {
		body, err := json.Marshal(map[string]string{"tenant": "t", "thread": "th", "contract_inline": yaml})
		s.Must(err)
		a := s.post("TurnContext", string(body))
		if want[0] == "" {
			if a.status != http.StatusOK {
				t.Errorf("%q: %v", yaml, a.body)
			}
			continue
		}
		if detail, _ := a.body["detail"].(string); a.status != http.StatusBadRequest || a.body["field"] != want[0] || !strings.Contains(detail, want[1]) {
			t.Errorf("%q: %d %v, want %v", yaml, a.status, a.body, want)
		}
	}
}

func TestTurnRequestsAreRefusedWithTheFieldAtFault(t *testing.T) {
	s := serve(fixture.Embedded(t))
	for field, value := range map[string]string{
		"budget": `-1`, "tokenizer": `"p50k"`, "format": `"mistral"`, "contract": `"none"`, "facts[1]": `["x",""]`,
		"message.tool_call_id": `{"id":"m","role":"tool","content":"x","tool_call_id":"c"}`,
	} {
		name, _, _ := strings.Cut(strings.ReplaceAll(field, "[", "."), ".")
		a := s.post("TurnContext", fmt.Sprintf(`{"tenant":"t","thread":"th",%q:%s}`, name, value))
		if a.status != http.StatusBadRequest || a.body["field"] != field {
			t.Errorf("%s: %d %v", field, a.status, a.body)
		}
	}
	if a := s.post("TurnContext", `{"tenant":"t","thread":"th","contract":"a","contract_inline":"include: {}"}`); a.status != http.StatusBadRequest || a.body["field"] != "contract_inline" {
		t.Errorf("two contracts: %d %v", a.status, a.body)
	}
}

func TestConfiguredContractIsChosenByName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "contracts.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := fixture.Embedded(t)
	config, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(map[string]string{"HIPPOFIRE_CONTRACTS": file}))
	f.Must(err)
	write("contracts:\n  small: {max_tokens: 7, include: {recent_messages: {rank: 1}}}\n")
	app, err := functions.New(config, functions.Parts{Store: f.Direct, Log: f.Log()})
	f.Must(err)
	ask := functions.TurnRequest{ThreadRef: functions.ThreadRef{Tenant: "t", Thread: "th"}, Contract: "small"}
	turn, err := app.Turn(t.Context(), ask)
	f.Must(err)
	if b := turn.Ledger.Budget; b == nil || *b != 7 || len(turn.Ledger.Reads) != 1 {
		t.Errorf("budget %v, reads %v", b, turn.Ledger.Reads)
	}
	for text, want := range map[string]string{"contracts:\n  a: {}\n": "HIPPOFIRE_CONTRACTS.contracts.a.include: line 2", "\t": "HIPPOFIRE_CONTRACTS"} {
		write(text)
		if _, err := functions.New(config, functions.Parts{Store: f.Direct, Log: f.Log()}); !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	config.Contracts += ".none"
	if _, err := functions.New(config, functions.Parts{Store: f.Direct, Log: f.Log()}); !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), "HIPPOFIRE_CONTRACTS") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestFaviconReadsNothing(t *testing.T) {
	s := serve(fixture.Embedded(t))
	reads := 0
	s.Fault.Before = s.Count(&reads)
	// Deployed, a function is served at every path, as /TurnContext is here.
	for _, path := range []string{"/favicon.ico", "/", "/robots.txt", "/TurnContext/favicon.ico", "/TurnContext"} {
		req, err := http.NewRequest(http.MethodGet, s.url+path, nil)
		s.Must(err)
		if a := s.do(req); a.status/100 != 4 {
			t.Errorf("GET %s answered %d", path, a.status)
		}
	}
	if reads != 0 {
		t.Errorf("%d calls of the store", reads)
	}
}

func TestClientThatGoesAwayStopsTheReadUnderWay(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	ctx, leave := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	f.Fault.Before = func(ctx context.Context, method string) error {
		if method != "RecentMessages" {
			return nil
		}
		leave()
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/TurnContext", strings.NewReader(`{"tenant":"t","thread":"th"}`))
	f.Must(err)
	if _, err := http.DefaultClient.Do(req); err == nil {
		t.Error("the client that left had an answer")
	}
	<-stopped // or the test never ends
}

func TestTwoHundredTurnsOfFiftyTenantsAtOnceAreEachTheirOwn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := serve(f)
		const tenants, turns = 50, 200
		for i := range tenants {
			arrangeTenant(f, hippo.TenantID(fmt.Sprintf("tenant-%02d", i)))
		}
		var wg sync.WaitGroup
		for i := range turns {
			wg.Go(func() {
				tenant := fmt.Sprintf("tenant-%02d", i%tenants)
				a := s.post("TurnContext", `{"tenant":"`+tenant+`","thread":"th","format":"openai","system":"for `+tenant+`"}`)
				text := fmt.Sprint(a.body)
				if own := strings.Count(text, tenant); a.status != http.StatusOK || own < 4 || strings.Count(text, "tenant-") != own {
					t.Errorf("%s: %d %s", tenant, a.status, text)
				}
			})
		}
		wg.Wait()
	})
}

func TestTurnIsLoggedWithItsLedger(t *testing.T) {
	s := serve(fixture.Embedded(t))
	s.ok("TurnContext", `{"tenant":"t","thread":"th","budget":20,"facts":["one","two"]}`)
	var line map[string]any
	for l := range strings.Lines(s.log.String()) {
		if strings.Contains(l, `"message":"turn"`) {
			s.Must(json.Unmarshal([]byte(l), &line))
		}
	}
	for _, field := range []string{"tenant", "thread", "format", "tokens", "budget", "dropped", "index", "reads", "documents", "bytes", "milliseconds"} {
		if line[field] == nil {
			t.Errorf("the log has no %s: %v", field, line)
		}
	}

	var text bytes.Buffer
	app, err := functions.New(configOf(s.Fixture), functions.Parts{Store: s.Direct, Log: slog.New(slog.NewTextHandler(&text, nil))})
	s.Must(err)
	budget := 20
	for _, b := range []*int{&budget, nil} {
		text.Reset()
		_, err = app.Turn(t.Context(), functions.TurnRequest{ThreadRef: functions.ThreadRef{Tenant: "t", Thread: "th"}, Budget: b})
		s.Must(err)
		if line := text.String(); strings.Contains(line, "budget=20") != (b != nil) || strings.Contains(line, "budget=0x") {
			t.Errorf("a log of text says %s", line)
		}
	}
}

func TestMessagesThatAreLateAreA503WithRetryAfter(t *testing.T) {
	f := fixture.Embedded(t)
	config := configOf(f)
	config.TurnDeadline = time.Millisecond
	app, err := functions.New(config, functions.Parts{Store: f.Fault, Log: f.Log()})
	f.Must(err)
	f.Fault.Before = func(ctx context.Context, method string) error {
		if method != "RecentMessages" {
			return nil
		}
		<-ctx.Done()
		return hippo.Wrap(hippo.Unavailable, ctx.Err(), "reading")
	}
	answer := httptest.NewRecorder()
	functions.Handler(app).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/TurnContext", strings.NewReader(`{"tenant":"t","thread":"th"}`)))
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", answer.Code, answer.Header(), answer.Body)
	}
}

// arrangeTenant gives a tenant a message, a memory and an index.
func arrangeTenant(f *fixture.Fixture, tenant hippo.TenantID) {
	f.Helper()
	_, err := f.Direct.SaveMessages(f.Context(), tenant, fixture.Thread, []hippo.Message{{ID: "m1", Role: hippo.User, Content: "secret of " + string(tenant), CreatedAt: 1}})
	f.Must(err)
	name := "pages/of " + string(tenant)
	f.Must(f.Direct.SaveMemory(f.Context(), tenant, hippo.Memory{ID: f.ID(name), Name: name}))
	meta, err := f.Direct.AnnounceGeneration(f.Context(), tenant, hippo.Meta{}, hippo.Generation{ID: hippo.NewGenerationID(), Shards: hippo.MinShards, Version: hippo.IndexVersion})
	f.Must(err)
	_, err = f.Direct.PromoteGeneration(f.Context(), tenant, meta)
	f.Must(err)
	f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(f.Context(), tenant, []hippo.MemoryID{f.ID(name)}))
}

// TestLeadingBytesThatTwoTurnsShare prints how much of a body is the same from one
// turn to the next, which is what a provider's prompt cache can hold.
func TestLeadingBytesThatTwoTurnsShare(t *testing.T) {
	f := fixture.Embedded(t)
	config := configOf(f)
	config.Window = 16
	app, err := functions.New(config, functions.Parts{Store: f.Direct, Log: functions.NewLog(io.Discard)})
	f.Must(err)
	f.SaveMemories(fixture.Names(200)...)
	save := func(i int) {
		messages := []functions.Message{
			{ID: fmt.Sprintf("u%d", i), Role: "user", Content: fmt.Sprintf("question %d", i)},
			{ID: fmt.Sprintf("a%d", i), Role: "assistant", Content: fmt.Sprintf("answer %d", i)},
		}
		_, err := app.Save(t.Context(), functions.SaveRequest{ThreadRef: functions.ThreadRef{Tenant: "t", Thread: "th"}, Messages: messages})
		f.Must(err)
	}
	body := func(form string, facts []string, i int) string {
		turn, err := app.Turn(t.Context(), functions.TurnRequest{
			ThreadRef: functions.ThreadRef{Tenant: "t", Thread: "th"}, Format: form, Tools: true, System: strings.Repeat("You sell bicycles. ", 20),
			Facts: facts, Message: &functions.Message{ID: "new", Role: "user", Content: fmt.Sprintf("question %d", i)},
		})
		f.Must(err)
		text, err := json.Marshal(turn.Body)
		f.Must(err)
		return string(text)
	}
	saved := 0
	for _, test := range []struct {
		name         string
		saved        int
		facts, other []string
		end          string // what is shared reaches behind it
	}{
		{"within the window", 1, nil, nil, "answer 0"},
		{"within the window, with facts", 4, []string{"one"}, []string{"two"}, "[RECALLED FACTS]"},
		{"longer than the window", 9, nil, nil, "[END OF MEMORIES]"},
	} {
		for ; saved < test.saved; saved++ {
			save(saved)
		}
		for _, form := range []string{"openai", "anthropic", "gemini"} {
			before := body(form, test.facts, 1)
			save(saved)
			saved++
			after := body(form, test.other, 2)
			shared := 0
			for shared < min(len(before), len(after)) && before[shared] == after[shared] {
				shared++
			}
			t.Logf("thread %s, %s: %d of %d bytes", test.name, form, shared, len(after))
			if !strings.Contains(before[:shared], test.end) {
				t.Errorf("thread %s, %s: what is shared ends before %s, at %q", test.name, form, test.end, before[max(0, shared-30):shared])
			}
		}
	}
}
