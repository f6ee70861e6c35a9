package repair

import (
	"context"
	"errors"
	"slices"

	"github.com/hippofire/hippofire/hippo"
)

// repair compares the index with the store, page by page, and mends what
// differs. index was read before the first page is, and is brought up to date
// before each further one. It is true where the index stopped being whole, so
// that somebody has to look again.
func (w *run) repair(ctx context.Context, index hippo.IndexRead) (again bool, err error) {
	after := hippo.MemoryID(w.message.After)
	if w.message.Gen != "" { // the cursor of a generation that has been filled since
		after, w.report.Memories = "", 0
	}
	for {
		page, in, err := w.scanPage(ctx, w.message.Tenant, after)
		if err != nil {
			return false, err
		}
		err = w.mend(ctx, index, page, in)
		if errors.Is(err, hippo.ErrShardMissing) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		w.report.Memories += len(page)
		w.options.Progress(w.report.Memories)
		if in.UpTo == "" {
			break
		}
		after = in.UpTo
		if w.outOfTime() {
			return false, w.later(ctx, "", after)
		}
		if index, err = w.refresh(ctx, index); err != nil {
			return false, err
		}
		if current := index.Meta.Current; current.Version != hippo.IndexVersion || missesShard(current, index) {
			return true, nil
		}
	}
	if err := w.sweep(ctx, index); err != nil {
		return false, err
	}
	return false, w.finish(ctx)
}

// scanPage scans a page of memories and says what range of ids it covers. The last
// one reaches to infinity.
func (r *Repairer) scanPage(ctx context.Context, tenant hippo.TenantID, after hippo.MemoryID) ([]hippo.Entry, hippo.Range, error) {
	page, err := r.store.ScanEntries(ctx, tenant, after, r.options.PageSize)
	in := hippo.Range{After: after}
	if len(page) == r.options.PageSize {
		in.UpTo = page[len(page)-1].ID
	}
	return page, in, err
}

// refresh brings an index up to date. While one generation is all there is, only
// the shards that changed are read.
func (w *run) refresh(ctx context.Context, index hippo.IndexRead) (hippo.IndexRead, error) {
	meta := index.Meta
	if !meta.Next.IsZero() {
		return w.store.ReadIndex(ctx, w.message.Tenant)
	}
	shards := index.Of(meta.Current)
	seen := make([]int64, len(shards))
	for n, s := range shards {
		seen[n] = s.Rev
	}
	since, err := w.store.ReadIndexSince(ctx, w.message.Tenant, meta.Current, seen)
	if hippo.IsKind(err, hippo.Conflict) || err == nil && since.Meta != meta {
		return w.store.ReadIndex(ctx, w.message.Tenant)
	}
	if err != nil {
		return hippo.IndexRead{}, err
	}
	fresh := index
	fresh.Shards, fresh.At = slices.Clone(index.Shards), since.At
	for i, s := range fresh.Shards {
		for _, changed := range since.Shards {
			if changed.ID == s.ID {
				fresh.Shards[i] = changed
			}
		}
	}
	return fresh, nil
}

// mend reconciles the ids that differ in any generation that meta names, and
// removes entries from shards that are not theirs.
func (w *run) mend(ctx context.Context, index hippo.IndexRead, page []hippo.Entry, in hippo.Range) error {
	var differ []hippo.MemoryID
	for i, gen := range index.Meta.Named() {
		for _, f := range hippo.Diff(w.naming, gen, index, page, in) {
			if i == 0 {
				w.report.Findings[f.Type]++
			}
			if f.Type == hippo.Unindexable {
				continue
			}
			differ = append(differ, f.ID)
			if f.Remove {
				if err := w.remove(ctx, f); err != nil {
					return err
				}
			}
		}
	}
	slices.Sort(differ)
	differ = slices.Compact(differ)
	for ids := range slices.Chunk(differ, batchSize) {
		if err := w.reconciler.Reconcile(ctx, w.message.Tenant, ids); err != nil {
			return err
		}
	}
	return nil
}

func (w *run) remove(ctx context.Context, f hippo.Finding) error {
	shard, ok := hippo.ParseShardID(f.Shard)
	if !ok {
		return nil
	}
	return w.store.RemoveEntries(ctx, w.message.Tenant, hippo.ShardTarget{Shard: shard, IDs: []hippo.MemoryID{f.ID}})
}
