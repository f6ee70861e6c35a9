package localstack

import (
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// Framework serves the functions with the framework's own server, in this
// process. It has no way to be stopped: it ends with the process. What it prints
// to the standard output is discarded, from now on and for the whole process; who
// wants to print there holds os.Stdout from before.
func Framework(config functions.Config, log *slog.Logger) Functions {
	return FrameworkOf(func(ctx context.Context, with Wiring) (*functions.App, error) { return newApp(ctx, config, with, log) })
}

// FrameworkOf serves the functions that open makes in the same way. Called again,
// it serves at another port; what was served before then answers with the new
// functions.
func FrameworkOf(open func(context.Context, Wiring) (*functions.App, error)) Functions {
	return func(ctx context.Context, with Wiring) (string, func() error, error) {
		for key, value := range with.Env {
			if err := os.Setenv(key, value); err != nil {
				return "", nil, hippo.Wrap(hippo.Internal, err, "setting "+key)
			}
		}
		app, err := open(ctx, with)
		if err != nil {
			return "", nil, err
		}
		functions.Provide(app)
		port := with.Env["PORT"]
		if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return "", nil, hippo.Wrap(hippo.Internal, err, "opening "+os.DevNull)
		}
		served := make(chan error, 1)
		go func() { served <- funcframework.StartHostPort(loopback, port) }()
		addr := net.JoinHostPort(loopback, port)
		return addr, app.Close, listening(ctx, addr, served)
	}
}

func newApp(ctx context.Context, config functions.Config, with Wiring, log *slog.Logger) (*functions.App, error) {
	if with.Store == nil {
		return functions.FromEnv(ctx, log)
	}
	return functions.New(config, functions.Parts{Store: with.Store, Publisher: publishFunc(with.Publish), Log: log})
}

// publishFunc is a topic of this process.
type publishFunc func([]byte) error

func (p publishFunc) Publish(_ context.Context, m repairmsg.Message) error { return p(m.Encode()) }

// listening waits until something listens at addr.
func listening(ctx context.Context, addr string, served <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			return stillServed(served)
		}
		select {
		case err := <-served:
			return hippo.Wrap(hippo.Unavailable, err, "serving the functions")
		case <-ctx.Done():
			return hippo.Wrap(hippo.Unavailable, ctx.Err(), "waiting for the functions")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stillServed makes sure that it is the functions that listen, and not somebody
// who took the port first: the framework then fails at once.
func stillServed(served <-chan error) error {
	select {
	case err := <-served:
		return hippo.Wrap(hippo.Unavailable, err, "serving the functions")
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}
