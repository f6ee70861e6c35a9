// Package reconcile is the one way in which index entries are written. Hook,
// rebuild, repair and the recording of an episode all call it, so that they
// cannot disagree: what it is told is only which memories to look at, and what it
// writes is what it finds when it looks.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// maxMetaReads bounds the rounds of one call. Each either writes everything, learns
// that a generation lost a shard, saw meta name other generations than the round
// before, or failed in passing.
const maxMetaReads = 8

// maxParallel bounds the transactions that one call has under way.
const maxParallel = 8

// How often a call begins again after a passing failure, and the wait before the
// first time, which doubles. A store may retry each of its own calls as well: this
// is for what lasts longer than those, and for what has to look at meta anew.
const (
	maxRetries = 4
	firstWait  = 50 * time.Millisecond
)

// Asker asks for a tenant's repair.
type Asker interface {
	Ask(ctx context.Context, tenant hippo.TenantID, cause repairmsg.Cause) error
}

// Reconciler makes index entries equal to their memories.
type Reconciler struct {
	store  hippo.IndexStore
	naming hippo.Naming
	asker  Asker
	sizes  *sizes
	log    *slog.Logger
}

// New makes a Reconciler over a store, which asks for repairs through asker and
// logs nothing.
func New(store hippo.IndexStore, naming hippo.Naming, asker Asker) *Reconciler {
	return &Reconciler{store: store, naming: naming, asker: asker, sizes: newSizes(), log: slog.New(slog.DiscardHandler)}
}

// LogTo makes r log what fails beside its writing, which no caller is told of. It
// is called before r is used, and returns r.
func (r *Reconciler) LogTo(log *slog.Logger) *Reconciler {
	r.log = log
	return r
}

// Reconcile makes the entries of the named memories equal to what the store
// holds, in every generation that meta names. Ids that are not listable have no
// entry and are passed over.
//
// Where there is no index to write, or a generation has lost a shard, it asks for
// a rebuild, which will scan what this call was about. Its errors are of kind
// Unavailable where the call may succeed later, which is so for a full shard and
// for an index of a newer format too, and of kind Invalid where the store refuses
// an id for good.
func (r *Reconciler) Reconcile(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error {
	c := &call{Reconciler: r, tenant: tenant, left: r.listable(ids), suspect: map[hippo.GenerationID]bool{}, lost: map[hippo.GenerationID]bool{}}
	retries := 0
	for range maxMetaReads {
		if len(c.left) == 0 {
			return nil
		}
		err := c.round(ctx)
		if err == nil {
			continue
		}
		if errors.Is(err, hippo.ErrShardFull) {
			err = c.askForGrowth(ctx, err)
		}
		if retries == maxRetries || !hippo.IsKind(err, hippo.Unavailable) {
			return err
		}
		if !sleep(ctx, firstWait<<retries) {
			return err
		}
		retries++
	}
	if len(c.left) > 0 {
		return hippo.Errorf(hippo.Unavailable, "", "the index of %s changed %d times while an entry was to be written", tenant, maxMetaReads)
	}
	return nil
}

// ReconcileInto does the same in one generation only: the one a rebuild fills.
// It is NotFound, with hippo.ErrShardMissing, where that generation has lost a
// shard, and TooLarge, with hippo.ErrShardFull, where one has no room: whoever
// fills a generation makes the larger one, so that nobody else is asked.
func (r *Reconciler) ReconcileInto(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, ids []hippo.MemoryID) error {
	left := r.listable(ids)
	for retries := 0; ; retries++ {
		var err error
		left, err = r.writeAll(ctx, tenant, []hippo.Generation{gen}, left)
		if err == nil || retries == maxRetries || !hippo.IsKind(err, hippo.Unavailable) || !sleep(ctx, firstWait<<retries) {
			return err
		}
	}
}

// call is one Reconcile under way.
type call struct {
	*Reconciler
	tenant hippo.TenantID
	// left are the ids not yet written into every generation.
	left []hippo.MemoryID
	// suspect generations missed a shard after meta had named them; lost ones
	// were still named after that.
	suspect, lost map[hippo.GenerationID]bool
}

// round reads meta once and writes what is left into what it names.
func (c *call) round(ctx context.Context) error {
	meta, err := c.store.Meta(ctx, c.tenant)
	if err != nil {
		return err
	}
	gens, err := c.writable(ctx, meta)
	if err != nil {
		return err
	}
	if len(gens) == 0 {
		c.left = nil
		return nil
	}
	asked := c.left
	c.left, err = c.writeAll(ctx, c.tenant, gens, asked)
	if meta.Next.IsZero() {
		c.watch(ctx, c.tenant, meta.Current, without(asked, c.left))
	}
	if !errors.Is(err, hippo.ErrShardMissing) {
		return err
	}
	for _, g := range gens {
		if _, err := c.writeAll(ctx, c.tenant, []hippo.Generation{g}, c.left); errors.Is(err, hippo.ErrShardMissing) {
			c.suspect[g.ID] = true
		} else if err != nil {
			return err
		}
	}
	return nil
}

// writable lists the generations of meta to write, and asks for a rebuild where
// one cannot be.
func (c *call) writable(ctx context.Context, meta hippo.Meta) ([]hippo.Generation, error) {
	var gens []hippo.Generation
	var cause repairmsg.Cause
	for _, g := range meta.Named() {
		if c.suspect[g.ID] {
			c.lost[g.ID] = true
		}
		switch {
		case g.Version > hippo.IndexVersion:
			return nil, hippo.Errorf(hippo.Unavailable, "", "the index of %s has the format %d, which a newer version of this program writes; this one writes %d", c.tenant, g.Version, hippo.IndexVersion)
		case g.Version < hippo.IndexVersion:
			cause = repairmsg.OldFormat
		case c.lost[g.ID]:
			cause = repairmsg.LostShard
		default:
			gens = append(gens, g)
		}
	}
	clear(c.suspect)
	if len(meta.Named()) == 0 {
		cause = repairmsg.NoIndex
	}
	if cause == "" {
		return gens, nil
	}
	return gens, c.asker.Ask(ctx, c.tenant, cause)
}

// writeAll writes ids into all of gens, one transaction for each shard of the
// first, and returns those not written, with the first error.
func (r *Reconciler) writeAll(ctx context.Context, tenant hippo.TenantID, gens []hippo.Generation, ids []hippo.MemoryID) ([]hippo.MemoryID, error) {
	var (
		mu    sync.Mutex
		left  []hippo.MemoryID
		first error
		group errgroup.Group
	)
	group.SetLimit(maxParallel)
	for _, target := range gens[0].Place(ids) {
		group.Go(func() error {
			targets := []hippo.ShardTarget{target}
			for _, g := range gens[1:] {
				targets = append(targets, g.Place(target.IDs)...)
			}
			if err := r.write(ctx, tenant, targets); err != nil {
				mu.Lock()
				defer mu.Unlock()
				left = append(left, target.IDs...)
				first = cmp.Or(first, err)
			}
			return nil
		})
	}
	group.Wait()
	return left, first
}

func (r *Reconciler) listable(ids []hippo.MemoryID) []hippo.MemoryID {
	var out []hippo.MemoryID
	for _, id := range ids {
		if r.naming.Listable(id) {
			out = append(out, id)
		}
	}
	return out
}

// write is one transaction of the store.
func (r *Reconciler) write(ctx context.Context, tenant hippo.TenantID, targets []hippo.ShardTarget) error {
	err := r.store.WriteEntries(ctx, tenant, targets)
	if hippo.IsKind(err, hippo.TooLarge) {
		return hippo.Wrap(hippo.TooLarge, errors.Join(hippo.ErrShardFull, err), "write "+named(targets))
	}
	return err
}

// named lists the shards that a write is for.
func named(targets []hippo.ShardTarget) string {
	shards := make([]string, len(targets))
	for i, t := range targets {
		shards[i] = t.Shard.String()
	}
	return strings.Join(shards, ", ")
}

// askForGrowth makes of a shard without room a passing failure: the index grows,
// and the write is done again.
func (c *call) askForGrowth(ctx context.Context, full error) error {
	asked := c.asker.Ask(ctx, c.tenant, repairmsg.Refused)
	return hippo.Wrap(hippo.Unavailable, errors.Join(full, asked), "the index has to grow before it takes this")
}

// sleep waits, and is false where the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
