package turnreader

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// Asker asks for a tenant's repair.
type Asker interface {
	Ask(ctx context.Context, tenant hippo.TenantID, cause repairmsg.Cause) error
}

// indexStore is the part of a store that the list is read from.
type indexStore interface {
	ReadIndex(ctx context.Context, tenant hippo.TenantID) (hippo.IndexRead, error)
	ReadIndexSince(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, seen []int64) (hippo.IndexRead, error)
	ScanEntries(ctx context.Context, tenant hippo.TenantID, after hippo.MemoryID, limit int) ([]hippo.Entry, error)
}

// Index reads what tenants know. A process keeps one, for all tenants and turns.
type Index struct {
	store   indexStore
	naming  hippo.Naming
	asker   Asker
	log     *slog.Logger
	cache   *cache
	flights *flights[hippo.TenantID, result]
}

// result is what a read came to: where the list is from, and what it cost.
type result struct {
	known  *Known
	source Source
	cost   []hippo.Reads
}

// NewIndex makes an Index whose cache holds about so many bytes over all tenants.
func NewIndex(store indexStore, naming hippo.Naming, asker Asker, cacheBytes int64, log *slog.Logger) *Index {
	return &Index{store: store, naming: naming, asker: asker, log: log, cache: newCache(cacheBytes), flights: newFlights[hippo.TenantID, result]()}
}

// Known lists what a tenant knows, as new as the moment of the call. The cost of
// a read that several turns share is counted for the one that began it.
func (x *Index) Known(ctx context.Context, tenant hippo.TenantID) (*Known, Source, error) {
	r, own, err := x.flights.do(ctx, tenant, func(ctx context.Context) (result, error) {
		var meter hippo.Meter
		known, source, err := x.read(hippo.WithMeter(ctx, &meter), tenant)
		return result{known: known, source: source, cost: meter.ByQuery()}, err
	})
	if own {
		for _, c := range r.cost {
			hippo.CountRead(ctx, c.Query, c.Documents, c.Bytes)
		}
	}
	return r.known, r.source, err
}

// read brings what is held up to date, or reads the whole. Only what may pass fails
// it at once: a warm read that the store refuses, as Firestore does while it has not
// made the index that the query needs, says nothing about the cold one.
func (x *Index) read(ctx context.Context, tenant hippo.TenantID) (*Known, Source, error) {
	if held := x.cache.get(tenant); held != nil {
		known, err := x.warm(ctx, tenant, held)
		if known != nil || hippo.IsKind(err, hippo.Unavailable) {
			return known, Warm, err
		}
		if err != nil {
			x.log.WarnContext(ctx, "list read cold", "tenant", tenant, "error", err)
		}
	}
	return x.cold(ctx, tenant)
}

// warm brings what is held up to date; nil where it cannot be.
func (x *Index) warm(ctx context.Context, tenant hippo.TenantID, held *Known) (*Known, error) {
	read, err := x.store.ReadIndexSince(ctx, tenant, held.gen, held.seen())
	if hippo.IsKind(err, hippo.Conflict) || err == nil && read.Meta.Current != held.gen {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := held.with(read)
	x.cache.put(tenant, known)
	return known, nil
}

// cold reads the whole index, or the memories where it is not whole.
func (x *Index) cold(ctx context.Context, tenant hippo.TenantID) (*Known, Source, error) {
	read, err := x.store.ReadIndex(ctx, tenant)
	if err != nil {
		return nil, Cold, err
	}
	known, cause := x.whole(read)
	if cause != "" {
		defer x.ask(ctx, tenant, cause)()
	}
	if known == nil {
		known, err = x.scan(ctx, tenant)
		return known, Scan, err
	}
	x.cache.put(tenant, known)
	return known, Cold, nil
}

// whole is the list that an index gives, nil where it gives none, and the cause
// to ask for a repair, empty where there is none.
func (x *Index) whole(read hippo.IndexRead) (*Known, repairmsg.Cause) {
	gen := read.Meta.Current
	switch {
	case gen.Version > hippo.IndexVersion || read.Meta.Next.Version > hippo.IndexVersion && gen.IsZero():
		return nil, ""
	case gen.IsZero():
		return nil, repairmsg.NoIndex
	case gen.Version < hippo.IndexVersion:
		return nil, repairmsg.OldFormat
	}
	shards := read.Of(gen)
	known, ok := knownOf(x.naming, gen, shards, read.At)
	if !ok {
		return nil, repairmsg.LostShard
	}
	for _, s := range shards {
		if s.Over(2) && read.Meta.Next.IsZero() {
			return known, repairmsg.FullShard
		}
	}
	return known, ""
}

func (x *Index) scan(ctx context.Context, tenant hippo.TenantID) (*Known, error) {
	entries, err := x.store.ScanEntries(ctx, tenant, "", 0)
	if err != nil {
		return nil, err
	}
	return scannedKnown(x.naming, entries), nil
}

// askWithin is how long a turn waits for a repair to be asked for: less than it waits
// for its list.
const askWithin = 2 * time.Second

// ask asks for a repair beside what else is to be done, and returns a function that
// waits until that is done, so that no work outlives the turn. The turn is right
// without it: a failure is logged, and the next turn asks again.
func (x *Index) ask(ctx context.Context, tenant hippo.TenantID, cause repairmsg.Cause) (wait func()) {
	var asking sync.WaitGroup
	asking.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		if err := x.asker.Ask(ctx, tenant, cause); err != nil {
			x.log.WarnContext(ctx, "no repair asked for", "tenant", tenant, "cause", cause, "error", err)
		}
	})
	return asking.Wait
}
