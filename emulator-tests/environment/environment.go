// Package environment is a world in which everything that can go wrong does: the
// emulators, the functions in a process of their own that is killed and started
// again, and between them a relay that loses, doubles, delays and so disorders
// events. All of it is drawn from one seed, which is printed; -seed repeats it.
//
//	e := environment.Start(t, environment.Setup{Drop: 0.1, Duplicate: 0.2, MaxDelay: 200 * time.Millisecond, Faults: 20})
//	for range 5 {
//		e.Change(200)
//		e.Restart()
//		e.DeleteIndexDocument(e.Tenants()[0])
//	}
//	e.Settle()
//	e.Repair()
//	e.WantRight()
package environment

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/internal/relay"
	"github.com/hippofire/hippofire/store/firestoredb"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the environment's faults and changes; 0 draws one")

// Setup says what goes wrong, and how much of it. The zero value is a world in
// which nothing does.
type Setup struct {
	// Seed is the one to use where -seed gives none; 0 draws one.
	Seed uint64
	// Tenants and Names are how many there are to write to, and of names in each.
	// Defaults 2 and 200.
	Tenants, Names int
	// Drop and Duplicate are shares of the events; MaxDelay is the longest that a
	// delivery waits.
	Drop, Duplicate float64
	MaxDelay        time.Duration
	// Faults are how many of 1,000 calls of the functions to Firestore fail.
	Faults int
	// Skew is by how much the clock of the functions' host is wrong.
	Skew time.Duration
}

// Environment is a running world.
type Environment struct {
	testing.TB
	Seed  uint64
	Stack *localstack.Stack
	// Store is the database, without faults.
	Store *firestoredb.Store

	setup   Setup
	layout  hippo.Layout
	process *process
	tenants []hippo.TenantID

	mu       sync.Mutex
	rand     *rand.Rand
	events   int // changes that the trigger posts
	delivery Deliveries
	kills    int
	deleted  int
}

// Deliveries counts what the relay was told to do with events.
type Deliveries struct{ Dropped, Doubled, Delayed int }

// startWithin bounds the start of everything.
const startWithin = 2 * time.Minute

// Start starts a world. Where there is no emulator, the test is skipped.
func Start(t testing.TB, setup Setup) *Environment {
	t.Helper()
	emulatortest.Firestore(t)
	if setup.Tenants == 0 {
		setup.Tenants = 2
	}
	if setup.Names == 0 {
		setup.Names = 200
	}
	e := &Environment{TB: t, Seed: *seedFlag, setup: setup, layout: hippo.DefaultLayout()}
	if e.Seed == 0 {
		e.Seed = setup.Seed
	}
	if e.Seed == 0 {
		e.Seed = uint64(time.Now().UnixNano())
	}
	e.rand = rand.New(rand.NewPCG(e.Seed, 0))
	t.Logf("the environment's seed: -seed=%d", e.Seed)
	e.process = &process{faults: map[string]int{}, env: []string{
		fmt.Sprintf("TEST_FAULTS_PER_THOUSAND=%d", setup.Faults), fmt.Sprintf("TEST_SEED=%d", e.Seed), "TEST_CLOCK_SKEW=" + setup.Skew.String(),
	}}
	for i := range setup.Tenants {
		e.tenants = append(e.tenants, hippo.TenantID(fmt.Sprintf("tenant-%d", i)))
	}
	e.start()
	return e
}

func (e *Environment) start() {
	ctx, cancel := context.WithTimeout(e.Context(), startWithin)
	defer cancel()
	var err error
	e.Stack, err = localstack.Start(ctx, localstack.Config{
		Store: localstack.Emulator, Functions: e.process.functions, Dir: e.TempDir(), PubSubHost: emulatortest.PubSub(e.TB),
		Project: fmt.Sprintf("environment-%d", time.Now().UnixNano()),
		Relay:   relay.Options{Faults: e.deliver, MaxBackoff: time.Second, Timeout: 30 * time.Second},
	})
	e.must(err)
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startWithin)
		defer cancel()
		if err := e.Stack.Stop(ctx); err != nil && !strings.Contains(err.Error(), "gave up") {
			e.Error(err)
		}
		if e.Failed() {
			e.Logf("seed %d; the functions said last:\n%s", e.Seed, e.process.said())
		}
	})
	e.Store, err = firestoredb.Open(e.Context(), firestoredb.Config{ProjectID: e.Stack.Project, EmulatorHost: e.Stack.FirestoreHost}, e.layout)
	e.must(err)
	e.Cleanup(func() { e.Store.Close() })
}

func (e *Environment) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("seed %d: %v", e.Seed, err)
	}
}

// deliver draws what becomes of an event.
func (e *Environment) deliver(relay.Event) []relay.Delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rand.Float64() < e.setup.Drop {
		e.delivery.Dropped++
		return nil
	}
	deliveries := []relay.Delivery{{}}
	if e.rand.Float64() < e.setup.Duplicate {
		e.delivery.Doubled++
		deliveries = append(deliveries, relay.Delivery{})
	}
	if e.setup.MaxDelay > 0 {
		for i := range deliveries {
			deliveries[i].Delay = time.Duration(e.rand.Int64N(int64(e.setup.MaxDelay)))
			e.delivery.Delayed++
		}
	}
	return deliveries
}

// Tenants lists those that are written to.
func (e *Environment) Tenants() []hippo.TenantID { return e.tenants }

// Kill ends the functions' process at once.
func (e *Environment) Kill() {
	e.Helper()
	e.must(e.process.kill())
	e.kills++
}

// Restart kills the functions' process and starts it again.
func (e *Environment) Restart() {
	e.Helper()
	e.Kill()
	e.Begin()
}

// Begin starts the functions' process after a Kill.
func (e *Environment) Begin() {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), startWithin)
	defer cancel()
	e.must(e.process.start(ctx))
}

// DeleteIndexDocument deletes a document of a tenant's index by hand, meta or a
// shard, where there is one.
func (e *Environment) DeleteIndexDocument(tenant hippo.TenantID) {
	e.Helper()
	index, err := e.Store.ReadIndex(e.Context(), tenant)
	e.must(err)
	ids := []string{"meta"}
	for _, s := range index.Shards {
		ids = append(ids, s.ID.String())
	}
	slices.Sort(ids)
	e.mu.Lock()
	id := ids[e.rand.IntN(len(ids))]
	e.mu.Unlock()
	e.must(e.Store.DeleteDocument(e.Context(), hippo.Fill(e.layout.Paths.Index, string(tenant), id)))
	e.deleted++
}

// Summary says what happened, for the log.
func (e *Environment) Summary() string {
	e.process.mu.Lock()
	faults := maps.Clone(e.process.faults)
	e.process.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Sprintf("seed %d: %d events, %+v, relay %+v, %d kills, %d documents deleted by hand, faults %v",
		e.Seed, e.events, e.delivery, e.Stack.Hook.Stats(), e.kills, e.deleted, faults)
}
