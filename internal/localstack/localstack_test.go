package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/embedded"
)

// arriveWithin bounds the wait for what has to arrive; it takes milliseconds.
const arriveWithin = 30 * time.Second

// toy stands for the functions and notes what reaches them.
type toy struct {
	with     Wiring
	events   chan docevent.Change
	messages chan string
	finished bool
}

func newToy() *toy {
	return &toy{events: make(chan docevent.Change, 100), messages: make(chan string, 100)}
}

func (f *toy) functions() Functions {
	return serve(func(_ context.Context, with Wiring) (http.Handler, func() error, error) {
		f.with = with
		mux := http.NewServeMux()
		mux.HandleFunc("POST /IndexHook", f.indexHook)
		mux.HandleFunc("POST /Repair", f.repair)
		return mux, func() error { f.finished = true; return nil }, nil
	})
}

func (f *toy) indexHook(w http.ResponseWriter, req *http.Request) {
	data, err := io.ReadAll(req.Body)
	if err == nil {
		var c docevent.Change
		if c, err = docevent.Decode(data); err == nil {
			f.events <- c
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (f *toy) repair(w http.ResponseWriter, req *http.Request) {
	var push struct{ Message struct{ Data []byte } }
	if err := json.NewDecoder(req.Body).Decode(&push); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.messages <- string(push.Message.Data)
}

func (f *toy) expectEvent(t *testing.T, path string, deleted bool) {
	t.Helper()
	select {
	case c := <-f.events:
		if c.Path != path || c.Deleted != deleted || c.Project != f.with.Env["HIPPOFIRE_PROJECT"] || c.Database != DefaultDatabase {
			t.Errorf("the hook got %+v, want one about %s", c, path)
		}
	case <-time.After(arriveWithin):
		t.Fatalf("no event about %s reached the hook", path)
	}
}

func (f *toy) expectMessage(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-f.messages:
		if got != want {
			t.Errorf("Repair got %q, want %q", got, want)
		}
	case <-time.After(arriveWithin):
		t.Fatal("no message reached Repair")
	}
}

// serve makes Functions of a handler in this process. open makes the handler;
// its second result, where not nil, is called when the server has ended.
func serve(open func(context.Context, Wiring) (http.Handler, func() error, error)) Functions {
	return func(ctx context.Context, with Wiring) (string, func() error, error) {
		handler, finish, err := open(ctx, with)
		if err != nil {
			return "", nil, err
		}
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, with.Env["PORT"]))
		if err != nil {
			return "", nil, hippo.Wrap(hippo.Unavailable, err, "listen for the functions")
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		go server.Serve(l)
		stop := func() error {
			ctx, cancel := context.WithTimeout(context.Background(), drainWithin)
			defer cancel()
			err := server.Shutdown(ctx)
			if finish != nil {
				err = errors.Join(err, finish())
			}
			return err
		}
		return l.Addr().String(), stop, nil
	}
}

func start(t *testing.T, c Config) *Stack {
	t.Helper()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s
}

func stop(t *testing.T, s *Stack) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestEmbeddedStackCarriesChangesAndMessages(t *testing.T) {
	f, dir := newToy(), t.TempDir()
	s := start(t, Config{Store: Embedded, Functions: f.functions(), Dir: dir})

	memory := hippo.Memory{ID: "b", Name: "b", Content: "text"}
	if err := f.with.Store.SaveMemory(t.Context(), "a", memory); err != nil {
		t.Fatal(err)
	}
	f.expectEvent(t, "tenants/a/memories/b", false)
	if err := f.with.Store.DeleteMemory(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	f.expectEvent(t, "tenants/a/memories/b", true)
	if err := f.with.Publish([]byte(`{"tenant":"a"}`)); err != nil {
		t.Fatal(err)
	}
	f.expectMessage(t, `{"tenant":"a"}`)

	other, err := embedded.OpenReadOnly(s.DataDir, hippo.DefaultLayout())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "lost") {
		t.Errorf("notes %q, want one that says that the data is lost", s.Notes)
	}
	stop(t, s)
	if _, err := os.Stat(s.DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
	if !f.finished {
		t.Error("the functions were not told to end")
	}
}

func TestEmbeddedStackKeepsItsDataInAFolder(t *testing.T) {
	data := t.TempDir()
	for round, want := range []int{0, 1} {
		f := newToy()
		s := start(t, Config{Store: Embedded, Functions: f.functions(), Dir: t.TempDir(), Data: data})
		got, err := f.with.Store.CountMemories(t.Context(), "a")
		if err != nil || got != want {
			t.Errorf("round %d begins with %d memories, %v; want %d", round, got, err, want)
		}
		if err := f.with.Store.SaveMemory(t.Context(), "a", hippo.Memory{ID: "b", Name: "b"}); err != nil {
			t.Fatal(err)
		}
		if len(s.Notes) != 0 {
			t.Errorf("notes %q, want none", s.Notes)
		}
		stop(t, s)
	}
}

func TestRunningStackIsDescribedInItsFolder(t *testing.T) {
	f, dir := newToy(), t.TempDir()
	if _, err := ReadInfo(dir); !hippo.IsKind(err, hippo.NotFound) {
		t.Errorf("before: error %v, want one of kind %v", err, hippo.NotFound)
	}
	s := start(t, Config{Store: Embedded, Functions: f.functions(), Dir: dir, Project: "demo-described"})
	got, err := ReadInfo(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Info, got); diff != "" {
		t.Errorf("(-started +read)\n%s", diff)
	}
	if got.PID != os.Getpid() || got.Project != "demo-described" || got.FunctionsURL != "http://127.0.0.1:"+f.with.Env["PORT"] {
		t.Errorf("described as %+v", got)
	}
	file, err := os.Stat(filepath.Join(dir, ".hippofire", "local.json"))
	if err != nil {
		t.Fatal(err)
	}
	if file.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, want 0600", file.Mode())
	}
	if _, err := Start(t.Context(), Config{Store: Embedded, Functions: newToy().functions(), Dir: dir}); !hippo.IsKind(err, hippo.Conflict) {
		t.Errorf("a second stack: error %v, want one of kind %v", err, hippo.Conflict)
	}
	if _, err := ReadInfo(dir); err != nil {
		t.Errorf("after the second stack was refused: %v", err)
	}
	stop(t, s)
	if _, err := ReadInfo(dir); !hippo.IsKind(err, hippo.NotFound) {
		t.Errorf("after: error %v, want one of kind %v", err, hippo.NotFound)
	}
}

func TestStaleDescriptionIsIgnoredAndReplaced(t *testing.T) {
	for name, text := range map[string]string{
		"process gone": `{"pid": 2147483646, "functions_url": "http://127.0.0.1:1"}`,
		"damaged":      `{"pid": `,
		"no process":   `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".hippofire"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(infoFile(dir), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadInfo(dir); !hippo.IsKind(err, hippo.NotFound) {
				t.Errorf("error %v, want one of kind %v", err, hippo.NotFound)
			}
			start(t, Config{Store: Embedded, Functions: newToy().functions(), Dir: dir})
			if got, err := ReadInfo(dir); err != nil || got.PID != os.Getpid() {
				t.Errorf("read %+v, %v", got, err)
			}
		})
	}
}

func TestFailedStartLeavesNothingBehind(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	broken := hippo.Errorf(hippo.Unavailable, "", "broken")
	_, err := Start(t.Context(), Config{Store: Embedded, Dir: dir, Data: data,
		Functions: func(context.Context, Wiring) (string, func() error, error) { return "", nil, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if _, err := os.Stat(infoFile(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a description was left: %v", err)
	}
	start(t, Config{Store: Embedded, Functions: newToy().functions(), Dir: dir, Data: data})
}

func TestBadConfigurationIsRefused(t *testing.T) {
	f := newToy().functions()
	for name, c := range map[string]Config{
		"store":     {Store: "paper", Functions: f},
		"functions": {Store: Embedded},
		"data":      {Store: Emulator, Functions: f, FirestoreHost: "127.0.0.1:1", Data: "data"},
		"memory":    {Store: Embedded, Functions: f, Layout: hippo.Layout{Naming: hippo.Plain}},
	} {
		c.Dir = t.TempDir()
		var e *hippo.Error
		if _, err := Start(t.Context(), c); !errors.As(err, &e) || e.Kind != hippo.Invalid || e.Field != name {
			t.Errorf("%s: error %v, want one of kind %v about it", name, err, hippo.Invalid)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	s := start(t, Config{Store: Embedded, Functions: newToy().functions(), Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx); err != nil {
		t.Error(err)
	}
}
