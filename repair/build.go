package repair

import (
	"context"
	"errors"
	"fmt"

	"github.com/hippofire/hippofire/hippo"
)

// build fills a generation, points meta at it, and deletes what is left over. It
// carries on the one that meta names as next where that is whole, and begins one
// where there is none, a shard of it is missing, or it was too small. Whatever
// step it ends at, whoever takes the message next carries on from there.
func (w *run) build(ctx context.Context, index hippo.IndexRead) (again bool, err error) {
	next := index.Meta.Next
	if next.IsZero() || missesShard(next, index) || next.Shards < w.atLeast || next.Version < hippo.IndexVersion {
		next, err = w.begin(ctx, index)
		if hippo.IsKind(err, hippo.Conflict) {
			return w.lost(ctx)
		}
		if err != nil {
			return false, err
		}
	}
	done, err := w.fill(ctx, next)
	switch {
	case errors.Is(err, hippo.ErrShardFull):
		w.atLeast, w.full = 2*next.Shards, err
		return true, nil
	case errors.Is(err, hippo.ErrShardMissing), errors.Is(err, errTaken):
		return w.lost(ctx)
	case err != nil || !done:
		return false, err
	}
	return w.promote(ctx, next)
}

// errTaken says that meta does not name the generation that is being filled any
// more.
var errTaken = errors.New("another builder has taken over")

// lost decides what to do where a generation could not be begun or filled. A
// whole one that another builder has named since then is left to that builder,
// whose scan sees whatever this one's would have; else somebody has to look
// again.
func (w *run) lost(ctx context.Context) (again bool, err error) {
	index, err := w.store.ReadIndex(ctx, w.message.Tenant)
	if err != nil {
		return false, err
	}
	next := index.Meta.Next
	return next.IsZero() || missesShard(next, index), nil
}

func missesShard(gen hippo.Generation, index hippo.IndexRead) bool {
	for _, s := range index.Of(gen) {
		if s == nil {
			return true
		}
	}
	return false
}

// begin names a fresh generation as next, with room for what is there. It is
// TooLarge where too many ids meet in one shard of any generation that may be.
func (w *run) begin(ctx context.Context, index hippo.IndexRead) (hippo.Generation, error) {
	count, err := w.store.CountMemories(ctx, w.message.Tenant)
	if err != nil {
		return hippo.Generation{}, err
	}
	needed := hippo.ShardsFor(count, entryBytes(index)*int64(count))
	if w.atLeast > maxUneven*needed {
		return hippo.Generation{}, w.giveUp(ctx)
	}
	shards := max(w.atLeast, needed)
	if current := index.Meta.Current; shards <= current.Shards && dueToGrow(current, index) {
		shards = 2 * current.Shards // it fills them unevenly
	}
	next := hippo.Generation{ID: hippo.NewGenerationID(), Shards: shards, Version: hippo.IndexVersion}
	w.log.InfoContext(ctx, "index build begins", "tenant", w.message.Tenant, "cause", w.report.Cause, "gen", next.ID, "shards", next.Shards, "memories", count)
	_, err = w.store.AnnounceGeneration(ctx, w.message.Tenant, index.Meta, next)
	return next, err
}

// giveUp ends a build that no number of shards makes room for. What is left of the
// generations that were too small is deleted: until then, every cold turn reads it.
func (w *run) giveUp(ctx context.Context) error {
	if _, err := w.store.SweepIndex(ctx, w.message.Tenant); err != nil {
		return err
	}
	return hippo.Wrap(hippo.TooLarge, w.full, fmt.Sprintf("the index of %s would need %d shards or more, because too many ids meet in one", w.message.Tenant, w.atLeast))
}

// maxUneven is how many times the shards that its entries need a generation may
// have for the sake of one that fills faster than the others. Ids that somebody
// chose so that they meet in one shard must not make the index grow for ever.
const maxUneven = 8

// dueToGrow says whether a shard of gen is over half of its budget, and more
// shards can be expected to help.
func dueToGrow(gen hippo.Generation, index hippo.IndexRead) bool {
	full := false
	var bytes int64
	var entries int
	for _, s := range index.Of(gen) {
		if s != nil {
			full = full || s.Over(2)
			bytes += s.Bytes()
			entries += len(s.Entries)
		}
	}
	return full && gen.Shards < maxUneven*hippo.ShardsFor(entries, bytes)
}

// What an entry is taken to need before enough of them have been seen: as much as
// an id of 91 bytes, the base64url form of a name of 68.
const (
	typicalEntryBytes = 100
	enoughEntries     = 100
)

// entryBytes is what an entry needs, by those there are.
func entryBytes(index hippo.IndexRead) int64 {
	var bytes, entries int64
	for _, s := range index.Shards {
		bytes += s.Bytes()
		entries += int64(len(s.Entries))
	}
	if entries < enoughEntries {
		return typicalEntryBytes
	}
	return (bytes + entries - 1) / entries
}

// fill files every memory in gen, page by page; false where the rest was left to
// another message.
func (w *run) fill(ctx context.Context, gen hippo.Generation) (bool, error) {
	var after hippo.MemoryID
	if w.message.Gen == gen.ID {
		after = hippo.MemoryID(w.message.After)
	} else {
		w.report.Memories = 0
	}
	for {
		meta, err := w.store.Meta(ctx, w.message.Tenant)
		if err != nil {
			return false, err
		}
		if meta.Next != gen {
			return false, errTaken
		}
		page, err := w.store.ScanEntries(ctx, w.message.Tenant, after, w.options.PageSize)
		if err != nil {
			return false, err
		}
		if err := w.fileAll(ctx, gen, page); err != nil {
			return false, err
		}
		w.report.Memories += len(page)
		w.options.Progress(w.report.Memories)
		if len(page) < w.options.PageSize {
			return true, nil
		}
		after = page[len(page)-1].ID
		if w.outOfTime() {
			return false, w.later(ctx, gen.ID, after)
		}
	}
}

// batchSize is how many ids go into one reconcile.
const batchSize = 400

func (w *run) fileAll(ctx context.Context, gen hippo.Generation, page []hippo.Entry) error {
	for ids := range batches(page, batchSize) {
		if err := w.reconciler.ReconcileInto(ctx, w.message.Tenant, gen, ids); err != nil {
			return err
		}
	}
	return nil
}

// batches parts the ids of entries into runs of at most size.
func batches(entries []hippo.Entry, size int) func(func([]hippo.MemoryID) bool) {
	return func(yield func([]hippo.MemoryID) bool) {
		var ids []hippo.MemoryID
		for i, e := range entries {
			ids = append(ids, e.ID)
			if len(ids) == size || i == len(entries)-1 {
				if !yield(ids) {
					return
				}
				ids = nil
			}
		}
	}
}

// promote points meta at gen, unless another builder has, and deletes the
// generations that meta does not name.
func (w *run) promote(ctx context.Context, gen hippo.Generation) (again bool, err error) {
	meta, err := w.store.Meta(ctx, w.message.Tenant)
	if err != nil {
		return false, err
	}
	if meta.Current != gen {
		if meta.Next != gen {
			return w.lost(ctx)
		}
		_, err := w.store.PromoteGeneration(ctx, w.message.Tenant, meta)
		if hippo.IsKind(err, hippo.Conflict) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	if _, err := w.store.SweepIndex(ctx, w.message.Tenant); err != nil {
		return false, err
	}
	w.report.Rebuilt = true
	return false, w.finish(ctx)
}
