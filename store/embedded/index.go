package embedded

import (
	"context"
	"slices"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// Meta implements hippo.IndexStore.
func (s *Store) Meta(ctx context.Context, tenant hippo.TenantID) (m hippo.Meta, err error) {
	err = s.view(ctx, "Meta", func(r *reader) error {
		if d := r.get(s.indexPath(tenant, schema.MetaID)); d != nil {
			m = schema.ParseMeta(d.fields, d.updated)
		}
		return nil
	})
	return m, err
}

// ReadIndex implements hippo.IndexStore.
func (s *Store) ReadIndex(ctx context.Context, tenant hippo.TenantID) (index hippo.IndexRead, err error) {
	err = s.view(ctx, "ReadIndex", func(r *reader) error {
		c := s.collection(s.layout.Paths.Index, string(tenant))
		ids := make([]string, 0, len(c.docs))
		for x := range c.byID.from(item{}) {
			ids = append(ids, x.id)
		}
		r.readIndex(&index, c, ids)
		return nil
	})
	return index, err
}

// ReadIndexSince implements hippo.IndexStore.
func (s *Store) ReadIndexSince(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, seen []int64) (index hippo.IndexRead, err error) {
	err = s.view(ctx, "ReadIndexSince", func(r *reader) error {
		c := s.collection(s.layout.Paths.Index, string(tenant))
		shards := gen.ShardIDs()
		for first := 0; first < len(shards); first += hippo.ShardsPerQuery {
			ids := []string{schema.MetaID}
			for _, shard := range shards[first:min(first+hippo.ShardsPerQuery, len(shards))] {
				if d := c.docs[shard.String()]; d != nil && changed(d, shard, seen) {
					ids = append(ids, shard.String())
				}
			}
			r.readIndex(&index, c, ids)
		}
		return nil
	})
	return index, err
}

// changed says whether a shard's Rev is greater than the one seen, which is none
// where seen does not say.
func changed(d *document, shard hippo.ShardID, seen []int64) bool {
	rev, ok := d.fields[schema.Rev].(int64)
	return ok && (shard.N >= len(seen) || rev > seen[shard.N])
}

// readIndex reads documents of an index as one query returns them.
func (r *reader) readIndex(index *hippo.IndexRead, c *collection, ids []string) {
	documents, bytes := 0, int64(0)
	for _, id := range ids {
		d := c.docs[id]
		if d == nil {
			continue
		}
		documents, bytes = documents+1, bytes+d.size
		if id == schema.MetaID {
			index.Meta = schema.ParseMeta(d.fields, d.updated)
		} else if shard, ok := schema.ParseShard(id, d.fields); ok {
			index.Shards = append(index.Shards, shard)
		}
	}
	if documents > 0 {
		index.At = r.now()
	}
	r.returned(documents, bytes)
}

// WriteEntries implements hippo.IndexStore.
func (s *Store) WriteEntries(ctx context.Context, tenant hippo.TenantID, targets []hippo.ShardTarget) error {
	byShard := make(map[hippo.ShardID][]hippo.MemoryID)
	for _, t := range targets {
		byShard[t.Shard] = append(byShard[t.Shard], t.IDs...)
	}
	return s.transact(ctx, "WriteEntries", func(t *tx) error {
		var all []hippo.MemoryID
		for _, ids := range byShard {
			all = append(all, ids...)
		}
		times := t.times(tenant, unique(all))
		for shard, ids := range byShard {
			var changes []change
			for _, id := range unique(ids) {
				changes = append(changes, entryChange(id, times))
			}
			if err := t.updateShard(tenant, shard, changes); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveEntries implements hippo.IndexStore.
func (s *Store) RemoveEntries(ctx context.Context, tenant hippo.TenantID, target hippo.ShardTarget) error {
	return s.transact(ctx, "RemoveEntries", func(t *tx) error {
		var changes []change
		for _, id := range unique(target.IDs) {
			changes = append(changes, entryChange(id, nil))
		}
		return t.updateShard(tenant, target.Shard, changes)
	})
}

// entryChange makes an entry equal to its memory, which is not there where times
// does not know it.
func entryChange(id hippo.MemoryID, times map[hippo.MemoryID]hippo.Micros) change {
	c := change{Path: []string{schema.Entries, string(id)}, Do: remove}
	if at, ok := times[id]; ok {
		c.Do, c.Value = set, typed{int64(at)}
	}
	return c
}

func (t *tx) updateShard(tenant hippo.TenantID, shard hippo.ShardID, changes []change) error {
	path := t.store.indexPath(tenant, shard.String())
	if t.store.document(path) == nil {
		return hippo.Wrap(hippo.NotFound, hippo.ErrShardMissing, shard.String())
	}
	t.update(path, append(changes, change{Path: []string{schema.Rev}, Do: add, Value: typed{int64(1)}}))
	return nil
}

func unique(ids []hippo.MemoryID) []hippo.MemoryID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
