package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"
)

// environment is all that a process gets beside its port and target. Nothing
// listens where it is told to look for Firestore and Pub/Sub: a function has to
// start, and to refuse what is useless, without them.
var environment = []string{
	"HIPPOFIRE_PROJECT=demo-check",
	"HIPPOFIRE_REPAIR_TOPIC=check",
	"FIRESTORE_EMULATOR_HOST=127.0.0.1:1",
	"PUBSUB_EMULATOR_HOST=127.0.0.1:1",
}

// server is a running process of the built binary.
type server struct {
	url    string
	said   bytes.Buffer // to be read when the process has ended
	cancel context.CancelFunc
	ended  chan error
}

// startServer starts the binary and returns when it listens. An empty target
// serves all functions.
func startServer(ctx context.Context, binary, target string) (*server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &server{url: "http://" + addr + "/", cancel: cancel, ended: make(chan error, 1)}
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(environment, "PORT="+port(addr), "FUNCTION_TARGET="+target, "HOME="+os.Getenv("HOME"))
	cmd.Stdout, cmd.Stderr = &s.said, &s.said
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() { s.ended <- cmd.Wait() }()
	if err := s.ready(ctx, addr); err != nil {
		return nil, err
	}
	return s, nil
}

// ready waits until something listens at addr.
func (s *server) ready(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr); err == nil {
			return conn.Close()
		}
		select {
		case err := <-s.ended:
			s.cancel()
			return fmt.Errorf("it ended at once: %v; it said:\n%s", err, s.said.String())
		case <-ctx.Done():
			s.cancel()
			<-s.ended
			return fmt.Errorf("it does not listen: %w; it said:\n%s", ctx.Err(), s.said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the process and returns what it said. That it ended before is an
// error.
func (s *server) stop() (string, error) {
	select {
	case err := <-s.ended:
		s.cancel()
		return s.said.String(), fmt.Errorf("it ended by itself: %v", err)
	default:
	}
	s.cancel()
	<-s.ended
	return s.said.String(), nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func port(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
