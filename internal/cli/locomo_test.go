package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
)

// conversations is the path of a LoCoMo file: the real one where
// HIPPOFIRE_LOCOMO names it, else one of the same form.
func conversations(t *testing.T) string {
	if path := os.Getenv("HIPPOFIRE_LOCOMO"); path != "" {
		return path
	}
	return invented(t)
}

// invented writes a file of the form of LoCoMo: ten conversations of eight
// sessions, with a question each.
func invented(t *testing.T) string {
	var all []map[string]any
	for c := range 10 {
		conversation := map[string]any{"speaker_a": "Ann", "speaker_b": "Ben"}
		observation, summary := map[string]any{}, map[string]any{}
		for s := 1; s <= 8; s++ {
			turn := fmt.Sprintf("D%d:1", s)
			conversation[fmt.Sprintf("session_%d_date_time", s)] = fmt.Sprintf("9:00 am on %d May, 2023", s)
			conversation[fmt.Sprintf("session_%d", s)] = []map[string]any{{"speaker": "Ann", "dia_id": turn, "text": "Hello."}}
			observation[fmt.Sprintf("session_%d_observation", s)] = map[string]any{"Ann": [][]any{{"Ann said hello.", turn}}, "Ben": [][]any{{"Ben was greeted.", turn}}}
			summary[fmt.Sprintf("session_%d_summary", s)] = "Ann greeted Ben."
		}
		all = append(all, map[string]any{
			"sample_id": fmt.Sprintf("conv-%d", c), "conversation": conversation, "observation": observation, "session_summary": summary, "qa": []any{map[string]any{"question": "Who said hello?", "category": 4, "evidence": []string{"D3:1"}}},
		})
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "conversations.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tenantsOf(t *testing.T, path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		ID string `json:"sample_id"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestEventsAloneFillTheIndexOfTenConversations(t *testing.T) {
	emulatortest.Firestore(t) // or the reason why there is none
	path := conversations(t)
	tenants := tenantsOf(t, path)
	c := newCommand(t)
	c.env = append(c.env, "HIPPOFIRE_TEST_NO_RECONCILE=true")
	l := startLocal(c)
	var info struct {
		URL string `json:"functions_url"`
	}
	text, err := os.ReadFile(filepath.Join(c.dir, ".hippofire", "local.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &info); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range tenants { // the first turn has the empty index built
		resp, err := http.Post(info.URL+"/TurnContext", "application/json", strings.NewReader(`{"tenant":"`+tenant+`","thread":"conversation"}`))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
	}
	log := func() string {
		text, err := os.ReadFile(filepath.Join(c.dir, ".hippofire", "local.log"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	wait(t, "every index to be built", func() bool { return strings.Count(log(), `"repaired"`) >= len(tenants) })
	imported := regexp.MustCompile(`(\d+) memories written`).FindStringSubmatch(c.ok("import", "locomo", path))
	wait(t, "every index to be equal", func() bool { code, _, _ := c.run("check"); return code == 0 })
	if n := strings.Count(log(), `"message":"index build begins"`); n != len(tenants) {
		t.Errorf("%d builds, want one for each of %d tenants", n, len(tenants))
	}
	if n := fmt.Sprint(strings.Count(log(), `"message":"indexed"`)); n != imported[1] {
		t.Errorf("%s events were indexed, want one for each of %s memories", n, imported[1])
	}
	l.stop()
}

// wait waits until something is so.
func wait(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 300 {
		if so() {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestReachIsPrintedAndGivenAsData(t *testing.T) {
	c := newCommand(t)
	data := invented(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(data), "audit-errors.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := c.ok("bench", "reach", data)
	for _, want := range []string{
		"10 conversations, 10 questions with evidence, 0 of them with a label that the audit objects to.\n", "stretches: 30 messages; to before start", "first 10 hits", "100.0 / 100.0",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
	c.env = append(c.env, "HIPPOFIRE_LOCOMO="+data)
	var report struct {
		Conversations  int
		Buffer, Search []struct{ Hits int }
	}
	if err := json.Unmarshal([]byte(c.ok("bench", "reach", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Conversations != 10 || len(report.Buffer) != 7 || len(report.Search) != 3 {
		t.Errorf("as data: %+v", report)
	}
}
