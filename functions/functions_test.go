package functions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/repairmsg"
)

// served is the address of the framework's own server, which a process can start
// once.
var served = sync.OnceValues(func() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	failed := make(chan error, 1)
	go func() { failed <- funcframework.StartHostPort("127.0.0.1", port) }()
	for range 500 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return "http://127.0.0.1:" + port, nil
		}
		select {
		case err := <-failed:
			return "", err
		case <-time.After(10 * time.Millisecond):
		}
	}
	return "", fmt.Errorf("the framework does not serve")
})

// service is the functions on a fixture, behind the framework's server.
type service struct {
	*fixture.Fixture
	url string
	log *lockedBuffer
}

// lockedBuffer is a log that the server writes and a test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newLog is a log into the test's buffer, and into what the run prints.
func (s *service) newLog() *slog.Logger { return functions.NewLog(io.MultiWriter(s.log, os.Stderr)) }

func serve(f *fixture.Fixture) *service {
	f.Helper()
	return serveWith(f, nil)
}

// serveWith is serve with further variables.
func serveWith(f *fixture.Fixture, variables map[string]string) *service {
	f.Helper()
	url, err := served()
	f.Must(err)
	s := &service{Fixture: f, url: url, log: &lockedBuffer{}}
	p := f.Layout.Paths
	config, err := functions.ConfigFromEnv(f.Context(), envconfig.MultiLookuper(envconfig.MapLookuper(variables), envconfig.MapLookuper(map[string]string{
		"HIPPOFIRE_MEMORY_PATH": p.Memory, "HIPPOFIRE_INDEX_PATH": p.Index, "HIPPOFIRE_MOVE_PATH": p.Move, "HIPPOFIRE_MESSAGE_PATH": p.Message,
		"HIPPOFIRE_EPISODE_PATH": p.Episode, "HIPPOFIRE_PASS_PATH": p.Pass, "HIPPOFIRE_REPORT_PATH": p.Report,
		"HIPPOFIRE_TURN_DEADLINE": "1m", // an emulator on a busy machine answers late
	})))
	f.Must(err)
	app, err := functions.New(config, functions.Parts{Store: f.Fault, Log: s.newLog()})
	f.Must(err)
	functions.Provide(app)
	return s
}

// answer is what a function said.
type answer struct {
	status      int
	contentType string
	header      http.Header
	body        map[string]any
}

func (s *service) do(req *http.Request) answer {
	s.Helper()
	resp, err := http.DefaultClient.Do(req)
	s.Must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	s.Must(err)
	a := answer{status: resp.StatusCode, contentType: resp.Header.Get("Content-Type"), header: resp.Header}
	json.Unmarshal(text, &a.body)
	return a
}

func (s *service) post(function, body string) answer {
	s.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+"/"+function, strings.NewReader(body))
	s.Must(err)
	return s.do(req)
}

// ok posts and demands success.
func (s *service) ok(function, body string) map[string]any {
	s.Helper()
	a := s.post(function, body)
	if a.status != http.StatusOK || a.contentType != "application/json" {
		s.Fatalf("%s answered %d: %v", function, a.status, a.body)
	}
	return a.body
}

func TestStraightPathOverTheFramework(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := serve(f)
		saved := s.ok("SaveTurn", `{"tenant":"t","thread":"th","messages":[
			{"id":"m1","role":"user","content":"When do we open?"},
			{"id":"m2","role":"assistant","content":"","tool_calls":[{"id":"c1","name":"calendar","arguments":"{}"}]},
			{"id":"m3","role":"tool","tool_call_id":"c1","content":"Saturday"},
			{"id":"m4","role":"assistant","content":"On Saturday."}]}`)
		if n := len(saved["created"].([]any)); n != 4 {
			t.Errorf("%d messages created, want 4", n)
		}
		again := s.ok("SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m1","role":"user","content":"another text"}]}`)
		if again["existing"] != 1.0 || len(again["created"].([]any)) != 0 {
			t.Errorf("saving m1 again answered %v", again)
		}
		record := `{"tenant":"t","thread":"th","from":"m1","to":"m4","episode":"Opening is on Saturday.","writes":[{"name":"pages/Opening","content":"Saturday"}]}`
		f.EmptyIndex()
		if r := s.ok("RecordEpisode", record); r["written"] != true || r["indexed"] != true || r["handle"] == "" {
			t.Errorf("RecordEpisode answered %v", r)
		}
		if r := s.ok("RecordEpisode", record); r["repeated"] != true {
			t.Errorf("RecordEpisode answered a retry with %v", r)
		}
		if m := s.ok("OpenMemory", `{"tenant":"t","name":"pages/Opening"}`); m["content"] != "Saturday" {
			t.Errorf("OpenMemory answered %v", m)
		}
		turn := s.ok("TurnContext", `{"tenant":"t","thread":"th","message":{"id":"m5","role":"user","content":"thanks"}}`)
		var kinds []string
		for _, b := range turn["blocks"].([]any) {
			kinds = append(kinds, b.(map[string]any)["block"].(string))
		}
		if got := strings.Join(kinds, " "); got != "memory_list recent_messages new_message" {
			t.Errorf("the turn has the blocks %s", got)
		}
		if _, err := f.Direct.Memory(t.Context(), fixture.Tenant, f.ID("pages/Opening")); err != nil {
			t.Error(err)
		}
	})
}

func TestBadInputIsRefusedWithTheFieldAtFault(t *testing.T) {
	s := serve(fixture.Embedded(t))
	long := strings.Repeat("x", hippo.MaxIDBytes+1)
	for _, test := range []struct {
		name, function, body string
		status               int
		field                string
	}{
		{"not JSON", "SaveTurn", `{"tenant":"t",,}`, 400, ""},
		{"empty body", "SaveTurn", ``, 400, ""},
		{"not an object", "TurnContext", `[1]`, 400, ""},
		{"two values", "TurnContext", `{"tenant":"t","thread":"th"} {}`, 400, ""},
		{"unknown field", "TurnContext", `{"tenant":"t","thread":"th","colour":1}`, 400, "colour"},
		{"unknown field below", "SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"user","content":"x","colour":1}]}`, 400, "colour"},
		{"wrong type", "TurnContext", `{"tenant":7,"thread":"th"}`, 400, "tenant"},
		{"missing tenant", "TurnContext", `{"thread":"th"}`, 400, "tenant"},
		{"missing thread", "SaveTurn", `{"tenant":"t","messages":[]}`, 400, "thread"},
		{"over-long id", "TurnContext", `{"tenant":"` + long + `","thread":"th"}`, 400, "tenant"},
		{"id with a slash", "TurnContext", `{"tenant":"a/b","thread":"th"}`, 400, "tenant"},
		{"id with two dots", "TurnContext", `{"tenant":"t","thread":"a..b"}`, 400, "thread"},
		{"id with a control character", "TurnContext", `{"tenant":"t\u0007","thread":"th"}`, 400, "tenant"},
		{"id of invalid UTF-8", "TurnContext", "{\"tenant\":\"t\",\"thread\":\"\xff\"}", 400, "thread"},
		{"message id of invalid UTF-8", "SaveTurn", "{\"tenant\":\"t\",\"thread\":\"th\",\"messages\":[{\"id\":\"a\"},{\"id\":\"\xff\"}]}", 400, "messages[1].id"},
		{"no messages", "SaveTurn", `{"tenant":"t","thread":"th"}`, 400, "messages"},
		{"unknown role", "SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"robot","content":"x"}]}`, 400, "messages[0].role"},
		{"bad time", "SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"user","content":"x","created_at":"yesterday"}]}`, 400, "messages[0].created_at"},
		{"time that stands for none", "SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"user","content":"x","created_at":"1970-01-01T01:00:00+01:00"}]}`, 400, "messages[0].created_at"},
		{"same id twice", "SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"user","content":"x"},{"id":"m","role":"user","content":"y"}]}`, 400, "messages[1].id"},
		{"tool result without its call", "SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"tool","content":"x"}]}`, 400, "messages[0].tool_call_id"},
		{"too large a message", "SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"user","content":"` + strings.Repeat("x", hippo.MaxMessageBytes+1) + `"}]}`, 413, "messages[0].content"},
		{"too large a body", "SaveTurn", `{"tenant":"` + strings.Repeat("x", 21<<20) + `"}`, 413, ""},
		{"bad new message", "TurnContext", `{"tenant":"t","thread":"th","message":{"id":"m","role":"user","content":""}}`, 400, "message.content"},
		{"unknown message", "RecordEpisode", `{"tenant":"t","thread":"th","from":"m1","to":"m2","episode":""}`, 404, "from"},
		{"memory without a name", "RecordEpisode", `{"tenant":"t","thread":"th","from":"m1","to":"m2","episode":"","writes":[{"name":"","content":""}]}`, 400, "writes[0].name"},
		{"unknown memory", "OpenMemory", `{"tenant":"t","name":"pages/none"}`, 404, "name"},
		{"missing name", "OpenMemory", `{"tenant":"t"}`, 400, "name"},
		{"bad limit", "OpenMemory", `{"tenant":"t","name":"pages/none","limit":-1}`, 400, "limit"},
	} {
		a := s.post(test.function, test.body)
		field, _ := a.body["field"].(string)
		if a.status != test.status || a.contentType != "application/problem+json" || field != test.field || a.body["detail"] == "" {
			t.Errorf("%s: %d %s %v, want %d naming %q", test.name, a.status, a.contentType, a.body, test.status, test.field)
		}
	}
}

func httpNames() []string {
	var names []string
	for _, e := range functions.Endpoints() {
		names = append(names, e.Name)
	}
	return names
}

func TestOtherMethodsAreRefusedAndReadNothing(t *testing.T) {
	s := serve(fixture.Embedded(t))
	reads := 0
	s.Fault.Before = s.Count(&reads)
	for _, function := range httpNames() {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			req, err := http.NewRequest(method, s.url+"/"+function, nil)
			s.Must(err)
			if a := s.do(req); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != http.MethodPost {
				t.Errorf("%s %s answered %d", method, function, a.status)
			}
		}
	}
	if reads != 0 {
		t.Errorf("%d calls of the store for requests that ask nothing", reads)
	}
}

func TestUnknownThreadHasAnEmptyTurn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := serve(f)
		turn := s.ok("TurnContext", `{"tenant":"nobody","thread":"nowhere"}`)
		if blocks, ok := turn["blocks"].([]any); !ok || len(blocks) != 0 {
			t.Errorf("blocks are %v, want an empty list", turn["blocks"])
		}
	})
}

func TestStoreThatIsDownIsA503WithRetryAfter(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	f.Fault.Before = f.FailAll("RecentMessages", hippo.Errorf(hippo.Unavailable, "", "secret address 10.0.0.1"))
	a := s.post("TurnContext", `{"tenant":"t","thread":"th"}`)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || strings.Contains(fmt.Sprint(a.body), "secret") {
		t.Errorf("%d %v", a.status, a.body)
	}
}

func TestWordsOfTheStoreAreNotTold(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	says := errors.New("rpc error: projects/p/databases/d/documents/tenants/t/memories/cGFnZXM")
	for _, kind := range []hippo.ErrorKind{hippo.Invalid, hippo.TooLarge, hippo.Conflict, hippo.NotFound} {
		f.Fault.Before = f.FailAll("SaveMessages", hippo.Wrap(kind, hippo.Wrap(kind, says, "commit"), "write documents"))
		a := s.post("SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m","role":"user","content":"x"}]}`)
		if a.status != kind.HTTPStatus() || a.body["detail"] != "write documents: commit" {
			t.Errorf("%s: %d %v", kind, a.status, a.body)
		}
	}
}

func TestLargestSaveTurnFitsInWhateverFormItsJSONHas(t *testing.T) {
	s := serve(fixture.Embedded(t))
	var messages []string
	for i := range 6 {
		messages = append(messages, fmt.Sprintf(`{"id":"m%d","role":"user","content":"%s"}`, i, strings.Repeat(`\u000a`, hippo.MaxSaveBytes/6)))
	}
	s.ok("SaveTurn", `{"tenant":"t","thread":"th","messages":[`+strings.Join(messages, ",")+`]}`)
}

func TestLongMemoryIsReadInPages(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	content := strings.Repeat("Größe und Maß. ", 5000)
	f.Must(f.Direct.SaveMemory(t.Context(), fixture.Tenant, hippo.Memory{ID: f.ID("pages/long"), Name: "pages/long", Content: content}))
	var got strings.Builder
	for offset, pages := 0, 0; ; pages++ {
		page := s.ok("OpenMemory", fmt.Sprintf(`{"tenant":"t","name":"pages/long","offset":%d,"limit":1001}`, offset))
		got.WriteString(page["content"].(string))
		next, more := page["next_offset"].(float64)
		if !more {
			break
		}
		offset = int(next)
		if pages > 1000 {
			t.Fatal("the pages never end")
		}
	}
	if got.String() != content {
		t.Error("the pages together are not the memory")
	}
}

// event posts a CloudEvent in binary mode and returns the status.
func (s *service) event(function, eventType, contentType string, data []byte) int {
	s.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+"/"+function, bytes.NewReader(data))
	s.Must(err)
	for key, value := range map[string]string{"Ce-Id": "e1", "Ce-Specversion": "1.0", "Ce-Type": eventType, "Ce-Source": "//test", "Content-Type": contentType} {
		req.Header.Set(key, value)
	}
	return s.do(req).status
}

func TestHookAndRepairTakeTheirEvents(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := serve(f)
		f.SaveMemories("pages/a")
		push := func(m repairmsg.Message) int {
			body, err := json.Marshal(map[string]any{"message": map[string]any{"data": m.Encode(), "messageId": "1", "publishTime": "2026-01-01T00:00:00Z"}})
			f.Must(err)
			return s.post("Repair", string(body)).status
		}
		if status := push(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.NoIndex}); status/100 != 2 {
			t.Fatalf("Repair answered %d", status)
		}
		gen := f.Meta().Current
		f.WantEqual(gen)
		f.SaveMemories("pages/b")
		data, err := docevent.Change{Project: "p", Database: "(default)", Path: hippo.Fill(f.Layout.Paths.Memory, "t", string(f.ID("pages/b")))}.Encode()
		f.Must(err)
		if status := s.event("IndexHook", docevent.Written, "application/protobuf", data); status/100 != 2 {
			t.Fatalf("IndexHook answered %d", status)
		}
		f.WantEqual(gen)
	})
}

func TestProtobufBodyPostedToEveryOtherFunctionAndUselessEvents(t *testing.T) {
	s := serve(fixture.Embedded(t))
	for name, status := range map[string]int{
		"IndexHook, ff ff ff":        s.event("IndexHook", docevent.Written, "application/protobuf", []byte{0xff, 0xff, 0xff}),
		"IndexHook, another type":    s.event("IndexHook", "other", "application/json", []byte(`{}`)),
		"Repair, a protobuf payload": s.event("Repair", docevent.Written, "application/protobuf", []byte{0x0a, 0x00}),
		"Repair, another message":    s.event("Repair", "google.cloud.pubsub.topic.v1.messagePublished", "application/json", []byte(`{"message":{"data":"bm90IG91cnM="}}`)),
	} {
		if status/100 != 2 {
			t.Errorf("%s: %d, want it acknowledged", name, status)
		}
	}
	for _, function := range httpNames() {
		if status := s.event(function, docevent.Written, "application/protobuf", []byte{0x0a, 0x02, 0xff, 0xff}); status != http.StatusBadRequest {
			t.Errorf("%s answered an event with %d, want 400", function, status)
		}
	}
}

// TestTenantsNeverMeet asks every function that reads, as one tenant, for what only
// the other has.
func TestTenantsNeverMeet(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := serve(f)
		handle, cursor := map[string]string{}, map[string]string{}
		for _, tenant := range []string{"a", "b"} {
			in := `{"tenant":"` + tenant + `","thread":"th",`
			s.ok("SaveTurn", in+`"messages":[{"id":"`+tenant+`1","role":"user","content":"secret of `+tenant+`"}]}`)
			recorded := s.ok("RecordEpisode", in+`"from":"`+tenant+`1","to":"`+tenant+`1","episode":"gist of `+tenant+`","writes":[
				{"name":"pages/of `+tenant+`","content":"content of `+tenant+`"},{"name":"pages/more of `+tenant+`","content":"content of `+tenant+`"}]}`)
			handle[tenant] = recorded["handle"].(string)
			listed := s.ok("ListMemories", `{"tenant":"`+tenant+`","limit":1}`)
			var more bool
			if cursor[tenant], more = listed["next_cursor"].(string); !more {
				t.Fatalf("of the two memories of %s a page of one is all: %v", tenant, listed)
			}
		}
		for _, ask := range []struct{ function, own, others string }{
			{"TurnContext", `{"tenant":"a","thread":"th"}`, `{"tenant":"a","thread":"th","message":{"id":"b1","role":"user","content":"x"}}`},
			{"OpenMemory", `{"tenant":"a","name":"pages/of a"}`, `{"tenant":"a","name":"pages/of b"}`},
			{"ListMemories", `{"tenant":"a"}`, `{"tenant":"a","cursor":"` + cursor["b"] + `"}`},
			{"OpenStretch", `{"tenant":"a","thread":"th","handle":"` + handle["a"] + `"}`, `{"tenant":"a","thread":"th","handle":"` + handle["b"] + `"}`},
			{"SearchHistory", `{"tenant":"a","thread":"th","query":"secret"}`, `{"tenant":"a","thread":"th","query":"gist secret content"}`},
		} {
			own, others := fmt.Sprint(s.ok(ask.function, ask.own)), fmt.Sprint(s.post(ask.function, ask.others).body)
			if strings.Contains(own+others, "of b") || !strings.Contains(own, "of a") {
				t.Errorf("%s answers a %s, and when asked for b's, %s", ask.function, own, others)
			}
		}
		if a := s.post("RecordEpisode", `{"tenant":"a","thread":"th","from":"b1","to":"b1","episode":"x"}`); a.status != http.StatusNotFound && a.status != http.StatusBadRequest {
			t.Errorf("a recorded a stretch of b: %d %v", a.status, a.body)
		}
		saved := s.ok("SaveTurn", `{"tenant":"a","thread":"th","messages":[{"id":"b1","role":"user","content":"of a"}]}`)
		if len(saved["created"].([]any)) != 1 {
			t.Errorf("a message of a is taken for that of b: %v", saved)
		}
	})
}

func TestMisconfiguredProcessSaysWhichVariable(t *testing.T) {
	for variable, value := range map[string]string{
		"HIPPOFIRE_NAMING": "rot13", "HIPPOFIRE_WINDOW": "0", "HIPPOFIRE_CACHE_BYTES": "-1",
		"HIPPOFIRE_MEMORY_PATH": "memories/{memory}", "HIPPOFIRE_INDEX_PATH": "tenants/{tenant}/memories/{shard}",
		"HIPPOFIRE_MEMORY_NAME_FIELD": "a b", "HIPPOFIRE_MESSAGE_ROLE_FIELD": "terms", "HIPPOFIRE_MEMORY_UPDATED_AT_FIELD": "content",
	} {
		_, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(map[string]string{variable: value}))
		if !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, value, err)
		}
	}
}
