package localstack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
)

// object is JSON as Firestore's REST API takes and gives it.
type object = map[string]any

func call(t *testing.T, method, url string, body any) object {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v: %s", method, url, resp.Status, err, said)
	}
	var answer object
	if err := json.Unmarshal(said, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func documents(host, project string) string {
	return fmt.Sprintf("http://%s/v1/projects/%s/databases/(default)/documents", host, project)
}

func publishMessage(t *testing.T, s *Stack, text string) {
	t.Helper()
	client, err := pubsub.NewClient(t.Context(), s.Project, option.WithEndpoint(s.PubSubHost), option.WithoutAuthentication(),
		option.WithTelemetryDisabled(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	publisher := client.Publisher(s.Topic)
	defer publisher.Stop()
	if _, err := publisher.Publish(t.Context(), &pubsub.Message{Data: []byte(text)}).Get(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func answers(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func TestEmulatorStackCarriesChangesAndMessages(t *testing.T) {
	emulatortest.Firestore(t)
	f := newToy()
	s := start(t, Config{Store: Emulator, Functions: f.functions(), Dir: t.TempDir(), Project: "demo-stack"})
	memory := documents(s.FirestoreHost, s.Project) + "/tenants/a/memories/b"
	call(t, http.MethodPatch, documents(s.FirestoreHost, s.Project)+"/tenants/a/memory_index/meta", object{})
	call(t, http.MethodPatch, memory, object{"fields": object{"name": object{"stringValue": "b"}}})
	f.expectEvent(t, "tenants/a/memories/b", false)
	call(t, http.MethodDelete, memory, nil)
	f.expectEvent(t, "tenants/a/memories/b", true)
	publishMessage(t, s, `{"tenant":"a"}`)
	f.expectMessage(t, `{"tenant":"a"}`)

	for _, name := range []string{"FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST", "HIPPOFIRE_REPAIR_TOPIC", "HIPPOFIRE_DATABASE", "PORT"} {
		if f.with.Env[name] == "" {
			t.Errorf("the functions were not given %s", name)
		}
	}
	stop(t, s)
	for _, addr := range []string{s.FirestoreHost, s.PubSubHost, strings.TrimPrefix(s.FunctionsURL, "http://")} {
		if answers(addr) {
			t.Errorf("something still listens at %s", addr)
		}
	}
}

func TestEmulatorsThatRunAlreadyAreUsedAndLeftRunning(t *testing.T) {
	firestore, topics := emulatortest.Firestore(t), emulatortest.PubSub(t)
	config := Config{Store: Emulator, Project: "demo-external", FirestoreHost: firestore, PubSubHost: topics}
	for _, message := range []string{"first", "second"} {
		f := newToy()
		config.Functions, config.Dir = f.functions(), t.TempDir()
		s := start(t, config)
		if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], firestore) || !strings.Contains(s.Notes[0], "--functions_emulator") {
			t.Errorf("notes %q, want one that says that this emulator posts its events elsewhere", s.Notes)
		}
		publishMessage(t, s, message)
		f.expectMessage(t, message)
		stop(t, s)
	}
	if !answers(firestore) || !answers(topics) {
		t.Error("an emulator that was there before was stopped")
	}
}

func TestEmulatorThatPostsToTheRelayIsRecognised(t *testing.T) {
	topics := emulatortest.PubSub(t)
	l, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	p, err := emulator.Firestore(t.Context(), emulator.Options{FunctionsEmulator: fmt.Sprintf("127.0.0.1:%d", port)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	f := newToy()
	s := start(t, Config{Store: Emulator, Functions: f.functions(), Dir: t.TempDir(), Project: "demo-known",
		FirestoreHost: p.Addr(), PubSubHost: topics, RelayPort: port})
	if len(s.Notes) != 0 {
		t.Errorf("notes %q, want none", s.Notes)
	}
	call(t, http.MethodPatch, documents(s.FirestoreHost, s.Project)+"/tenants/a/memories/b", object{})
	f.expectEvent(t, "tenants/a/memories/b", false)
}

func TestEmulatorThatEndsByItselfEndsTheWait(t *testing.T) {
	emulatortest.PubSub(t)
	p, err := emulator.PubSub(t.Context(), emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Stack{ended: make(chan error, 1)}
	s.watch("the emulator", p)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("error %v, want one of kind %v", err, hippo.Unavailable)
	}
	stop(t, s)
}

// fill writes small memories, and one document with every type of value that the
// stores write.
func fill(t *testing.T, host, project string, memories int) object {
	t.Helper()
	root := documents(host, project)
	name := strings.TrimPrefix(root, "http://"+host+"/v1/")
	for first := 0; first < memories; first += 500 {
		var writes []object
		for i := first; i < min(first+500, memories); i++ {
			writes = append(writes, object{"update": object{
				"name": fmt.Sprintf("%s/tenants/a/memories/m%d", name, i),
				"fields": object{
					"name":       object{"stringValue": fmt.Sprintf("pages/%d", i)},
					"content":    object{"stringValue": strings.Repeat("x", 200)},
					"updated_at": object{"timestampValue": "2026-10-11T09:30:00.123456Z"},
				},
			}})
		}
		call(t, http.MethodPost, root+":commit", object{"writes": writes})
	}
	odd := object{
		"time":  object{"timestampValue": "2026-10-11T09:30:00.123456Z"},
		"whole": object{"integerValue": "9007199254740993"},
		"part":  object{"doubleValue": 0.5},
		"none":  object{"nullValue": nil},
		"flag":  object{"booleanValue": true},
		"bytes": object{"bytesValue": "/w=="},
		"list":  object{"arrayValue": object{"values": []any{object{"stringValue": "a"}, object{"mapValue": object{"fields": object{"b": object{"stringValue": "c"}}}}}}},
		"e":     object{"mapValue": object{"fields": object{"a.b": object{"integerValue": "1"}, "`x` é/y": object{"integerValue": "2"}}}},
		"empty": object{"mapValue": object{}},
		"big":   object{"stringValue": strings.Repeat("x", 900<<10)},
	}
	call(t, http.MethodPatch, root+"/tenants/a/odd/one", object{"fields": odd})
	return odd
}

func expectFilled(t *testing.T, host, project string, memories int, odd object) {
	t.Helper()
	root := documents(host, project)
	if got := call(t, http.MethodGet, root+"/tenants/a/odd/one", nil)["fields"]; !cmp.Equal(any(odd), got) {
		t.Errorf("one document differs (-before +after)\n%.2000s", cmp.Diff(any(odd), got))
	}
	found, page := 0, ""
	for more := true; more; more = page != "" {
		answer := call(t, http.MethodGet, root+"/tenants/a/memories?pageSize=3000&pageToken="+page, nil)
		listed, _ := answer["documents"].([]any)
		for _, d := range listed {
			if at := d.(object)["fields"].(object)["updated_at"]; !cmp.Equal(any(object{"timestampValue": "2026-10-11T09:30:00.123456Z"}), at) {
				t.Fatalf("a memory has the time %v", at)
			}
		}
		found += len(listed)
		page, _ = answer["nextPageToken"].(string)
	}
	if found != memories {
		t.Errorf("%d memories, want %d", found, memories)
	}
}

func TestEmulatorDataIsKeptOverARestart(t *testing.T) {
	topics := emulatortest.PubSub(t)
	const memories = 2_000
	data := t.TempDir()
	var odd object
	for round := range 2 {
		f := newToy()
		s := start(t, Config{Store: Emulator, Functions: f.functions(), Dir: t.TempDir(), Project: "demo-kept", Data: data, PubSubHost: topics})
		if round == 0 {
			f.events = make(chan docevent.Change, memories)
			odd = fill(t, s.FirestoreHost, s.Project, memories)
		} else {
			expectFilled(t, s.FirestoreHost, s.Project, memories, odd)
			if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "update time") {
				t.Errorf("notes %q, want one about update times", s.Notes)
			}
		}
		stop(t, s)
	}
	saves, err := filepath.Glob(filepath.Join(data, "firestore", "save-*"))
	if err != nil || len(saves) != 1 {
		t.Errorf("%d saves were kept, want 1: %v", len(saves), err)
	}
}

func TestCrashKeepsTheLastCompleteSave(t *testing.T) {
	host := emulatortest.Firestore(t)
	data := t.TempDir()
	k, err := newKeeper(host, "demo-crash", DefaultDatabase, data, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := k.load(t.Context()); found || err != nil {
		t.Errorf("an empty folder loads %v, %v", found, err)
	}
	odd := fill(t, host, "demo-crash", 3)
	if err := k.save(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A save that was cut off leaves a folder that nothing points to.
	if err := os.MkdirAll(filepath.Join(k.dir, "save-9", "all_namespaces"), 0o700); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.save(cancelled); err == nil {
		t.Error("a save that was cut off returned no error")
	}

	after, err := newKeeper(host, "demo-crash-after", DefaultDatabase, data, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := after.load(t.Context()); !found || err != nil {
		t.Fatalf("load: %v, %v", found, err)
	}
	expectFilled(t, host, "demo-crash-after", 3, odd)
}

func TestDamagedSaveIsAnError(t *testing.T) {
	host := emulatortest.Firestore(t)
	k, err := newKeeper(host, "demo-damaged", DefaultDatabase, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"save-1", "../elsewhere", ""} {
		if err := os.WriteFile(k.currentFile(), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := k.load(t.Context()); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("current %q: error %v, want one of kind %v", name, err, hippo.Invalid)
		}
	}
}
