// Package emulatortest gives tests an emulator, or the reason why there is none.
//
// A test takes the emulator that FIRESTORE_EMULATOR_HOST or PUBSUB_EMULATOR_HOST
// names. Without it, HIPPOFIRE_TEST_EMULATORS=start starts one for the test
// binary, shared by its tests; otherwise the test is skipped, or fails where
// HIPPOFIRE_REQUIRE_EMULATORS=1 forbids the skip.
package emulatortest

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/hippofire/hippofire/internal/emulator"
)

const (
	startEnv   = "HIPPOFIRE_TEST_EMULATORS"
	requireEnv = "HIPPOFIRE_REQUIRE_EMULATORS"
)

type shared struct {
	hostEnv string
	run     func(context.Context, emulator.Options) (*emulator.Process, error)

	once sync.Once
	addr string
	err  error
}

var (
	firestore = &shared{hostEnv: "FIRESTORE_EMULATOR_HOST", run: emulator.Firestore}
	pubsub    = &shared{hostEnv: "PUBSUB_EMULATOR_HOST", run: emulator.PubSub}
)

// Firestore is the address of a Firestore emulator. Other tests use it at the
// same time: each takes a project of its own.
func Firestore(t testing.TB) string {
	t.Helper()
	return firestore.get(t)
}

// PubSub is the address of a Pub/Sub emulator, shared as Firestore's is.
func PubSub(t testing.TB) string {
	t.Helper()
	return pubsub.get(t)
}

func (s *shared) get(t testing.TB) string {
	t.Helper()
	if addr := os.Getenv(s.hostEnv); addr != "" {
		return addr
	}
	if os.Getenv(startEnv) == "start" {
		s.once.Do(s.start)
		if s.err != nil {
			t.Fatal(s.err)
		}
		return s.addr
	}
	if os.Getenv(requireEnv) == "1" {
		t.Fatalf("no emulator: set %s, or %s=start", s.hostEnv, startEnv)
	}
	t.Skipf("no emulator: set %s or run scripts/test, which starts one", s.hostEnv)
	return ""
}

// start leaves the emulator running: on Linux it ends with the test binary.
func (s *shared) start() {
	p, err := s.run(context.Background(), emulator.Options{})
	if err != nil {
		s.err = err
		return
	}
	s.addr = p.Addr()
}
