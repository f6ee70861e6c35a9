package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/client"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/internal/relay"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// stack is a World on a local stack: the functions over HTTP, a store behind
// them, and the relay in between, which can lose what it is given.
type stack struct {
	*client.Client
	local *localstack.Stack
	store hippo.Store
	dir   string

	mu     sync.Mutex
	losing bool
	probe  string        // path of the memory that Settle waits for
	seen   chan struct{} // closed when its event has come
}

// Open starts a local stack for the demo; stop ends it and leaves nothing.
func Open(ctx context.Context, kind localstack.StoreKind) (w World, stop func() error, err error) {
	s := &stack{}
	if s.dir, err = os.MkdirTemp("", "hippofire-demo-"); err != nil {
		return nil, nil, hippo.Wrap(hippo.Unavailable, err, "making a folder for the demo")
	}
	if err := s.start(ctx, kind); err != nil {
		return nil, nil, errors.Join(err, s.stop())
	}
	return s, s.stop, nil
}

func (s *stack) start(ctx context.Context, kind localstack.StoreKind) error {
	project := "demo-" + strings.ToLower(rand.Text()[:10])
	log := functions.NewLog(io.Discard)
	serve := localstack.Framework(functions.Config{
		Project: project, Database: localstack.DefaultDatabase, Naming: string(hippo.Base64URL), Window: 30,
		Trusted: episodewriter.DefaultTrusted(), CacheBytes: 64 << 20,
		TurnDeadline: time.Minute,
	}, log)
	config := localstack.Config{
		Store: kind, Dir: s.dir, Project: project, Log: log, Relay: relay.Options{Faults: s.faults},
		Functions: func(ctx context.Context, with localstack.Wiring) (string, func() error, error) {
			if with.Store != nil {
				s.store = with.Store
			}
			return serve(ctx, with)
		},
	}
	if kind == localstack.Emulator {
		config.FirestoreHost, config.PubSubHost = os.Getenv("FIRESTORE_EMULATOR_HOST"), os.Getenv("PUBSUB_EMULATOR_HOST")
	}
	var err error
	if s.local, err = localstack.Start(ctx, config); err != nil {
		return err
	}
	s.Client = client.New(s.local.FunctionsURL)
	if s.store != nil {
		return nil
	}
	s.store, err = firestoredb.Open(ctx, firestoredb.Config{ProjectID: project, EmulatorHost: s.local.FirestoreHost}, hippo.DefaultLayout())
	return err
}

func (s *stack) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var err error
	if s.local != nil {
		err = s.local.Stop(ctx)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// Store is World's.
func (s *stack) Store() hippo.Store { return s.store }

// settleTenant is where Settle writes; its memories are nobody's.
const settleTenant = hippo.TenantID("settle")

// faults loses the demo's events where it is told to, and sees the one that
// Settle waits for.
func (s *stack) faults(e relay.Event) []relay.Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Change.Path == s.probe && s.seen != nil {
		close(s.seen)
		s.seen = nil
	}
	tenant, _, ok := hippo.DefaultPaths().MatchMemory(e.Change.Path)
	if ok && (tenant == settleTenant || s.losing) {
		return nil
	}
	return []relay.Delivery{{}}
}

// Settle is World's. Events come in the order of their commits, so that what was
// changed before a memory of its own has come when that one's event has.
func (s *stack) Settle(ctx context.Context) error {
	id, err := hippo.Base64URL.ID("settle/" + rand.Text())
	if err != nil {
		return err
	}
	seen := make(chan struct{})
	s.mu.Lock()
	s.probe, s.seen = hippo.Fill(hippo.DefaultPaths().Memory, string(settleTenant), string(id)), seen
	s.mu.Unlock()
	if err := s.store.SaveMemory(ctx, settleTenant, hippo.Memory{ID: id, Name: "settle"}); err != nil {
		return err
	}
	select {
	case <-seen:
	case <-ctx.Done():
		return hippo.Wrap(hippo.Unavailable, ctx.Err(), "waiting for events")
	case <-time.After(time.Minute):
		return hippo.Errorf(hippo.Unavailable, "", "no event came within a minute")
	}
	return s.local.Hook.Idle(ctx)
}

// LoseEvents is World's.
func (s *stack) LoseEvents(lose bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losing = lose
}

// Repair is World's.
func (s *stack) Repair(ctx context.Context, tenant hippo.TenantID) error {
	return s.Push(ctx, repairmsg.Message{Tenant: tenant, Cause: repairmsg.Nightly})
}

// Check is World's.
func (s *stack) Check(ctx context.Context, tenant hippo.TenantID) (repair.Check, error) {
	log := functions.NewLog(io.Discard)
	asker := repairmsg.NewAsker(repairmsg.Nobody{}, nil)
	r := repair.New(s.store, hippo.Base64URL, reconcile.New(s.store, hippo.Base64URL, asker), repairmsg.Nobody{}, log, repair.Options{})
	return r.Check(ctx, tenant)
}
