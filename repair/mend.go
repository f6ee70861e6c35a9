package repair

import (
	"context"
	"slices"

	"github.com/hippofire/hippofire/hippo"
)

// repair compares the index with the store, page by page, and mends what
// differs. index was read before the first page is.
func (w *run) repair(ctx context.Context, index hippo.IndexRead) error {
	tenant := w.message.Tenant
	after := hippo.MemoryID(w.message.After)
	for {
		page, in, err := w.scanPage(ctx, tenant, after)
		if err != nil {
			return err
		}
		if err := w.mend(ctx, index, page, in); err != nil {
			return err
		}
		w.report.Memories += len(page)
		w.options.Progress(w.report.Memories)
		if in.UpTo == "" {
			break
		}
		after = in.UpTo
		if w.outOfTime() {
			return w.later(ctx, "", after)
		}
		if index, err = w.store.ReadIndex(ctx, tenant); err != nil {
			return err
		}
	}
	if unnamed(index) {
		if _, err := w.store.SweepIndex(ctx, tenant); err != nil {
			return err
		}
	}
	return w.finish(ctx)
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
			if f.WrongShard {
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

// unnamed says whether shards of generations that meta does not name were read.
func unnamed(index hippo.IndexRead) bool {
	named := index.Meta.Named()
	return slices.ContainsFunc(index.Shards, func(s hippo.Shard) bool {
		return !slices.ContainsFunc(named, func(g hippo.Generation) bool { return g.ID == s.ID.Gen && s.ID.N < g.Shards })
	})
}
