package repair

import (
	"context"
	"errors"

	"github.com/hippofire/hippofire/hippo"
)

// maxBuilds bounds how often one message begins a generation anew, because the
// one it was filling lost a shard.
const maxBuilds = 3

// typicalEntryBytes is what an entry is taken to need before any has been seen: an
// id of 91 bytes, the base64url form of a name of 68.
const typicalEntryBytes = 100

// build fills a generation, points meta at it, and deletes what is left over. It
// carries on the one that meta names as next where that is whole, and begins one
// where there is none, a shard of it is missing, or one was too small.
func (w *run) build(ctx context.Context, index hippo.IndexRead) error {
	atLeast := 0
	for range maxBuilds {
		meta := index.Meta
		if meta.Next.IsZero() || missesShard(meta.Next, index) || meta.Next.Shards < atLeast || meta.Next.Version < hippo.IndexVersion {
			var err error
			meta, err = w.begin(ctx, index, atLeast)
			if hippo.IsKind(err, hippo.Conflict) {
				return nil // another builder was first; it does what this one would
			}
			if err != nil {
				return err
			}
		}
		done, err := w.fill(ctx, meta.Next)
		switch {
		case errors.Is(err, hippo.ErrShardFull):
			atLeast = 2 * meta.Next.Shards
		case errors.Is(err, hippo.ErrShardMissing):
		case err != nil || !done:
			return err
		default:
			return w.promote(ctx, meta.Next)
		}
		if index, err = w.store.ReadIndex(ctx, w.message.Tenant); err != nil {
			return err
		}
	}
	return hippo.Errorf(hippo.Unavailable, "", "the index of %s was begun %d times and is still not built", w.message.Tenant, maxBuilds)
}

func missesShard(gen hippo.Generation, index hippo.IndexRead) bool {
	for _, s := range index.Of(gen) {
		if s == nil {
			return true
		}
	}
	return false
}

// begin names a fresh generation as next, with room for what is there.
func (w *run) begin(ctx context.Context, index hippo.IndexRead, atLeast int) (hippo.Meta, error) {
	count, err := w.store.CountMemories(ctx, w.message.Tenant)
	if err != nil {
		return hippo.Meta{}, err
	}
	bytes := int64(count) * typicalEntryBytes
	for _, g := range index.Meta.Named() {
		var seen int64
		for _, s := range index.Of(g) {
			if s != nil {
				seen += s.Bytes()
			}
		}
		bytes = max(bytes, seen)
	}
	next := hippo.Generation{ID: hippo.NewGenerationID(), Shards: max(atLeast, hippo.ShardsFor(count, bytes)), Version: hippo.IndexVersion}
	w.log.InfoContext(ctx, "index build begins", "tenant", w.message.Tenant, "cause", w.message.Cause, "gen", next.ID, "shards", next.Shards, "memories", count)
	return w.store.AnnounceGeneration(ctx, w.message.Tenant, index.Meta, next)
}

// fill files every memory in gen, page by page; false where the rest was left to
// another message or another builder took over.
func (w *run) fill(ctx context.Context, gen hippo.Generation) (bool, error) {
	var after hippo.MemoryID
	if w.message.Gen == gen.ID {
		after = hippo.MemoryID(w.message.After)
	} else {
		w.report.Memories = 0
	}
	for {
		meta, err := w.store.Meta(ctx, w.message.Tenant)
		if err != nil || meta.Next != gen {
			return false, err
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

// promote points meta at gen, unless another builder did or has taken over, and
// deletes the generations that meta does not name.
func (w *run) promote(ctx context.Context, gen hippo.Generation) error {
	meta, err := w.store.Meta(ctx, w.message.Tenant)
	if err != nil {
		return err
	}
	if meta.Next == gen {
		if _, err := w.store.PromoteGeneration(ctx, w.message.Tenant, meta); err != nil && !hippo.IsKind(err, hippo.Conflict) {
			return err
		}
	}
	if _, err := w.store.SweepIndex(ctx, w.message.Tenant); err != nil {
		return err
	}
	w.report.Rebuilt = true
	return w.finish(ctx)
}
