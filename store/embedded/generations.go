package embedded

import (
	"context"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// AnnounceGeneration implements hippo.IndexStore.
func (s *Store) AnnounceGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta, next hippo.Generation) (hippo.Meta, error) {
	if next.IsZero() || next.Shards < 1 {
		return hippo.Meta{}, hippo.Errorf(hippo.Invalid, "", "a generation needs an id and shards")
	}
	var written hippo.Meta
	err := s.transact(ctx, "AnnounceGeneration", func(t *tx) error {
		var err error
		if written, err = t.replaceMeta(tenant, read, hippo.Meta{Current: read.Current, Next: next, BuiltAt: read.BuiltAt}); err != nil {
			return err
		}
		for _, shard := range next.ShardIDs() {
			path := s.indexPath(tenant, shard.String())
			if s.document(path) != nil {
				return hippo.Errorf(hippo.Conflict, "", "the shard %s exists already", shard)
			}
			t.set(path, schema.EmptyShard(shard))
		}
		return nil
	})
	return settled(written, err)
}

// PromoteGeneration implements hippo.IndexStore.
func (s *Store) PromoteGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta) (hippo.Meta, error) {
	if read.Next.IsZero() {
		return hippo.Meta{}, hippo.Errorf(hippo.Invalid, "", "no generation is being filled")
	}
	var written hippo.Meta
	err := s.transact(ctx, "PromoteGeneration", func(t *tx) error {
		var err error
		written, err = t.replaceMeta(tenant, read, hippo.Meta{Current: read.Next, BuiltAt: hippo.MicrosOf(t.now())})
		return err
	})
	return settled(written, err)
}

// replaceMeta writes meta where it still is as it was read, and gives it the
// stamp that it will have.
func (t *tx) replaceMeta(tenant hippo.TenantID, read, next hippo.Meta) (hippo.Meta, error) {
	path := t.store.indexPath(tenant, schema.MetaID)
	var stamp time.Time
	if d := t.store.document(path); d != nil {
		stamp = d.updated
	}
	if !stamp.Equal(read.Stamp) {
		return hippo.Meta{}, hippo.Errorf(hippo.Conflict, "", "the index was changed since its meta was read")
	}
	t.set(path, schema.MetaFields(next))
	next.Stamp = t.now()
	return next, nil
}

// settled is a result that a failed commit did not bring about.
func settled(m hippo.Meta, err error) (hippo.Meta, error) {
	if err != nil {
		return hippo.Meta{}, err
	}
	return m, nil
}

// SweepIndex implements hippo.IndexStore.
func (s *Store) SweepIndex(ctx context.Context, tenant hippo.TenantID) (int, error) {
	var swept []string
	err := s.transact(ctx, "SweepIndex", func(t *tx) error {
		swept = t.unnamed(s.collection(s.layout.Paths.Index, string(tenant)))
		for _, id := range swept {
			t.delete(s.indexPath(tenant, id))
		}
		return nil
	})
	return len(swept), err
}

// unnamed lists the shards that meta does not name, in the order of their ids.
func (r *reader) unnamed(c *collection) []string {
	var meta hippo.Meta
	if d := c.docs[schema.MetaID]; d != nil {
		meta = schema.ParseMeta(d.fields, d.updated)
	}
	var ids []string
	var bytes int64
	for x := range c.byID.from(item{}) {
		d := c.docs[x.id]
		bytes += d.size - sizeOf(d, schema.Entries)
		if shard, ok := hippo.ParseShardID(x.id); ok && !meta.Names(shard) {
			ids = append(ids, x.id)
		}
	}
	r.returned(len(c.docs), bytes)
	return ids
}
