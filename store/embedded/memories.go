package embedded

import (
	"context"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// Memory implements hippo.MemoryStore.
func (s *Store) Memory(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) (m hippo.Memory, err error) {
	err = s.view(ctx, "Memory", func(r *reader) error {
		d := r.get(s.memoryPath(tenant, id))
		if d == nil {
			return hippo.Errorf(hippo.NotFound, "", "no memory has the id %.80q", id)
		}
		name, _ := s.layout.Naming.Name(id)
		m = schema.ParseMemory(s.layout.Fields, id, d.fields, d.updated, name)
		return nil
	})
	return m, err
}

// MemoryTimes implements hippo.MemoryStore.
func (s *Store) MemoryTimes(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) (found map[hippo.MemoryID]hippo.Micros, err error) {
	err = s.view(ctx, "MemoryTimes", func(r *reader) error {
		found = r.times(tenant, ids)
		return nil
	})
	return found, err
}

// SaveMemory implements hippo.MemoryStore.
func (s *Store) SaveMemory(ctx context.Context, tenant hippo.TenantID, m hippo.Memory) error {
	return s.transact(ctx, "SaveMemory", func(t *tx) error {
		t.saveMemory(tenant, m)
		return nil
	})
}

// saveMemory writes a memory's own fields and keeps the others.
func (t *tx) saveMemory(tenant hippo.TenantID, m hippo.Memory) {
	at := m.UpdatedAt.Time()
	if m.UpdatedAt == 0 {
		at = t.now()
	}
	fields := schema.MemoryFields(t.store.layout.Fields, m)
	fields[t.store.layout.Fields.MemoryUpdatedAt] = at
	t.merge(t.store.memoryPath(tenant, m.ID), fields)
}

// DeleteMemory implements hippo.MemoryStore.
func (s *Store) DeleteMemory(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) error {
	return s.transact(ctx, "DeleteMemory", func(t *tx) error {
		t.delete(s.memoryPath(tenant, id))
		return nil
	})
}

// CountMemories implements hippo.MemoryStore.
func (s *Store) CountMemories(ctx context.Context, tenant hippo.TenantID) (int, error) {
	return s.count(ctx, "CountMemories", s.layout.Paths.Memory, string(tenant))
}

// ScanEntries implements hippo.MemoryStore.
func (s *Store) ScanEntries(ctx context.Context, tenant hippo.TenantID, after hippo.MemoryID, limit int) (entries []hippo.Entry, err error) {
	err = s.view(ctx, "ScanEntries", func(r *reader) error {
		c := s.collection(s.layout.Paths.Memory, string(tenant))
		if limit == 0 {
			limit = len(c.docs)
		}
		entries = make([]hippo.Entry, 0, min(limit, len(c.docs)))
		withoutID := schema.Size(s.memoryPath(tenant, ""), nil)
		var bytes int64
		for x := range c.byID.from(item{id: string(after)}.behind()) {
			if len(entries) == limit {
				break
			}
			d := c.docs[x.id]
			entries = append(entries, hippo.Entry{ID: hippo.MemoryID(x.id), UpdatedAt: schema.MemoryTime(s.layout.Fields, d.fields, d.updated)})
			bytes += withoutID + int64(len(x.id)) + sizeOf(d, s.layout.Fields.MemoryUpdatedAt)
		}
		r.returned(len(entries), bytes)
		return nil
	})
	return entries, err
}

// Moves implements hippo.MemoryStore.
func (s *Store) Moves(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) (moved map[hippo.MemoryID]hippo.MemoryID, err error) {
	err = s.view(ctx, "Moves", func(r *reader) error {
		moved = make(map[hippo.MemoryID]hippo.MemoryID)
		for _, id := range ids {
			if d := r.get(s.movePath(tenant, id)); d != nil {
				if into, ok := schema.ParseMove(d.fields); ok {
					moved[id] = into
				}
			}
		}
		return nil
	})
	return moved, err
}
