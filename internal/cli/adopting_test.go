package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/internal/secret"
	"github.com/hippofire/hippofire/store/embedded"
	"github.com/hippofire/hippofire/store/firestoredb"
	"github.com/hippofire/hippofire/store/storetest"
)

// existing is a store that another program has filled: plain ids, other paths,
// other names of fields, and messages of its own.
type existing interface {
	PutDocument(ctx context.Context, path string, fields map[string]any) error
	Close() error
}

// body is the text of a memory. No log may hold it.
var body = secret.Text("body")

var began = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)

func fillExisting(t *testing.T, store existing) {
	t.Helper()
	put := func(path string, fields map[string]any) {
		t.Helper()
		if err := store.PutDocument(t.Context(), path, fields); err != nil {
			t.Fatal(err)
		}
	}
	put("users/ann", map[string]any{"email": "ann@example.com"})
	for i := range 30 {
		put(fmt.Sprintf("users/ann/pages/Note %d", i), map[string]any{"title": fmt.Sprintf("Note %d", i), "body": body, "edited_at": began.AddDate(0, 0, i), "tags": []any{"x"}})
	}
	put("users/ann/pages/untimed", map[string]any{"body": int64(7)})
	for i := range 40 {
		put(fmt.Sprintf("apps/agent/customers/ann/chats/main/lines/l%02d", i), map[string]any{
			"from": []string{"user", "assistant"}[i%2], "text": fmt.Sprintf("line %d %s", i, secret.Text("line")), "sent_at": began.Add(time.Duration(i) * time.Minute), "read": true,
		})
	}
}

// TestTheWholeSystemOnAnExistingStore follows docs/adopting.md.
func TestTheWholeSystemOnAnExistingStore(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		c := newAdopting(t)
		data := filepath.Join(c.dir, "data")
		store, err := embedded.Open(filepath.Join(data, "embedded"), storetest.OtherLayout(), nil)
		if err != nil {
			t.Fatal(err)
		}
		fillExisting(t, store)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		l := startLocal(c, "--store", "embedded", "--data", data)
		adopt(t, c, nil)
		l.stop()
	})
	t.Run("emulator", func(t *testing.T) {
		emulatortest.Firestore(t) // or the reason why there is none
		c := newAdopting(t)
		l := startLocal(c, "--store", "emulator")
		info, err := localstack.ReadInfo(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		store, err := firestoredb.Open(t.Context(), firestoredb.Config{ProjectID: info.Project, EmulatorHost: info.FirestoreHost}, storetest.OtherLayout())
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		fillExisting(t, store)
		adopt(t, c, store)
		l.stop()
	})
}

func newAdopting(t *testing.T) *command {
	c := newCommand(t)
	for name, value := range fixture.LayoutEnv(storetest.OtherLayout()) {
		c.env = append(c.env, name+"="+value)
	}
	return c
}

// call posts to a function of the running stack.
func (c *command) call(function, body string) map[string]any {
	c.t.Helper()
	info, err := localstack.ReadInfo(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.Post(info.FunctionsURL+"/"+function, "application/json", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s answered %d: %s %v", function, resp.StatusCode, text, err)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// adopt uses the store; edits is a way to write behind the functions' back, where
// the stack leaves one.
func adopt(t *testing.T, c *command, edits existing) {
	turn := func() string {
		t.Helper()
		text, err := json.Marshal(c.call("TurnContext", `{"tenant":"ann","thread":"main"}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := turn()
	for _, want := range []string{"Note 29", "untimed", "line 39", "line 10"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first turn does not show %q:\n%s", want, first)
		}
	}
	if strings.Contains(first, `"line 9 `) {
		t.Errorf("the first turn shows more than its window:\n%s", first)
	}
	wait(t, "the first turn to have the index built", func() bool { return strings.Contains(turn(), `"index":"warm"`) })
	if got := c.call("OpenMemory", `{"tenant":"ann","name":"Note 3"}`); got["content"] != body || got["updated_at"] != "2026-05-04T09:00:00.000000Z" {
		t.Errorf("OpenMemory answered %v", got)
	}
	c.call("SaveTurn", `{"tenant":"ann","thread":"main","messages":[{"id":"new","role":"user","content":"line 40"}]}`)
	recorded := c.call("RecordEpisode", `{"tenant":"ann","thread":"main","from":"l00","to":"l05","episode":"The first lines.","writes":[{"name":"Note 3","content":"new text"}]}`)
	if recorded["indexed"] != true {
		t.Errorf("RecordEpisode answered %v", recorded)
	}
	later := turn()
	if !strings.Contains(later, "line 40") || !strings.Contains(later, "The first lines. (filed in Note 3)") {
		t.Errorf("the turn afterwards:\n%s", later)
	}
	if got := c.call("OpenMemory", `{"tenant":"ann","name":"Note 3"}`); got["content"] != "new text" {
		t.Errorf("OpenMemory answered %v", got)
	}
	if stretch := fmt.Sprint(c.call("OpenStretch", fmt.Sprintf(`{"tenant":"ann","thread":"main","handle":%q}`, recorded["handle"]))); !strings.Contains(stretch, "line 5") {
		t.Errorf("OpenStretch answered %s", stretch)
	}
	if list := fmt.Sprint(c.call("ListMemories", `{"tenant":"ann","words":"note 29"}`)); !strings.Contains(list, "Note 29") {
		t.Errorf("ListMemories answered %s", list)
	}
	if found := fmt.Sprint(c.call("SearchHistory", `{"tenant":"ann","thread":"main","query":"line 7"}`)); !strings.Contains(found, "line 7 ") {
		t.Errorf("SearchHistory answered %s", found)
	}
	if edits != nil {
		if err := edits.PutDocument(t.Context(), "users/ann/pages/Written by the app", map[string]any{"title": "a title", "body": body, "edited_at": time.Now()}); err != nil {
			t.Fatal(err)
		}
		wait(t, "what the app writes to be listed", func() bool { return strings.Contains(turn(), "Written by the app") })
	}
	c.ok("check", "--tenant", "ann")
	c.ok("nightly")
	wait(t, "the nightly repair", func() bool {
		return strings.Contains(c.ok("check", "--report", "--tenant", "ann"), "nothing wrong")
	})
}
