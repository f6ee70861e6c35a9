// Package localstack runs the whole system on one machine: a store, the
// functions, and between them what stands there in production.
//
// With the emulator's store that is the Firestore emulator, whose document
// trigger reaches IndexHook through a relay, and the Pub/Sub emulator, whose
// repair topic is pushed to Repair. With the embedded store it is that store in
// a folder, whose changes and repair messages go through two relays; no other
// program runs.
package localstack

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator"
	"github.com/hippofire/hippofire/internal/relay"
)

// StoreKind says where a stack keeps its documents.
type StoreKind string

const (
	Emulator StoreKind = "emulator"
	Embedded StoreKind = "embedded"
)

// Names that a stack uses where the configuration gives none.
const (
	DefaultProject  = "demo-hippofire"
	DefaultDatabase = "(default)"
	DefaultTopic    = "hippofire-repair"
)

// Config says what to start. Store and Functions are required.
type Config struct {
	Store     StoreKind
	Functions Functions
	// Dir is where .hippofire/local.json is written; the working directory where
	// it is empty.
	Dir string
	// Data is the folder that keeps the data over a restart. Without it the
	// emulator's data ends with the stack, and the embedded store's folder is a
	// temporary one, removed at the end.
	Data string

	Project, Database, Topic string
	// Layout is where documents lie; the zero value is hippo.DefaultLayout.
	Layout hippo.Layout

	// FirestoreHost and PubSubHost name emulators that run already, which are
	// then neither started nor stopped. The embedded store has no use for them.
	FirestoreHost, PubSubHost string
	// RulesFile is given to a Firestore emulator that is started.
	RulesFile string
	// Ports to listen on; a free one where it is zero.
	FirestorePort, PubSubPort, FunctionsPort, RelayPort int

	// Relay are the options of the relay to IndexHook. Pattern and Log are set by
	// the stack.
	Relay relay.Options
	// EmulatorLog receives what the emulators print.
	EmulatorLog io.Writer
	// Log hears of what goes wrong while the stack runs; nil is silence.
	Log *slog.Logger
}

// drainWithin bounds how long Stop waits for events under way.
const drainWithin = 5 * time.Second

// Stack is what Start started.
type Stack struct {
	Info
	// Notes are sentences for whoever started the stack: what will not work, and
	// what they should know.
	Notes []string
	// Hook is the relay to IndexHook.
	Hook *relay.Relay

	config Config
	ended  chan error // of an emulator that ended by itself
	mu     sync.Mutex
	undo   []func(context.Context) error // what Stop does, last first
}

// Start starts everything and returns when it runs. The context bounds the start
// alone. On an error, what was started is stopped. It is Conflict where a stack
// of the same Dir runs already.
func Start(ctx context.Context, config Config) (*Stack, error) {
	s := &Stack{config: config, ended: make(chan error, 2)}
	err := s.config.fill()
	if err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
		defer cancel()
		return nil, errors.Join(err, s.Stop(stopCtx))
	}
	return s, nil
}

func (c *Config) fill() error {
	if c.Store != Emulator && c.Store != Embedded {
		return hippo.Errorf(hippo.Invalid, "store", "%q is no store: use %q or %q", c.Store, Emulator, Embedded)
	}
	if c.Functions == nil {
		return hippo.Errorf(hippo.Invalid, "functions", "is missing")
	}
	if c.FirestoreHost != "" && c.Data != "" && c.Store == Emulator {
		return hippo.Errorf(hippo.Invalid, "data", "the Firestore emulator at %s was not started here, and whoever started it keeps its data", c.FirestoreHost)
	}
	for _, d := range []struct {
		field *string
		value string
	}{{&c.Dir, "."}, {&c.Project, DefaultProject}, {&c.Database, DefaultDatabase}, {&c.Topic, DefaultTopic}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if c.Layout == (hippo.Layout{}) {
		c.Layout = hippo.DefaultLayout()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Relay.Pattern, c.Relay.Log = c.Layout.Paths.Memory, c.Log
	return c.Layout.Paths.Check()
}

func (s *Stack) start(ctx context.Context) error {
	if running, err := ReadInfo(s.config.Dir); err == nil {
		return hippo.Errorf(hippo.Conflict, "", "process %d runs a stack for this folder already, with its functions at %s", running.PID, running.FunctionsURL)
	}
	s.Info = Info{
		Store: s.config.Store, Project: s.config.Project, Database: s.config.Database,
		PID: os.Getpid(), StartedAt: time.Now().UTC().Truncate(time.Second),
	}
	s.Hook = relay.New(&s.config.Relay)
	begin := s.startEmulators
	if s.config.Store == Embedded {
		begin = s.startEmbedded
	}
	if err := begin(ctx); err != nil {
		return err
	}
	if err := s.Info.write(s.config.Dir); err != nil {
		return err
	}
	s.onStop(func(context.Context) error { return removeInfo(s.config.Dir) })
	return nil
}

// Wait returns when the context ends, with nil, or when an emulator that the
// stack started ends by itself, with an error of kind Unavailable.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.ended:
		return err
	}
}

// Stop ends what Start started, in reverse order: it delivers what is under way,
// for a few seconds at most, and saves the data. Where the context has ended it
// does not wait for events, and saves all the same. A second call does nothing.
func (s *Stack) Stop(ctx context.Context) error {
	s.mu.Lock()
	undo := s.undo
	s.undo = nil
	s.mu.Unlock()
	var errs []error
	for i := len(undo) - 1; i >= 0; i-- {
		errs = append(errs, undo[i](ctx))
	}
	return errors.Join(errs...)
}

func (s *Stack) onStop(f func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undo = append(s.undo, f)
}

func (s *Stack) note(sentence string) { s.Notes = append(s.Notes, sentence) }

// watch notes the stop of an emulator, and tells Wait if it ends before that.
func (s *Stack) watch(name string, p *emulator.Process) {
	stopping := make(chan struct{})
	go func() {
		select {
		case <-stopping:
		case <-p.Done():
			s.ended <- hippo.Errorf(hippo.Unavailable, "", "%s ended by itself", name)
		}
	}()
	s.onStop(func(context.Context) error {
		close(stopping)
		return p.Stop()
	})
}
