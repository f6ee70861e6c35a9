package firestoredb

import (
	"context"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// deletedAtOnce is how many documents one commit deletes. It stays far below the
// 10 MiB of a request.
const deletedAtOnce = 300

// DeleteThread lists names and deletes them.
func (s *Store) DeleteThread(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, limit int) (int, error) {
	p := s.layout.Paths
	return s.deleteIn(ctx, "DeleteThread", limit, []string{p.Message, p.Episode, p.Pass}, string(tenant), string(thread))
}

// DeleteTenant is as DeleteThread.
func (s *Store) DeleteTenant(ctx context.Context, tenant hippo.TenantID, limit int) (int, error) {
	p := s.layout.Paths
	return s.deleteIn(ctx, "DeleteTenant", limit, []string{p.Memory, p.Move, p.Index, p.Report}, string(tenant))
}

func (s *Store) deleteIn(ctx context.Context, method string, limit int, templates []string, ids ...string) (int, error) {
	deleted := 0
	for _, template := range templates {
		in, err := s.collection(template, ids...)
		if err != nil {
			return deleted, err
		}
		names, _, err := run(ctx, s, method, in.query().pick(nameField).by(ascending).first(limit-deleted), nameOf)
		if err != nil {
			return deleted, err
		}
		for chunk := range slices.Chunk(names, deletedAtOnce) {
			if err := s.removeAll(ctx, method, chunk); err != nil {
				return deleted, err
			}
			deleted += len(chunk)
		}
	}
	return deleted, nil
}

func nameOf(d *pb.Document) (string, int64, bool) { return d.Name, size(d), true }

func (s *Store) removeAll(ctx context.Context, method string, names []string) error {
	writes := make([]*pb.Write, len(names))
	for i, name := range names {
		writes[i] = remove(name)
	}
	_, err := s.commit(ctx, method, writes...)
	return err
}

// DeleteMoves asks for the moves into the memory by the index of that field.
func (s *Store) DeleteMoves(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) ([]hippo.MemoryID, error) {
	away, err := s.name(s.layout.Paths.Move, string(tenant), string(id))
	if err != nil {
		return nil, err
	}
	in, err := s.collection(s.layout.Paths.Move, string(tenant))
	if err != nil {
		return nil, err
	}
	q := in.query().filter(where(schema.Into, equal, text(string(id)))).pick(nameField)
	names, _, err := run(ctx, s, "DeleteMoves", q, nameOf)
	if err != nil {
		return nil, err
	}
	moved := make([]hippo.MemoryID, len(names))
	for i, name := range names {
		moved[i] = hippo.MemoryID(lastID(name))
	}
	slices.Sort(moved)
	for chunk := range slices.Chunk(append(names, away), deletedAtOnce) {
		if err := s.removeAll(ctx, "DeleteMoves", chunk); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

// RemovePointer writes the field of pointers alone.
func (s *Store) RemovePointer(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, to hippo.Position, id hippo.MemoryID) error {
	name, err := s.name(s.layout.Paths.Episode, string(tenant), string(thread), to.String())
	if err != nil {
		return err
	}
	_, err = s.transact(ctx, "RemovePointer", func(t *tx) ([]*pb.Write, error) {
		found, err := t.get([]string{name}, nil)
		if err != nil || found.documents[name] == nil {
			return nil, err
		}
		left, changed := schema.WithoutPointer(decode(found.documents[name].Fields), id)
		if !changed {
			return nil, nil
		}
		w, err := merge(name, left)
		return []*pb.Write{w}, err
	})
	return err
}
