// Package bench measures what the design promises: how the cost of a list grows
// with what an agent knows, and what it takes to keep the index equal to it.
//
// What is read and written on Firestore is counted from the wire, not by the
// store's own bookkeeping; on the embedded store there is no wire, and the store
// counts in the same units. Times are of this machine: what they are good for is
// the ratio of two of them from one run.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/store/embedded"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// Tenant is the one that is measured.
const Tenant = hippo.TenantID("bench")

// Store is a store that can also be used as programs without an index do.
type Store interface {
	hippo.Store
	PutDocuments(ctx context.Context, documents map[string]map[string]any) error
	DeleteDocument(ctx context.Context, path string) error
	ScanMemories(ctx context.Context, tenant hippo.TenantID) ([]hippo.Memory, error)
}

// World is a fresh store.
type World struct {
	Store
	Layout hippo.Layout
	wire   *firestoredb.WireCounter // nil on the embedded store
	// runs is how often a way is run at most.
	runs int
	// Project and Host lead another process to the store; empty on the embedded one.
	Project, Host string
	closes        []func() error
}

// Open makes a World. A Firestore emulator that runs at host is used; where host
// is empty one is started.
func Open(ctx context.Context, kind localstack.StoreKind, host string) (*World, error) {
	w := &World{Layout: hippo.DefaultLayout(), runs: maxRuns}
	if kind == localstack.Embedded {
		store, err := embedded.New(w.Layout, nil)
		if err != nil {
			return nil, err
		}
		w.Store, w.closes = store, []func() error{store.Close}
		return w, nil
	}
	if host == "" {
		p, err := emulator.Firestore(ctx, emulator.Options{})
		if err != nil {
			return nil, err
		}
		host, w.closes = p.Addr(), append(w.closes, p.Stop)
	}
	w.wire = &firestoredb.WireCounter{}
	project := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	store, err := firestoredb.Open(ctx, firestoredb.Config{ProjectID: project, EmulatorHost: host}, w.Layout, w.wire.DialOptions()...)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.Store, w.closes = store, append(w.closes, store.Close)
	w.Project, w.Host = project, host
	return w, nil
}

// Close ends what Open began.
func (w *World) Close() error {
	var errs []error
	for _, c := range slices.Backward(w.closes) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// cost is what one piece of work took.
type cost struct {
	milliseconds  float64
	reads, writes int
	bytes         int64
}

// measure does a piece of work and counts what it took.
func (w *World) measure(ctx context.Context, work func(context.Context) error) (cost, error) {
	var meter hippo.Meter
	before := w.total(&meter)
	start := time.Now()
	err := work(hippo.WithMeter(ctx, &meter))
	took := time.Since(start)
	after := w.total(&meter)
	return cost{
		milliseconds: float64(took.Microseconds()) / 1000,
		reads:        after.Reads - before.Reads, writes: after.Writes - before.Writes, bytes: after.Bytes - before.Bytes,
	}, err
}

func (w *World) total(meter *hippo.Meter) firestoredb.WireCount {
	if w.wire != nil {
		return w.wire.Total()
	}
	t := meter.Total()
	return firestoredb.WireCount{Reads: t.Documents, Bytes: t.Bytes, Writes: t.Writes}
}

// percentile is the value below which a part of the values lies.
func percentile(values []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
