package environment

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/internal/localstack"
)

// process is the functions' process: it can be killed and started again at the
// same port.
type process struct {
	binary string
	env    []string
	addr   string

	mu  sync.Mutex
	cmd *exec.Cmd
	// faults counts what the process said it injected, by type.
	faults map[string]int
	last   bytes.Buffer // what it said last
}

// binary is the functions' program, built once for all tests of a run.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "functionsprocess-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "functions")
	build := exec.Command("go", "build", "-o", file, "github.com/hippofire/hippofire/emulator-tests/functionsprocess")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the functions: %w\n%s", err, said)
	}
	return file, nil
})

// functions is what a stack starts the process with.
func (p *process) functions(ctx context.Context, with localstack.Wiring) (string, func() error, error) {
	var err error
	if p.binary, err = binary(); err != nil {
		return "", nil, err
	}
	for name, value := range with.Env {
		p.env = append(p.env, name+"="+value)
	}
	p.addr = net.JoinHostPort("127.0.0.1", with.Env["PORT"])
	return p.addr, p.kill, p.start(ctx)
}

// start starts the process and returns when it listens.
func (p *process) start(ctx context.Context) error {
	cmd := exec.Command(p.binary)
	cmd.Env = append(os.Environ(), p.env...)
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.cmd = cmd
	p.mu.Unlock()
	go p.read(out)
	for {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.addr); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the functions do not listen: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// read takes in what the process says.
func (p *process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Message, Severity, Fault string }
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			line.Severity = "plain"
		}
		p.mu.Lock()
		if line.Message == "fault injected" {
			p.faults[line.Fault]++
		} else if line.Severity != "INFO" && !bytes.Contains(lines.Bytes(), []byte(docevent.ErrNoDocument.Error())) {
			if p.last.Len() > 1<<14 {
				p.last.Reset()
			}
			fmt.Fprintln(&p.last, lines.Text())
		}
		p.mu.Unlock()
	}
}

// kill ends the process at once, whatever it is doing.
func (p *process) kill() error {
	p.mu.Lock()
	cmd := p.cmd
	p.cmd = nil
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // it was killed
	return nil
}

// said is what the process said last, beside what it says always.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last.String()
}
