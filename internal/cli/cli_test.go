package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/internal/cli"
	"github.com/hippofire/hippofire/internal/demo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
)

// asCommand makes the test binary the command itself, so that a test runs it as a
// user does: a process of its own, in a folder of its own.
const asCommand = "HIPPOFIRE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		flag.Parse()
		os.Exit(m.Run())
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}

var update = flag.Bool("update", false, "write the golden files anew")

// command is the command line in a folder.
type command struct {
	t   *testing.T
	dir string
	env []string
}

func newCommand(t *testing.T) *command {
	c := &command{t: t, dir: t.TempDir()}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "HIPPOFIRE_") && !strings.HasSuffix(name, "_EMULATOR_HOST") && name != "GOOGLE_CLOUD_PROJECT" {
			c.env = append(c.env, kv)
		}
	}
	c.env = append(c.env, asCommand+"=1")
	return c
}

func (c *command) make(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	return cmd
}

// run runs the command and returns its exit code and what it printed.
func (c *command) run(args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	cmd := c.make(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// ok runs the command and demands success.
func (c *command) ok(args ...string) string {
	c.t.Helper()
	code, stdout, stderr := c.run(args...)
	if code != 0 {
		c.t.Fatalf("hippofire %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

func TestDemoTellsTheWholeStory(t *testing.T) {
	got := newCommand(t).ok("demo")
	golden := filepath.Join("testdata", "demo.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the demo prints something else than %s (go test ./internal/cli -update writes it anew): %s", golden, diff)
	}
}

func TestDemoAsDataProvesWhatItSays(t *testing.T) {
	var r demo.Result
	if err := json.Unmarshal([]byte(newCommand(t).ok("demo", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	if r.WithoutKnows || !strings.Contains(r.Answer, r.Needed) || r.Opened == "" {
		t.Errorf("the answer %q was found in %q as %q; known without: %v", r.Needed, r.Opened, r.Answer, r.WithoutKnows)
	}
	if len(r.Before) == 0 || strings.Contains(strings.Join(r.After, ""), r.Deleted) || !strings.Contains(strings.Join(r.Before, ""), r.Deleted) {
		t.Errorf("the pointer to %s: before %v, after %v", r.Deleted, r.Before, r.After)
	}
	if r.Check.Equal || !r.Healed.Equal {
		t.Errorf("equal after lost events: %v, after the repair: %v", r.Check.Equal, r.Healed.Equal)
	}
	if scan := r.Costs[3]; r.Costs[2].Documents >= scan.Documents || r.Costs[2].Bytes >= scan.Bytes {
		t.Errorf("a warm turn costs %+v, a full scan %+v", r.Costs[2], scan)
	}
}

func TestDemoPrintsTheSameOnTheEmulator(t *testing.T) {
	c := newCommand(t)
	c.env = append(c.env, "FIRESTORE_EMULATOR_HOST=", "PUBSUB_EMULATOR_HOST=")
	emulatortest.Firestore(t) // or the reason why there is none
	got := c.ok("demo", "--store", "emulator")
	want, err := os.ReadFile(filepath.Join("testdata", "demo.golden"))
	if err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`(?m)( +ms| +[0-9]+\.[0-9])$`)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(times.ReplaceAllString(got, ""), "\n")); diff != "" {
		t.Error(diff)
	}
}

// local is a local stack in the command's folder.
type local struct {
	*command
	cmd *exec.Cmd
}

func startLocal(c *command, args ...string) *local {
	c.t.Helper()
	l := &local{command: c, cmd: c.make(append([]string{"local"}, args...)...)}
	screen, err := os.Create(filepath.Join(c.dir, "screen"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer screen.Close()
	l.cmd.Stdout, l.cmd.Stderr = screen, c.t.Output()
	if err := l.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { l.cmd.Process.Kill() })
	for range 900 {
		if _, err := os.Stat(filepath.Join(c.dir, ".hippofire", "local.json")); err == nil {
			return l
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Fatal("the local stack does not start")
	return nil
}

// printed is what the stack has printed so far.
func (l *local) printed() string {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "screen"))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// stop ends the stack as Ctrl-C does.
func (l *local) stop() {
	l.t.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGINT); err != nil {
		l.t.Fatal(err)
	}
	if err := l.cmd.Wait(); err != nil {
		l.t.Errorf("after Ctrl-C: %v", err)
	}
	if _, err := os.Stat(filepath.Join(l.dir, ".hippofire", "local.json")); err == nil {
		l.t.Error(".hippofire/local.json is still there")
	}
}

var curl = regexp.MustCompile(`curl -s (\S+) -H 'Content-Type: application/json' -d '([^']+)'`)

func TestLocalStackOnTheEmbeddedStore(t *testing.T) {
	c := newCommand(t)
	data := filepath.Join(c.dir, "data")
	l := startLocal(c, "--store", "embedded", "--data", data)
	if code, _, stderr := c.run("local", "--store", "embedded"); code != 2 || !strings.Contains(stderr, "already") {
		t.Errorf("a second stack in the folder: exit code %d, %q", code, stderr)
	}
	transcript := filepath.Join(c.dir, "transcript.jsonl")
	lines := `{"role":"user","content":"one","created_at":"2026-10-01T10:00:00Z"}
{"role":"assistant","content":"two","created_at":"2026-10-01T10:00:01Z"}
{"role":"assistant","content":"two","created_at":"2026-10-01T10:00:01Z","tenant":"other","thread":"x"}
`
	if err := os.WriteFile(transcript, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := c.ok("import", "messages", transcript); !strings.HasPrefix(out, "3 messages created, 0 there already") {
		t.Errorf("import: %s", out)
	}
	if out := c.ok("import", "messages", transcript); !strings.HasPrefix(out, "0 messages created, 3 there already") {
		t.Errorf("second import: %s", out)
	}
	if err := os.WriteFile(transcript, []byte(`{"role":"user","content":"new","created_at":"2026-10-01T11:00:00Z"}`+"\n"+`{"role":"robot"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := c.run("import", "messages", transcript); code != 2 || !strings.Contains(stderr, "line 2") || !strings.HasPrefix(out, "1 messages created") {
		t.Errorf("import with a bad line: exit code %d, %q %q", code, out, stderr)
	}
	if out := c.ok("turn", "--tenant", "imported", "--thread", "imported"); !strings.Contains(out, "user: one\nassistant: two\nuser: new") {
		t.Errorf("turn: %s", out)
	}
	if out := c.ok("turn", "--tenant", "imported", "--thread", "imported", "--format", "openai", "--budget", "6"); !strings.Contains(out, `"role": "user"`) || strings.Contains(out, "two") {
		t.Errorf("turn of 6 tokens for openai: %s", out)
	}
	c.ok("nightly")
	c.ok("repair", "--tenant", "other")
	if out := c.ok("ls"); !regexp.MustCompile(`imported +0 +imported +3 +0`).MatchString(out) {
		t.Errorf("ls: %s", out)
	}
	if out := c.ok("check", "--tenant", "other"); !strings.Contains(out, "equal") {
		t.Errorf("check: %s", out)
	}
	l.stop()

	l = startLocal(c, "--store", "embedded", "--data", data)
	if out := c.ok("turn", "--tenant", "imported", "--thread", "imported"); !strings.Contains(out, "user: one") {
		t.Errorf("after a restart: %s", out)
	}
	l.stop()
}

func TestPrintedCallsWorkOnBothStores(t *testing.T) {
	for _, store := range []string{"embedded", "emulator"} {
		t.Run(store, func(t *testing.T) {
			if store == "emulator" {
				emulatortest.Firestore(t) // or the reason why there is none
			}
			c := newCommand(t)
			l := startLocal(c, "--store", store)
			wait(t, "the addresses to be printed", func() bool { return strings.Contains(l.printed(), "Ctrl-C") })
			calls := curl.FindAllStringSubmatch(l.printed(), -1)
			for _, e := range functions.Endpoints() {
				if !slices.ContainsFunc(calls, func(call []string) bool { return strings.HasSuffix(call[1], "/"+e.Name) }) {
					t.Errorf("the stack prints no call of %s", e.Name)
				}
			}
			for _, call := range calls {
				resp, err := http.Post(call[1], "application/json", strings.NewReader(call[2]))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("%s answered %d", call[0], resp.StatusCode)
				}
			}
			c.ok("nightly")
			wait(t, "the index to be equal", func() bool { code, _, _ := c.run("check", "--tenant", "demo"); return code == 0 })
			c.ok("repair", "--tenant", "demo")
			if out := c.ok("check", "--report", "--tenant", "demo"); !strings.Contains(out, "nothing wrong") {
				t.Errorf("report: %s", out)
			}
			l.stop()
		})
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, test := range map[string]struct {
		env  string
		args []string
		want string
	}{
		"no target":             {"", []string{"check"}, "hippofire local"},
		"emulator is down":      {"FIRESTORE_EMULATOR_HOST=127.0.0.1:1", []string{"check", "--project", "p"}, "hippofire local"},
		"no functions":          {"", []string{"import", "messages", os.Args[0], "--project", "p"}, "--functions"},
		"no such folder":        {"", []string{"ls", "--data", "nowhere"}, "nowhere"},
		"unknown command":       {"", []string{"chek"}, "chek"},
		"bad path in the paths": {"HIPPOFIRE_MEMORY_PATH=memories", []string{"check", "--data", "."}, "HIPPOFIRE_MEMORY_PATH"},
	} {
		c := newCommand(t)
		if test.env != "" {
			c.env = append(c.env, test.env)
		}
		code, _, stderr := c.run(test.args...)
		if code != 2 || !strings.Contains(stderr, test.want) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
			t.Errorf("%s: exit code %d, %q, want one line that says %q", name, code, stderr, test.want)
		}
	}
}

func TestHelpListsEveryCommand(t *testing.T) {
	out := newCommand(t).ok("--help")
	for _, name := range []string{"demo", "local", "import", "turn", "episodes", "ls", "check", "repair", "forget", "doctor", "nightly", "version"} {
		if !strings.Contains(out, name) {
			t.Errorf("--help does not name %s", name)
		}
	}
}
