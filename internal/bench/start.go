package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// StartReport is how long a new process takes. Times are in milliseconds.
type StartReport struct {
	Runs int `json:"runs"`
	// Listening is when the process takes connections, Answered when it has
	// answered its first turn, both from its start.
	Listening Spread `json:"listening"`
	Answered  Spread `json:"answered"`
	// Second is what the second turn of the same process took.
	Second Spread `json:"second"`
	// BinaryBytes is the size of the program as the buildpack builds it, Stripped
	// without symbols.
	BinaryBytes   int64 `json:"binary_bytes"`
	StrippedBytes int64 `json:"stripped_bytes"`
	// Init is what packages do before main, all together and the longest.
	InitMilliseconds float64       `json:"init_milliseconds"`
	Inits            []PackageInit `json:"inits"`
}

// Spread is the middle and the upper end of some values.
type Spread struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// PackageInit is what a package does before main.
type PackageInit struct {
	Package      string  `json:"package"`
	Milliseconds float64 `json:"milliseconds"`
}

func spreadOf(values []float64) Spread {
	return Spread{percentile(values, 0.5), percentile(values, 0.95)}
}

// startProgram is what the buildpack makes around the functions.
const startProgram = `package main

import (
	"log"
	"os"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	_ "github.com/hippofire/hippofire"
)

func main() {
	log.Fatal(funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")))
}
`

// answerWithin bounds the wait for a process.
const answerWithin = 30 * time.Second

// Start builds the functions as a deployment does and starts them again and again.
// It needs the module's source around the working directory, and Go.
func (w *World) Start(ctx context.Context, memories, runs int, progress func(what string, done int)) (StartReport, error) {
	if w.Host == "" {
		return StartReport{}, hippo.Errorf(hippo.Invalid, "--store", "a process of its own can reach only the emulator")
	}
	dir, err := os.MkdirTemp("", "bench-start-")
	if err != nil {
		return StartReport{}, err
	}
	defer os.RemoveAll(dir)
	progress("building", 0)
	report := StartReport{Runs: runs}
	binary := filepath.Join(dir, "main")
	if report.StrippedBytes, err = compile(ctx, dir, "-ldflags=-s -w", filepath.Join(dir, "stripped")); err != nil {
		return report, err
	}
	if report.BinaryBytes, err = compile(ctx, dir, "", binary); err != nil {
		return report, err
	}
	if err := w.furnish(ctx, memories, func(n int) { progress("memories", n) }); err != nil {
		return report, err
	}
	var listening, answered, second []float64
	for i := range runs {
		s, err := w.startOnce(ctx, binary)
		if err != nil {
			return report, err
		}
		listening, answered, second = append(listening, s.listening), append(answered, s.answered), append(second, s.second)
		report.Inits = s.inits
		progress("starts", i+1)
	}
	report.Listening, report.Answered, report.Second = spreadOf(listening), spreadOf(answered), spreadOf(second)
	for _, p := range report.Inits {
		report.InitMilliseconds += p.Milliseconds
	}
	slices.SortFunc(report.Inits, func(a, b PackageInit) int { return cmp.Compare(b.Milliseconds, a.Milliseconds) })
	report.Inits = report.Inits[:min(5, len(report.Inits))]
	return report, nil
}

// compile builds the program and tells its size. Its one file lies outside of the
// module and is laid over a path inside.
func compile(ctx context.Context, dir, flags, binary string) (int64, error) {
	source := filepath.Join(dir, "main.go")
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return 0, hippo.Wrap(hippo.Invalid, err, "run this in the project's source: the functions are built from it")
	}
	inside := filepath.Join(strings.TrimSpace(string(root)), "internal", "benchstart", "main.go")
	overlay := filepath.Join(dir, "overlay.json")
	for file, text := range map[string]string{source: startProgram, overlay: fmt.Sprintf(`{"Replace":{%q:%q}}`, inside, source)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	args := []string{"build", "-overlay=" + overlay, "-o", binary}
	if flags != "" {
		args = append(args, flags)
	}
	if said, err := exec.CommandContext(ctx, "go", append(args, filepath.Dir(inside))...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the functions: %w\n%s", err, said)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// furnish gives the tenant memories, an index and a thread of one window.
func (w *World) furnish(ctx context.Context, memories int, progress func(int)) error {
	if err := w.grow(ctx, 0, memories, progress); err != nil {
		return err
	}
	if _, err := w.build(ctx, progress); err != nil {
		return err
	}
	var messages []hippo.Message
	for i := range 31 {
		messages = append(messages, hippo.Message{ID: hippo.MessageID(fmt.Sprintf("m%02d", i)), Role: hippo.User, Content: "a message of some length, as people write them"})
	}
	_, err := w.SaveMessages(ctx, Tenant, "start", messages)
	return err
}

// started is one process's first steps, in milliseconds.
type started struct {
	listening, answered, second float64
	inits                       []PackageInit
}

func (w *World) startOnce(ctx context.Context, binary string) (s started, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(), "PORT="+port, "FUNCTION_TARGET=TurnContext", "HIPPOFIRE_PROJECT="+w.Project,
		"FIRESTORE_EMULATOR_HOST="+w.Host, "GODEBUG=inittrace=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		s.inits = initsOf(said.String())
	}()
	since := func(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			break
		}
		if time.Since(begun) > answerWithin || ctx.Err() != nil {
			return s, fmt.Errorf("the process does not listen: %s", said.String())
		}
		time.Sleep(time.Millisecond)
	}
	s.listening = since(begun)
	if err := askTurn(ctx, addr); err != nil {
		return s, fmt.Errorf("%w: %s", err, said.String())
	}
	s.answered = since(begun)
	again := time.Now()
	if err := askTurn(ctx, addr); err != nil {
		return s, err
	}
	s.second = since(again)
	return s, nil
}

func askTurn(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	body := strings.NewReader(`{"tenant":"` + string(Tenant) + `","thread":"start"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/", body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the turn was answered with %d: %s", resp.StatusCode, text)
	}
	return err
}

// initLine is a line that the runtime prints of a package.
var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock`)

func initsOf(said string) []PackageInit {
	var inits []PackageInit
	for _, m := range initLine.FindAllStringSubmatch(said, -1) {
		if ms, err := strconv.ParseFloat(m[2], 64); err == nil {
			inits = append(inits, PackageInit{m[1], ms})
		}
	}
	return inits
}
