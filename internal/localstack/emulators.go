package localstack

import (
	"context"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/internal/emulator"
	"github.com/hippofire/hippofire/internal/relay"
)

// triggerID names the trigger at the Firestore emulator.
const triggerID = "hippofire-index-hook"

// startEmulators starts the relay's listener first, because the Firestore
// emulator has to be told its address, and registers the trigger last, when an
// event finds everything in place.
func (s *Stack) startEmulators(ctx context.Context) error {
	listener, err := listen(s.config.RelayPort)
	if err != nil {
		return err
	}
	probe := &probe{next: s.Hook, arrived: make(chan struct{})}
	server := &http.Server{Handler: probe, ReadHeaderTimeout: time.Minute}
	go server.Serve(listener)
	s.onStop(func(context.Context) error { return server.Close() })

	var emulators errgroup.Group
	emulators.Go(func() error { return s.startFirestore(ctx, listener.Addr()) })
	emulators.Go(func() error { return s.startPubSub(ctx) })
	if err := emulators.Wait(); err != nil {
		return err
	}
	if err := s.restore(ctx); err != nil {
		return err
	}
	env := map[string]string{
		"FIRESTORE_EMULATOR_HOST": s.FirestoreHost,
		"PUBSUB_EMULATOR_HOST":    s.PubSubHost,
		"HIPPOFIRE_REPAIR_TOPIC":  s.config.Topic,
	}
	if err := s.startFunctions(ctx, Wiring{Env: env}); err != nil {
		return err
	}
	if err := s.point(s.Hook, "IndexHook"); err != nil {
		return err
	}
	if err := s.subscribe(ctx); err != nil {
		return err
	}
	if s.config.FirestoreHost != "" {
		if err := s.probeDelivery(ctx, probe, listener.Addr().String()); err != nil {
			return err
		}
	}
	return relay.RegisterTrigger(ctx, s.FirestoreHost, s.config.Project, s.config.Database, s.config.Layout.Paths.Memory, triggerID)
}

func (s *Stack) startFirestore(ctx context.Context, functions net.Addr) error {
	s.FirestoreHost = s.config.FirestoreHost
	if s.FirestoreHost != "" {
		return nil
	}
	p, err := emulator.Firestore(ctx, emulator.Options{
		Host: loopback, Port: s.config.FirestorePort, Log: s.config.EmulatorLog,
		RulesFile: s.config.RulesFile, FunctionsEmulator: functions.String(),
	})
	if err != nil {
		return err
	}
	s.FirestoreHost = p.Addr()
	s.watch("the Firestore emulator", p)
	return nil
}

func (s *Stack) startPubSub(ctx context.Context) error {
	s.Topic = s.config.Topic
	s.PubSubHost = s.config.PubSubHost
	if s.PubSubHost != "" {
		return nil
	}
	p, err := emulator.PubSub(ctx, emulator.Options{Host: loopback, Port: s.config.PubSubPort, Log: s.config.EmulatorLog})
	if err != nil {
		return err
	}
	s.PubSubHost = p.Addr()
	s.watch("the Pub/Sub emulator", p)
	return nil
}

// restore brings back what Data holds and saves it from now on.
func (s *Stack) restore(ctx context.Context) error {
	switch {
	case s.config.FirestoreHost != "":
		return nil
	case s.config.Data == "":
		s.note("The data is lost when this stops; --data DIR keeps it.")
		return nil
	}
	k, err := newKeeper(s.FirestoreHost, s.config.Project, s.config.Database, s.config.Data, s.config.Log)
	if err != nil {
		return err
	}
	found, err := k.load(ctx)
	if err != nil {
		return err
	}
	if found {
		s.note("The emulator gave every document a new update time when it read the data back; where memories have no updated_at of their own, one repair puts the index right.")
	}
	s.DataDir = k.dir
	s.onStop(k.start())
	return nil
}
