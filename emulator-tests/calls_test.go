package emulatortests

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/hippofire/hippofire/emulator-tests/rpcfault"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/firestoredb"
)

const callsTenant = hippo.TenantID("t")

// TestEachCallToFirestoreFailsOnce fails the first call that a build, a hook and
// a repair make, then in a world of its own the second, and so on, in each way in
// which a call can fail, and demands that what is delivered again ends right.
func TestEachCallToFirestoreFailsOnce(t *testing.T) {
	host := emulatortest.Firestore(t)
	var ways []rpcfault.Fault
	for _, code := range rpcfault.Codes {
		ways = append(ways, rpcfault.Fault{Code: code})
		if code != codes.Aborted {
			ways = append(ways, rpcfault.Fault{Code: code, Applied: true})
		}
	}
	for _, way := range ways {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			for n := 1; failCall(t, host, n, way); n++ {
			}
		})
	}
}

// failCall is false where there was no n-th call any more.
func failCall(t *testing.T, host string, n int, way rpcfault.Fault) bool {
	t.Helper()
	on, calls := false, 0
	store, err := firestoredb.Open(t.Context(), firestoredb.Config{
		ProjectID: fmt.Sprintf("calls-%d", time.Now().UnixNano()), EmulatorHost: host,
	}, hippo.DefaultLayout(), rpcfault.DialOptions(func(_ int, method string) rpcfault.Fault {
		if !on || way.Applied && !rpcfault.IsCommit(method) {
			return rpcfault.Fault{}
		}
		if calls++; calls == n {
			return way
		}
		return rpcfault.Fault{}
	})...)
	must(t, err)
	defer store.Close()
	save := func(name string) hippo.MemoryID {
		id, err := hippo.Base64URL.ID(name)
		must(t, err)
		// A transaction whose commit never came may still hold what it read.
		deliver(t, func() error { return store.SaveMemory(t.Context(), callsTenant, hippo.Memory{ID: id, Name: name}) })
		return id
	}
	for i := range 4 {
		save(fmt.Sprintf("pages/%d", i))
	}
	nobody := repairmsg.NewAsker(repairmsg.Nobody{}, nil)
	reconciler := reconcile.New(store, hippo.Base64URL, nobody)
	r := repair.New(store, hippo.Base64URL, reconciler, repairmsg.Nobody{}, slog.New(slog.DiscardHandler), repair.Options{PageSize: 3})
	on = true
	deliver(t, func() error {
		return r.Handle(t.Context(), repairmsg.Message{Tenant: callsTenant, Cause: repairmsg.NoIndex})
	})
	on = false
	seen, unseen := save("pages/2"), save("pages/lost")
	on = true
	deliver(t, func() error { return reconciler.Reconcile(t.Context(), callsTenant, []hippo.MemoryID{seen}) })
	deliver(t, func() error {
		return r.Handle(t.Context(), repairmsg.Message{Tenant: callsTenant, Cause: repairmsg.Nightly})
	})
	on = false
	check, err := r.Check(t.Context(), callsTenant)
	must(t, err)
	if !check.Equal || check.Memories != 5 {
		t.Errorf("call %d failed (%s): %v of %d memories, %s was lost", n, way, check.Findings, check.Memories, unseen)
	}
	return calls >= n
}

// deliver delivers what can fail until it does not.
func deliver(t *testing.T, do func() error) {
	t.Helper()
	for range 5 {
		err := do()
		if err == nil {
			return
		}
		if !hippo.ErrorKindOf(err).Retry() {
			t.Fatalf("a passing failure became one that is never tried again: %v", err)
		}
	}
	t.Fatal("it fails for ever")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
