package firestoredb

import (
	"context"
	"errors"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// WriteEntries locks the memories it reads and writes the shards blind: who
// commits second on one memory has read it at or after the first one's state,
// and no two that touch one shard wait for each other's reading of it.
func (s *Store) WriteEntries(ctx context.Context, tenant hippo.TenantID, targets []hippo.ShardTarget) error {
	const method = "WriteEntries"
	targets, ids, err := merged(targets)
	if err != nil || len(ids) == 0 {
		return err
	}
	names, err := s.memories(tenant, ids)
	if err != nil {
		return err
	}
	_, err = s.transact(ctx, method, func(t *tx) ([]*pb.Write, error) {
		found, err := t.get(names, []string{s.layout.Fields.MemoryUpdatedAt})
		if err != nil {
			return nil, err
		}
		return s.entryWrites(tenant, targets, s.memoryTimes(found))
	})
	return missingShard(err)
}

// RemoveEntries reads nothing.
func (s *Store) RemoveEntries(ctx context.Context, tenant hippo.TenantID, target hippo.ShardTarget) error {
	targets, ids, err := merged([]hippo.ShardTarget{target})
	if err != nil || len(ids) == 0 {
		return err
	}
	writes, err := s.entryWrites(tenant, targets, nil)
	if err != nil {
		return err
	}
	_, err = s.commit(ctx, "RemoveEntries", writes...)
	return missingShard(err)
}

// merged names each shard once and each of its memories once, and lists the
// memories of all. An id that cannot be a key is refused, because the whole
// commit would be, in words that do not tell it from a shard that is too large.
func merged(targets []hippo.ShardTarget) ([]hippo.ShardTarget, []hippo.MemoryID, error) {
	var all []hippo.MemoryID
	byShard := make(map[hippo.ShardID][]hippo.MemoryID)
	for _, t := range targets {
		all = append(all, t.IDs...)
		byShard[t.Shard] = append(byShard[t.Shard], t.IDs...)
	}
	all = once(all)
	for _, id := range all {
		if _, err := hippo.NewMemoryID(string(id)); err != nil {
			return nil, nil, hippo.InField(err, "memory")
		}
		if len(id) > hippo.MaxEntryKeyBytes {
			return nil, nil, hippo.Errorf(hippo.Invalid, "memory", "is %d bytes long; the limit of the index is %d", len(id), hippo.MaxEntryKeyBytes)
		}
	}
	shards := make([]hippo.ShardTarget, 0, len(byShard))
	for shard, ids := range byShard {
		if len(ids) > 0 {
			shards = append(shards, hippo.ShardTarget{Shard: shard, IDs: once(ids)})
		}
	}
	return shards, all, nil
}

// once sorts ids and leaves each in once.
func once(ids []hippo.MemoryID) []hippo.MemoryID {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// entryWrites make each target's entries equal to times, and delete those that
// times lacks.
func (s *Store) entryWrites(tenant hippo.TenantID, targets []hippo.ShardTarget, times map[hippo.MemoryID]hippo.Micros) ([]*pb.Write, error) {
	writes := make([]*pb.Write, len(targets))
	for i, t := range targets {
		name, err := s.name(s.layout.Paths.Index, string(tenant), t.Shard.String())
		if err != nil {
			return nil, err
		}
		writes[i] = entryWrite(name, t.IDs, times)
	}
	return writes, nil
}

func entryWrite(shard string, ids []hippo.MemoryID, times map[hippo.MemoryID]hippo.Micros) *pb.Write {
	entries := make(map[string]*pb.Value, len(ids))
	paths := make([]string, len(ids))
	for i, id := range ids {
		paths[i] = fieldPath(schema.Entries, string(id))
		if at, ok := times[id]; ok {
			entries[string(id)] = integer(int64(at))
		}
	}
	return ifExists(&pb.Write{
		Operation: &pb.Write_Update{Update: &pb.Document{
			Name:   shard,
			Fields: map[string]*pb.Value{schema.Entries: mapOf(entries)},
		}},
		UpdateMask: &pb.DocumentMask{FieldPaths: paths},
		UpdateTransforms: []*pb.DocumentTransform_FieldTransform{{
			FieldPath:     fieldPath(schema.Rev),
			TransformType: &pb.DocumentTransform_FieldTransform_Increment{Increment: integer(1)},
		}},
	}, true)
}

// missingShard says of a document that was not found that it was a shard.
func missingShard(err error) error {
	if !hippo.IsKind(err, hippo.NotFound) {
		return err
	}
	return hippo.Wrap(hippo.NotFound, errors.Join(hippo.ErrShardMissing, err), "write the index")
}

// AnnounceGeneration writes meta and the new shards in one commit.
func (s *Store) AnnounceGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta, next hippo.Generation) (hippo.Meta, error) {
	if next.IsZero() || next.Shards < 1 {
		return hippo.Meta{}, hippo.Errorf(hippo.Invalid, "", "a generation needs an id and shards")
	}
	meta := hippo.Meta{Current: read.Current, Next: next, BuiltAt: read.BuiltAt}
	w, err := s.metaWrite(tenant, read, meta)
	if err != nil {
		return hippo.Meta{}, err
	}
	writes := []*pb.Write{w}
	for _, id := range next.ShardIDs() {
		name, err := s.name(s.layout.Paths.Index, string(tenant), id.String())
		if err != nil {
			return hippo.Meta{}, err
		}
		w, err := set(name, schema.EmptyShard(id))
		if err != nil {
			return hippo.Meta{}, err
		}
		writes = append(writes, ifExists(w, false))
	}
	resp, err := s.commit(ctx, "AnnounceGeneration", writes...)
	return written(meta, resp), changedMeta(err)
}

// PromoteGeneration writes meta alone.
func (s *Store) PromoteGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta) (hippo.Meta, error) {
	if read.Next.IsZero() {
		return hippo.Meta{}, hippo.Errorf(hippo.Invalid, "", "no generation is being filled")
	}
	meta := hippo.Meta{Current: read.Next}
	w, err := s.metaWrite(tenant, read, meta)
	if err != nil {
		return hippo.Meta{}, err
	}
	resp, err := s.commit(ctx, "PromoteGeneration", stamped(w, schema.BuiltAt))
	if err == nil {
		meta.BuiltAt = stampOf(resp.WriteResults[0])
	}
	return written(meta, resp), changedMeta(err)
}

// metaWrite writes meta if it is still as it was read.
func (s *Store) metaWrite(tenant hippo.TenantID, read, meta hippo.Meta) (*pb.Write, error) {
	name, err := s.meta(tenant)
	if err != nil {
		return nil, err
	}
	w, err := set(name, schema.MetaFields(meta))
	if err != nil {
		return nil, err
	}
	if read.Exists() {
		return ifUnchanged(w, read.Stamp), nil
	}
	return ifExists(w, false), nil
}

// written is meta as the commit whose first write it was has left it; the zero
// value where the commit failed.
func written(meta hippo.Meta, resp *pb.CommitResponse) hippo.Meta {
	if resp == nil {
		return hippo.Meta{}
	}
	meta.Stamp = resp.WriteResults[0].GetUpdateTime().AsTime()
	return meta
}

func changedMeta(err error) error {
	if hippo.IsKind(err, hippo.NotFound) {
		return hippo.Wrap(hippo.Conflict, err, "write meta")
	}
	return err
}
