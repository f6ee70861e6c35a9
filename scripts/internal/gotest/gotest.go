// Package gotest runs go test and reads the events it prints.
package gotest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// endWithin bounds the wait for go test after it was interrupted.
const endWithin = 10 * time.Second

// Event is a line of go test -json, as cmd/test2json describes it. A line that
// is no event comes as output of nothing in particular.
type Event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
	Elapsed     float64
}

// The actions of an Event that end a test or a package.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Ended says whether the event is the last of its test or package.
func (e Event) Ended() bool {
	return e.Action == Pass || e.Action == Fail || e.Action == Skip
}

// Run runs go test -json with args in dir and hands over each event. Variables
// of env are set beside those of this process. When the context ends, so does
// everything that go test started. The error is nil where go test was content.
func Run(ctx context.Context, dir string, env, args []string, each func(Event)) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return interruptGroup(cmd.Process) }
	cmd.WaitDelay = endWithin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := readEvents(out, each)
	err = cmd.Wait()
	if ctx.Err() != nil {
		killGroup(cmd.Process)
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return read
}

func readEvents(r io.Reader, each func(Event)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			each(decode(line))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read go test's output: %w", err)
		}
	}
}

func decode(line []byte) Event {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{Action: "output", Output: string(line)}
	}
	return e
}
