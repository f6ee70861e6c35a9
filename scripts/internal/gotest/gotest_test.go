//go:build unix

package gotest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module makes a module of one test file.
func module(t *testing.T, test string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.26.0\n",
		"m_test.go": "package m\n" + test,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEveryTestEndsAsItDid(t *testing.T) {
	dir := module(t, `import "testing"
func TestGood(t *testing.T) {}
func TestBad(t *testing.T) { t.Run("part", func(t *testing.T) { t.Error("no") }) }
func TestLeftOut(t *testing.T) { t.Skip("why not") }
`)
	got := map[string]string{}
	err := Run(t.Context(), dir, nil, []string{"."}, func(e Event) {
		if e.Ended() {
			got[e.Test] = e.Action
		}
	})
	if err == nil {
		t.Error("no error, though a test failed")
	}
	want := map[string]string{"TestGood": Pass, "TestBad/part": Fail, "TestBad": Fail, "TestLeftOut": Skip, "": Fail}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLineThatIsNoEventIsKept(t *testing.T) {
	var got []Event
	err := readEvents(strings.NewReader("warning: odd\n{\"Action\":\"pass\",\"Package\":\"p\"}"), func(e Event) { got = append(got, e) })
	want := []Event{{Action: "output", Output: "warning: odd\n"}, {Action: Pass, Package: "p"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestTestsEndWithTheContext(t *testing.T) {
	dir := module(t, `import ("fmt"; "os"; "testing"; "time")
func TestHangs(t *testing.T) { fmt.Println("pid", os.Getpid()); time.Sleep(time.Hour) }
`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pid := 0
	err := Run(ctx, dir, nil, []string{"."}, func(e Event) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(e.Output), "pid "); ok {
			pid, _ = strconv.Atoi(said)
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if pid == 0 {
		t.Fatal("the test never ran")
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v, want it gone", pid, err)
	}
}
