package localstack

import (
	"context"
	"net"
	"strconv"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/relay"
	"github.com/hippofire/hippofire/store/embedded"
)

// Functions starts the functions, each served at its own name under the root,
// and returns the host and port at which they answer. stop ends them.
type Functions func(ctx context.Context, with Wiring) (addr string, stop func() error, err error)

// Wiring is what the functions stand on.
type Wiring struct {
	// Env is what their environment has to say beside what this process's own
	// says: emulators, project, database, topic and port.
	Env map[string]string
	// Store is the embedded store, nil with the emulator. The stack closes it.
	Store *embedded.Store
	// Publish takes a repair message where there is no Pub/Sub, and is nil where
	// there is.
	Publish func(message []byte) error
}

const loopback = "127.0.0.1"

// startFunctions starts them and learns where they are.
func (s *Stack) startFunctions(ctx context.Context, with Wiring) error {
	port := s.config.FunctionsPort
	if port == 0 {
		l, err := listen(0)
		if err != nil {
			return err
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	with.Env["PORT"] = strconv.Itoa(port)
	with.Env["HIPPOFIRE_PROJECT"] = s.config.Project
	with.Env["HIPPOFIRE_DATABASE"] = s.config.Database
	addr, stop, err := s.config.Functions(ctx, with)
	if err != nil {
		return err
	}
	s.onStop(func(context.Context) error { return stop() })
	s.FunctionsURL = "http://" + addr
	return nil
}

// point leads a relay to a function, until Stop closes it.
func (s *Stack) point(r *relay.Relay, function string) error {
	s.onStop(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, drainWithin)
		defer cancel()
		return r.Close(ctx)
	})
	return r.Point(s.FunctionsURL + "/" + function)
}

func listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "find a port")
	}
	return l, nil
}
