package relay

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
)

// emulatorUpdate is a payload that Firestore emulator 1.19.9 posted for an
// update of "tenants/a/memories/mé1 x".
const emulatorUpdate = "Cm8KRXByb2plY3RzL2RlbW8vZGF0YWJhc2VzLyhkZWZhdWx0KS9kb2N1bWVudHMvdGVuYW50cy9hL21lbW9yaWVzL23DqTEgeBIMCgRuYW1lEgSKAQF5GgsI/7ay2AYQkJOhQSILCP+2stgGEIDZrXISbwpFcHJvamVjdHMvZGVtby9kYXRhYmFzZXMvKGRlZmF1bHQpL2RvY3VtZW50cy90ZW5hbnRzL2EvbWVtb3JpZXMvbcOpMSB4EgwKBG5hbWUSBIoBAXgaCwj/trLYBhCQk6FBIgsI/7ay2AYQkJOhQRoA"

// post is a request with the headers that the emulator sends.
func post(body string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/functions/projects/demo/triggers/hook", strings.NewReader(body))
	for name, value := range map[string]string{
		"Ce-Specversion":     "1.0",
		"Ce-Id":              "1cc2df8e-de15-4c75-a25a-7a5964d9c1d2",
		"Ce-Type":            docevent.Written,
		"Ce-Source":          "//firestore.googleapis.com/projects/projects/demo/databases/(default)",
		"Ce-Subject":         "documents/tenants/a/memories/mé1 x",
		"Ce-Document":        "tenants/a/memories/mé1 x",
		"Ce-Time":            "2026-11-29T21:39:11Z",
		"Ce-Datacontenttype": "application/protobuf",
		"Ce-Dataschema":      schema,
		"Ce-Project":         "demo",
		"Ce-Database":        "(default)",
		"Ce-Namespace":       "(default)",
		"Ce-Location":        "us-central1",
		"Content-Type":       "application/protobuf",
	} {
		req.Header.Set(name, value)
	}
	return req
}

func change(path string) docevent.Change {
	return docevent.Change{Project: "demo", Database: "(default)", Path: path, UpdatedAt: time.Date(2026, 10, 11, 9, 30, 0, 123456000, time.UTC)}
}

// function is a function under test conditions: it answers as answer says and
// notes what it was sent.
type function struct {
	answer func(n int) int // status of the nth request, from 1; 0 is a broken connection

	mu    sync.Mutex
	seen  []string // documents, in the order of arrival
	times []time.Time
	open  int
	most  int
	takes time.Duration
}

func (f *function) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	c, err := docevent.Decode(data)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.seen, f.times = append(f.seen, c.Path), append(f.times, time.Now())
	n := len(f.seen)
	f.open++
	f.most = max(f.most, f.open)
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.open--; f.mu.Unlock() }()
	select {
	case <-time.After(f.takes):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	status := http.StatusOK
	if f.answer != nil {
		status = f.answer(n)
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody}, nil
}

func newRelay(t *testing.T, f *function, o Options) *Relay {
	t.Helper()
	o.Transport = f
	r := New(&o)
	point(t, r, "http://function/IndexHook")
	return r
}

func point(t *testing.T, r *Relay, target string) {
	t.Helper()
	if err := r.Point(target); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, r *Relay, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := r.Publish(change(p)); err != nil {
			t.Fatal(err)
		}
	}
}

func expectStats(t *testing.T, r *Relay, want Stats) {
	t.Helper()
	if diff := cmp.Diff(want, r.Stats()); diff != "" {
		t.Errorf("stats (-want +got)\n%s", diff)
	}
}

// receive takes what arrives; it arrives within milliseconds.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing reached the function")
		panic("unreachable")
	}
}

func closeRelay(t *testing.T, r *Relay) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFunctionGetsAnEventAsEventarcSendsIt(t *testing.T) {
	type received struct {
		Attributes map[string]string
		Extensions map[string]any
		Change     docevent.Change
	}
	got := make(chan received, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		e, err := cehttp.NewEventFromHTTPRequest(req)
		if err != nil {
			t.Error(err)
			return
		}
		c, err := docevent.Decode(e.Data())
		if err != nil {
			t.Error(err)
		}
		got <- received{map[string]string{
			"id": e.ID(), "type": e.Type(), "source": e.Source(), "subject": e.Subject(), "time": e.Time().Format(time.RFC3339Nano),
			"datacontenttype": e.DataContentType(), "dataschema": e.DataSchema(), "specversion": e.SpecVersion(),
		}, e.Extensions(), c}
	}))
	defer server.Close()
	r := New(nil)
	point(t, r, server.URL+"/IndexHook")
	want := received{
		Attributes: map[string]string{
			"id": "1cc2df8e-de15-4c75-a25a-7a5964d9c1d2", "type": docevent.Written, "specversion": "1.0",
			"source":  "//firestore.googleapis.com/projects/demo/databases/(default)",
			"subject": "documents/tenants/a/memories/m%C3%A91%20x", "time": "2026-11-29T21:39:11.239824Z",
			"datacontenttype": "application/protobuf", "dataschema": schema,
		},
		Extensions: map[string]any{"project": "demo", "database": "(default)", "namespace": "(default)",
			"location": "us-central1", "document": "tenants/a/memories/m%C3%A91%20x"},
		Change: docevent.Change{Project: "demo", Database: "(default)", Path: "tenants/a/memories/mé1 x",
			UpdatedAt: time.Date(2026, 11, 29, 21, 39, 11, 239824000, time.UTC)},
	}
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, post(emulatorUpdate))
	if answer.Code != http.StatusOK {
		t.Errorf("the emulator was answered %d", answer.Code)
	}
	if diff := cmp.Diff(want, receive(t, got)); diff != "" {
		t.Errorf("posted by the emulator (-want +got)\n%s", diff)
	}

	delete(want.Extensions, "location")
	if err := r.Publish(want.Change); err != nil {
		t.Fatal(err)
	}
	ignoreID := cmpopts.IgnoreMapEntries(func(k, _ string) bool { return k == "id" })
	if diff := cmp.Diff(want, receive(t, got), ignoreID); diff != "" {
		t.Errorf("published (-want +got)\n%s", diff)
	}
	closeRelay(t, r)
	expectStats(t, r, Stats{Received: 2, Delivered: 2})
}

func TestEventWithoutDocumentsIsPassedOn(t *testing.T) {
	got := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		data, _ := io.ReadAll(req.Body)
		got <- len(data)
	}))
	defer server.Close()
	r := New(nil)
	point(t, r, server.URL)
	r.ServeHTTP(httptest.NewRecorder(), post("GgA="))
	if n := receive(t, got); n != 2 {
		t.Errorf("the function got %d bytes, want 2", n)
	}
	closeRelay(t, r)
}

func TestUnreadablePostIsRefused(t *testing.T) {
	f := new(function)
	r := newRelay(t, f, Options{})
	nameless := post(emulatorUpdate)
	nameless.Header.Del("Ce-Id")
	for name, req := range map[string]*http.Request{"not base64": post("%%%"), "without an id": nameless} {
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, req)
		if answer.Code != http.StatusBadRequest {
			t.Errorf("%s: answered %d, want 400", name, answer.Code)
		}
	}
	closeRelay(t, r)
	expectStats(t, r, Stats{})
}

func TestPointRefusesATargetThatIsNoURL(t *testing.T) {
	for _, target := range []string{"", "localhost:80", "ftp://host/", "http://"} {
		if err := New(nil).Point(target); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("Point(%q): error %v, want one of kind %v", target, err, hippo.Invalid)
		}
	}
}

func TestEventsWaitUntilTheRelayIsPointed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(function)
		r := New(&Options{Transport: f})
		publish(t, r, "tenants/a/memories/b")
		time.Sleep(time.Hour)
		expectStats(t, r, Stats{Received: 1, Pending: 1})
		point(t, r, "http://function/IndexHook")
		closeRelay(t, r)
		expectStats(t, r, Stats{Received: 1, Delivered: 1})

		r = New(&Options{Transport: f})
		publish(t, r, "tenants/a/memories/b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(ctx); !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("closing a relay never pointed: error %v, want one of kind %v", err, hippo.Unavailable)
		}
	})
}

func TestRepointedRelayDeliversToTheNewTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hosts []string
		r := New(&Options{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			hosts = append(hosts, req.URL.Host)
			if req.URL.Host == "old" {
				return nil, errors.New("connection refused")
			}
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
		})})
		point(t, r, "http://old/")
		publish(t, r, "tenants/a/memories/b")
		synctest.Wait()
		point(t, r, "http://new/")
		closeRelay(t, r)
		if diff := cmp.Diff([]string{"old", "new"}, hosts); diff != "" {
			t.Errorf("targets (-want +got)\n%s", diff)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestRequestThatTakesTooLongIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &function{takes: time.Minute}
		r := newRelay(t, f, Options{Timeout: time.Second, Attempts: 2})
		publish(t, r, "tenants/a/memories/b")
		closeRelay(t, r)
		expectStats(t, r, Stats{Received: 1, Retried: 1, Failed: 1})
	})
}

func TestMessageIsPushedAsPubSubPushesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var body struct {
			Subscription string
			Message      struct {
				Data        []byte
				MessageID   string
				PublishTime time.Time
			}
		}
		r := New(&Options{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			if got := req.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})})
		point(t, r, "http://function/Repair")
		if err := r.PublishMessage("projects/demo/subscriptions/repair", []byte(`{"tenant":"a"}`)); err != nil {
			t.Fatal(err)
		}
		if err := r.PublishMessage("projects/demo/subscriptions/repair", nil); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("an empty message: error %v, want one of kind %v", err, hippo.Invalid)
		}
		closeRelay(t, r)
		if string(body.Message.Data) != `{"tenant":"a"}` || body.Message.MessageID == "" || !body.Message.PublishTime.Equal(time.Now()) ||
			body.Subscription != "projects/demo/subscriptions/repair" {
			t.Errorf("pushed %+v", body)
		}
	})
}

func TestPublishDeliversOnlyPathsOfThePattern(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(function)
		r := newRelay(t, f, Options{Pattern: hippo.DefaultPaths().Memory})
		publish(t, r, "tenants/a/memories/b", "tenants/a/memory_index/meta", "tenants/a", "tenants/a/memories/b/drafts/1")
		closeRelay(t, r)
		if diff := cmp.Diff([]string{"tenants/a/memories/b"}, f.seen); diff != "" {
			t.Errorf("delivered (-want +got)\n%s", diff)
		}
	})
}

func TestDeliveryIsRetriedUntilTheFunctionTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []int{0, 500, 429, 302, 200}
		f := &function{answer: func(n int) int { return answers[n-1] }}
		r := newRelay(t, f, Options{Backoff: time.Second, MaxBackoff: 3 * time.Second})
		begin := time.Now()
		publish(t, r, "tenants/a/memories/b")
		closeRelay(t, r)
		var after []time.Duration
		for _, at := range f.times {
			after = append(after, at.Sub(begin))
		}
		want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}
		if diff := cmp.Diff(want, after); diff != "" {
			t.Errorf("attempts after (-want +got)\n%s", diff)
		}
		expectStats(t, r, Stats{Received: 1, Delivered: 1, Retried: 4})
	})
}

func TestRestartOfTheFunctionLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := time.Now().Add(5 * time.Minute)
		f := &function{answer: func(int) int {
			if time.Now().Before(up) {
				return 0
			}
			return http.StatusOK
		}}
		r := newRelay(t, f, Options{})
		for range 3 {
			publish(t, r, "tenants/a/memories/b")
		}
		closeRelay(t, r)
		if s := r.Stats(); s.Delivered != 3 || s.Failed != 0 {
			t.Errorf("stats %+v, want 3 delivered", s)
		}
	})
}

func TestDeliveryIsGivenUpAtItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		opts Options
		want Stats
	}{
		"attempts": {Options{Attempts: 3}, Stats{Received: 1, Retried: 2, Failed: 1}},
		"window":   {Options{Window: time.Second, Backoff: 300 * time.Millisecond}, Stats{Received: 1, Retried: 2, Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRelay(t, &function{answer: func(int) int { return 500 }}, c.opts)
				publish(t, r, "tenants/a/memories/b")
				closeRelay(t, r)
				expectStats(t, r, c.want)
			})
		})
	}
}

func TestDeliveriesAreConcurrentUpToTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &function{takes: time.Second}
		r := newRelay(t, f, Options{Concurrency: 7})
		begin := time.Now()
		for range 21 {
			publish(t, r, "tenants/a/memories/b")
		}
		closeRelay(t, r)
		if f.most != 7 || time.Since(begin) != 3*time.Second {
			t.Errorf("%d requests open at once for %v, want 7 for 3s", f.most, time.Since(begin))
		}
	})
}

func TestWaitingRetryHoldsNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &function{answer: func(n int) int { return map[bool]int{true: 500, false: 200}[n == 1] }}
		r := newRelay(t, f, Options{Concurrency: 1, Backoff: time.Minute, MaxBackoff: time.Minute})
		publish(t, r, "tenants/a/memories/first")
		synctest.Wait()
		publish(t, r, "tenants/a/memories/second")
		synctest.Wait()
		expectStats(t, r, Stats{Received: 2, Delivered: 1, Retried: 1, Pending: 1})
		closeRelay(t, r)
	})
}

func TestFullQueueMakesTheEmulatorWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &function{takes: time.Minute}
		r := newRelay(t, f, Options{QueueBytes: 3 * perEvent})
		publish(t, r, "tenants/a/memories/1", "tenants/a/memories/2")
		synctest.Wait()

		// The emulator hangs up after 20 seconds.
		emulator, hangUp := context.WithTimeout(t.Context(), 20*time.Second)
		defer hangUp()
		begin := time.Now()
		answer := httptest.NewRecorder()
		r.ServeHTTP(answer, post(emulatorUpdate).WithContext(emulator))
		if answer.Code != http.StatusOK || time.Since(begin) != time.Minute {
			t.Errorf("the emulator was answered %d after %v, want 200 when there was room", answer.Code, time.Since(begin))
		}
		closeRelay(t, r)
		expectSeen(t, f, "tenants/a/memories/1", "tenants/a/memories/2", "tenants/a/memories/mé1 x")
	})
}

func TestPublishNeverWaitsForTheFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *Relay
		var once sync.Once
		f := new(function)
		f.answer = func(int) int {
			once.Do(func() { publish(t, r, "tenants/a/memories/2", "tenants/a/memories/3", "tenants/a/memories/4") })
			return http.StatusOK
		}
		r = newRelay(t, f, Options{QueueBytes: 1})
		publish(t, r, "tenants/a/memories/1")
		closed := make(chan error)
		go func() {
			time.Sleep(time.Millisecond)
			closed <- r.Close(t.Context())
		}()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		expectSeen(t, f, "tenants/a/memories/1", "tenants/a/memories/2", "tenants/a/memories/3", "tenants/a/memories/4")
	})
}

func TestClosingRelayStillDeliversWhatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &function{takes: time.Second}
		r := newRelay(t, f, Options{QueueBytes: 1})
		publish(t, r, "tenants/a/memories/1", "tenants/a/memories/2", "tenants/a/memories/3")
		closeRelay(t, r)
		expectSeen(t, f, "tenants/a/memories/1", "tenants/a/memories/2", "tenants/a/memories/3")
		expectStats(t, r, Stats{Received: 3, Delivered: 3})
	})
}

func expectSeen(t *testing.T, f *function, paths ...string) {
	t.Helper()
	if diff := cmp.Diff(paths, f.seen, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("delivered (-want +got)\n%s", diff)
	}
}

func TestEventLargerThanTheQueueIsDeliveredAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &function{takes: time.Second}
		r := newRelay(t, f, Options{QueueBytes: 10})
		publish(t, r, "tenants/a/memories/1", "tenants/a/memories/2")
		closeRelay(t, r)
		if len(f.seen) != 2 || f.most != 1 {
			t.Errorf("%d delivered, %d at once; want 2, one at a time", len(f.seen), f.most)
		}
	})
}

func TestFaultsDecideHowAnEventIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(function)
		plans := map[string][]Delivery{
			"tenants/a/memories/dropped": nil,
			"tenants/a/memories/doubled": {{}, {Delay: 3 * time.Second}},
			"tenants/a/memories/late":    {{Delay: 2 * time.Second}},
			"tenants/a/memories/plain":   {{Delay: time.Second}},
		}
		r := newRelay(t, f, Options{Faults: func(e Event) []Delivery { return plans[e.Change.Path] }})
		publish(t, r, "tenants/a/memories/dropped", "tenants/a/memories/doubled", "tenants/a/memories/late", "tenants/a/memories/plain")
		if err := r.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"tenants/a/memories/doubled", "tenants/a/memories/plain", "tenants/a/memories/late", "tenants/a/memories/doubled"}
		if diff := cmp.Diff(want, f.seen); diff != "" {
			t.Errorf("delivered (-want +got)\n%s", diff)
		}
		expectStats(t, r, Stats{Received: 4, Dropped: 1, Delivered: 4})
		closeRelay(t, r)
	})
}

func TestIdleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, &function{takes: 30 * time.Second}, Options{})
		publish(t, r, "tenants/a/memories/b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Idle(ctx); !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("error %v, want one of kind %v", err, hippo.Unavailable)
		}
		closeRelay(t, r)
	})
}

func TestCloseGivesUpWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &function{answer: func(int) int { return 0 }}
		r := newRelay(t, down, Options{QueueBytes: 2 * perEvent})
		publish(t, r, "tenants/a/memories/1")
		publish(t, r, "tenants/a/memories/2")
		synctest.Wait()
		emulator := httptest.NewRecorder()
		var posting sync.WaitGroup
		posting.Go(func() { r.ServeHTTP(emulator, post(emulatorUpdate)) })
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := r.Close(ctx)
		if !hippo.IsKind(err, hippo.Unavailable) || !strings.Contains(err.Error(), " 3 ") {
			t.Errorf("Close: %v, want one of kind %v that counts 3", err, hippo.Unavailable)
		}
		if posting.Wait(); emulator.Code != http.StatusServiceUnavailable {
			t.Errorf("the waiting emulator was answered %d, want 503", emulator.Code)
		}
		if err := r.Publish(change("tenants/a/memories/3")); !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("Publish after Close: %v, want an error of kind %v", err, hippo.Unavailable)
		}
		if s := r.Stats(); s.Pending != 0 || s.Failed != 2 {
			t.Errorf("stats %+v, want 2 failed and none pending", s)
		}
	})
}

func TestUnreadPostBodyIsBounded(t *testing.T) {
	r := newRelay(t, new(function), Options{})
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, post(base64.StdEncoding.EncodeToString(make([]byte, maxPostBytes))))
	if answer.Code != http.StatusBadRequest {
		t.Errorf("answered %d, want 400", answer.Code)
	}
	closeRelay(t, r)
}
