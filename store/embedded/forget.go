package embedded

import (
	"context"
	"slices"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// DeleteThread implements hippo.ForgetStore.
func (s *Store) DeleteThread(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, limit int) (int, error) {
	p := s.layout.Paths
	return s.deleteIn(ctx, "DeleteThread", limit, []string{p.Message, p.Episode, p.Pass}, string(tenant), string(thread))
}

// DeleteTenant implements hippo.ForgetStore.
func (s *Store) DeleteTenant(ctx context.Context, tenant hippo.TenantID, limit int) (int, error) {
	p := s.layout.Paths
	return s.deleteIn(ctx, "DeleteTenant", limit, []string{p.Memory, p.Move, p.Index, p.Report}, string(tenant))
}

func (s *Store) deleteIn(ctx context.Context, method string, limit int, templates []string, ids ...string) (deleted int, err error) {
	err = s.transact(ctx, method, func(t *tx) error {
		deleted = 0
		for _, template := range templates {
			before := deleted
			path, _ := splitPath(hippo.Fill(template, ids...))
			var bytes int64
			for x := range s.collection(template, ids...).byID.from(item{}) {
				if deleted == limit {
					break
				}
				t.delete(path + "/" + x.id)
				bytes += schema.Size(path+"/"+x.id, nil)
				deleted++
			}
			t.returned(deleted-before, bytes)
		}
		return nil
	})
	return deleted, err
}

// DeleteMoves implements hippo.ForgetStore.
func (s *Store) DeleteMoves(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) (moved []hippo.MemoryID, err error) {
	err = s.transact(ctx, "DeleteMoves", func(t *tx) error {
		moved = nil
		t.delete(s.movePath(tenant, id))
		var bytes int64
		for from, d := range s.collection(s.layout.Paths.Move, string(tenant)).docs {
			if into, ok := schema.ParseMove(d.fields); ok && into == id {
				path := s.movePath(tenant, hippo.MemoryID(from))
				t.delete(path)
				moved = append(moved, hippo.MemoryID(from))
				bytes += schema.Size(path, nil)
			}
		}
		slices.Sort(moved)
		t.returned(len(moved), bytes)
		return nil
	})
	return moved, err
}

// RemovePointer implements hippo.ForgetStore.
func (s *Store) RemovePointer(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, to hippo.Position, id hippo.MemoryID) error {
	path := hippo.Fill(s.layout.Paths.Episode, string(tenant), string(thread), to.String())
	return s.transact(ctx, "RemovePointer", func(t *tx) error {
		d := t.get(path)
		if d == nil {
			return nil
		}
		if left, changed := schema.WithoutPointer(d.fields, id); changed {
			t.merge(path, left)
		}
		return nil
	})
}
