package embedded

import (
	"context"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// PutDocument writes a whole document, as any writer of the same database can;
// the path is relative to the database. It is what the store is to its users
// besides hippo.Store: an import, an editor, a test.
func (s *Store) PutDocument(ctx context.Context, path string, fields map[string]any) error {
	return s.transact(ctx, "PutDocument", func(t *tx) error {
		t.set(path, fields)
		return nil
	})
}

// DeleteDocument deletes a document; one that does not exist is no error.
func (s *Store) DeleteDocument(ctx context.Context, path string) error {
	return s.transact(ctx, "DeleteDocument", func(t *tx) error {
		t.delete(path)
		return nil
	})
}

// Document reads a document; false where it does not exist.
func (s *Store) Document(ctx context.Context, path string) (fields map[string]any, ok bool, err error) {
	err = s.view(ctx, "Document", func(r *reader) error {
		if d := r.get(path); d != nil {
			fields, ok = copyOf(d.fields).(schema.Fields), true
		}
		return nil
	})
	return fields, ok, err
}

// PutDocuments writes many whole documents in one commit, as an import may.
func (s *Store) PutDocuments(ctx context.Context, documents map[string]schema.Fields) error {
	return s.transact(ctx, "PutDocuments", func(t *tx) error {
		for path, fields := range documents {
			t.set(path, fields)
		}
		return nil
	})
}

// ScanMemories reads every memory whole, as a program does that lists memories
// and has no index. It is for comparisons.
func (s *Store) ScanMemories(ctx context.Context, tenant hippo.TenantID) (memories []hippo.Memory, err error) {
	err = s.view(ctx, "ScanMemories", func(r *reader) error {
		var bytes int64
		for id, d := range s.collection(s.layout.Paths.Memory, string(tenant)).docs {
			memories = append(memories, schema.ParseMemory(s.layout.Fields, hippo.MemoryID(id), d.fields, d.updated, ""))
			bytes += d.size
		}
		r.returned(len(memories), bytes)
		return nil
	})
	return memories, err
}
