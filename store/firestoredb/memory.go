package firestoredb

import (
	"context"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// Memory reads the whole document.
func (s *Store) Memory(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) (hippo.Memory, error) {
	name, err := s.name(s.layout.Paths.Memory, string(tenant), string(id))
	if err != nil {
		return hippo.Memory{}, err
	}
	d, err := s.getOne(ctx, "Memory", name)
	if err != nil {
		return hippo.Memory{}, err
	}
	if d == nil {
		return hippo.Memory{}, hippo.Errorf(hippo.NotFound, "", "no such memory")
	}
	called, _ := s.layout.Naming.Name(id)
	return schema.ParseMemory(s.layout.Fields, id, decode(d.Fields), updated(d), called), nil
}

// MemoryTimes reads updated_at alone.
func (s *Store) MemoryTimes(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) (map[hippo.MemoryID]hippo.Micros, error) {
	names, err := s.memories(tenant, ids)
	if err != nil {
		return nil, err
	}
	found, err := s.get(ctx, "MemoryTimes", names, []string{s.layout.Fields.MemoryUpdatedAt})
	if err != nil {
		return nil, err
	}
	return s.memoryTimes(found), nil
}

// memoryTimes tells of memories that were read when they last changed.
func (s *Store) memoryTimes(found got) map[hippo.MemoryID]hippo.Micros {
	times := make(map[hippo.MemoryID]hippo.Micros, len(found.documents))
	for name, d := range found.documents {
		times[hippo.MemoryID(lastID(name))] = s.memoryTime(d)
	}
	return times
}

func (s *Store) memoryTime(d *pb.Document) hippo.Micros {
	if at, ok := d.Fields[s.layout.Fields.MemoryUpdatedAt].GetValueType().(*pb.Value_TimestampValue); ok {
		return hippo.MicrosOf(at.TimestampValue.AsTime())
	}
	return hippo.MicrosOf(updated(d))
}

func updated(d *pb.Document) time.Time { return d.GetUpdateTime().AsTime() }

// SaveMemory merges, so that other writers' fields stay.
func (s *Store) SaveMemory(ctx context.Context, tenant hippo.TenantID, m hippo.Memory) error {
	name, err := s.name(s.layout.Paths.Memory, string(tenant), string(m.ID))
	if err != nil {
		return err
	}
	w, err := s.memoryWrite(name, m)
	if err != nil {
		return err
	}
	_, err = s.commit(ctx, "SaveMemory", w)
	return err
}

func (s *Store) memoryWrite(name string, m hippo.Memory) (*pb.Write, error) {
	f := schema.MemoryFields(s.layout.Fields, m)
	if m.UpdatedAt != 0 {
		f[s.layout.Fields.MemoryUpdatedAt] = m.UpdatedAt.Time()
		return merge(name, f)
	}
	w, err := merge(name, f)
	return stamped(w, s.layout.Fields.MemoryUpdatedAt), err
}

// DeleteMemory deletes without asking whether there is anything to delete.
func (s *Store) DeleteMemory(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) error {
	name, err := s.name(s.layout.Paths.Memory, string(tenant), string(id))
	if err != nil {
		return err
	}
	_, err = s.commit(ctx, "DeleteMemory", remove(name))
	return err
}

// CountMemories is an aggregation.
func (s *Store) CountMemories(ctx context.Context, tenant hippo.TenantID) (int, error) {
	in, err := s.collection(s.layout.Paths.Memory, string(tenant))
	if err != nil {
		return 0, err
	}
	return s.count(ctx, "CountMemories", in)
}

// ScanEntries moves updated_at alone. It orders by name, which every document
// has, and by no field, which would leave out documents that lack it.
func (s *Store) ScanEntries(ctx context.Context, tenant hippo.TenantID, after hippo.MemoryID, limit int) ([]hippo.Entry, error) {
	in, err := s.collection(s.layout.Paths.Memory, string(tenant))
	if err != nil {
		return nil, err
	}
	q := in.query().pick(s.layout.Fields.MemoryUpdatedAt).by(ascending)
	if limit > 0 {
		q = q.first(limit)
	}
	if after != "" {
		q = q.from([]*pb.Value{reference(in.document(string(after)))}, true)
	}
	entries, _, err := run(ctx, s, "ScanEntries", q, func(d *pb.Document) (hippo.Entry, int64, bool) {
		return hippo.Entry{ID: hippo.MemoryID(lastID(d.Name)), UpdatedAt: s.memoryTime(d)}, size(d), true
	})
	return entries, err
}

// Moves reads the named documents.
func (s *Store) Moves(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) (map[hippo.MemoryID]hippo.MemoryID, error) {
	names, err := names(s, s.layout.Paths.Move, ids, string(tenant))
	if err != nil {
		return nil, err
	}
	found, err := s.get(ctx, "Moves", names, nil)
	if err != nil {
		return nil, err
	}
	moves := make(map[hippo.MemoryID]hippo.MemoryID, len(found.documents))
	for name, d := range found.documents {
		if into, ok := schema.ParseMove(decode(d.Fields)); ok {
			moves[hippo.MemoryID(lastID(name))] = into
		}
	}
	return moves, nil
}
