package reconcile

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// lookAfter is how many entries this process writes into a shard before it looks
// at the shard's size. A shard holds hundreds of the longest ids, and thousands
// of usual ones.
const lookAfter = 500

// maxCounted bounds the shards that are counted for; beyond it all counts begin
// anew.
const maxCounted = 10_000

// sizes counts the entries written into each shard since it was last looked at.
// It is safe for concurrent use.
type sizes struct {
	mu      sync.Mutex
	written map[countedShard]int
}

type countedShard struct {
	tenant hippo.TenantID
	shard  hippo.ShardID
}

func newSizes() *sizes { return &sizes{written: make(map[countedShard]int)} }

// add counts entries, and says whether it is time to look at the shard.
func (s *sizes) add(shard countedShard, entries int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.written) >= maxCounted {
		clear(s.written)
	}
	s.written[shard] += entries
	return s.written[shard] >= lookAfter
}

// looked begins the shard's count anew.
func (s *sizes) looked(shard countedShard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, shard)
}

// watch looks at those shards into which enough has been written, and asks for
// growth where one is over half of its budget. It is no part of the writing: where
// it fails, that is logged. The next write into a shard that could not be read
// looks again; of one that nobody could be asked about, the next look is due after
// as many entries as ever.
func (r *Reconciler) watch(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, written []hippo.MemoryID) {
	if gen.IsZero() {
		return
	}
	for _, target := range gen.Place(written) {
		shard := countedShard{tenant, target.Shard}
		if !r.sizes.add(shard, len(target.IDs)) {
			continue
		}
		due, err := r.dueToGrow(ctx, tenant, gen, target.Shard)
		if err == nil {
			r.sizes.looked(shard)
		}
		if due {
			err = r.asker.Ask(ctx, tenant, repairmsg.FullShard)
		}
		if err != nil {
			r.log.WarnContext(ctx, "no repair asked for", "tenant", tenant, "cause", repairmsg.FullShard, "error", err)
		}
	}
}

// dueToGrow reads one shard, with meta, and says whether growth is to be asked for.
func (r *Reconciler) dueToGrow(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, shard hippo.ShardID) (bool, error) {
	seen := slices.Repeat([]int64{math.MaxInt64}, gen.Shards)
	seen[shard.N] = -1 // no shard has been seen so early, and no other so late
	read, err := r.store.ReadIndexSince(ctx, tenant, gen, seen)
	if err != nil {
		return false, err
	}
	full := slices.ContainsFunc(read.Shards, func(s hippo.Shard) bool { return s.Over(2) })
	return full && read.Meta.Current == gen && read.Meta.Next.IsZero(), nil
}

// without is all but those left, of which both are in any order.
func without(all, left []hippo.MemoryID) []hippo.MemoryID {
	if len(left) == 0 {
		return all
	}
	not := make(map[hippo.MemoryID]bool, len(left))
	for _, id := range left {
		not[id] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(id hippo.MemoryID) bool { return not[id] })
}
