package emulator

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

const (
	// readyWithin bounds the wait for an emulator's first answer: a cold JVM on
	// a busy machine takes about 10 seconds.
	readyWithin = 60 * time.Second
	askEvery    = 100 * time.Millisecond
	// stopWithin bounds each of the two steps of Stop.
	stopWithin = 5 * time.Second
	// tailBytes of the output are kept for the error of a failed start.
	tailBytes = 4 << 10
)

// Process is a running emulator.
type Process struct {
	addr string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of the start, then of the wait; read after done
}

// Addr is the host and port at which the emulator answers.
func (p *Process) Addr() string { return p.addr }

// Done is closed when the emulator has ended, by itself or by Stop.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends the emulator and whatever it started: first by asking, then by
// force. It can be called more than once.
func (p *Process) Stop() error {
	for _, force := range []bool{false, true} {
		select {
		case <-p.done:
			return nil
		default:
		}
		endGroup(p.cmd.Process, force)
		select {
		case <-p.done:
			return nil
		case <-time.After(stopWithin):
		}
	}
	return hippo.Errorf(hippo.Internal, "", "process %d does not end", p.cmd.Process.Pid)
}

// start runs the command that argv gives for an address, and waits until it
// answers there.
func start(ctx context.Context, name string, opts Options, argv func(host string, port int) []string) (*Process, error) {
	host, port := opts.Host, opts.Port
	if host == "" {
		host = "127.0.0.1"
	}
	if port == 0 {
		var err error
		if port, err = freePort(host); err != nil {
			return nil, hippo.Wrap(hippo.Unavailable, err, "find a free port for "+name)
		}
	}
	args := argv(host, port)
	out := &tail{}
	p := &Process{
		addr: net.JoinHostPort(host, strconv.Itoa(port)),
		cmd:  exec.Command(args[0], args[1:]...),
		done: make(chan struct{}),
	}
	p.cmd.Stdout = out
	if opts.Log != nil {
		p.cmd.Stdout = io.MultiWriter(opts.Log, out)
	}
	p.cmd.Stderr = p.cmd.Stdout
	p.cmd.WaitDelay = stopWithin
	p.cmd.SysProcAttr = ownGroup()
	if err := p.run(); err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "start "+name)
	}
	if err := p.ready(ctx); err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, joined(err, p.Stop(), out), "start "+name)
	}
	return p, nil
}

// run starts the command and watches it from a thread of its own: where the
// system ends the command together with this process, it goes by the thread that
// started it.
func (p *Process) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return <-started
}

// ready waits for the emulator's first answer.
func (p *Process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("it ended: %w", p.err)
		case <-ctx.Done():
			return fmt.Errorf("it does not answer at %s: %w", p.addr, ctx.Err())
		case <-ask.C:
			if answers(ctx, p.addr) {
				return nil
			}
		}
	}
}

// answers says whether an emulator answers at the address: either emulator says
// "Ok" at its root.
func answers(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func freePort(host string) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// joined is the error of a failed start with what the emulator said last.
func joined(err, stop error, out *tail) error {
	if stop != nil {
		err = fmt.Errorf("%w; %w", err, stop)
	}
	if said := out.String(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// tail keeps the last of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), ""))
}
