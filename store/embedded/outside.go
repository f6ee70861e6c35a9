package embedded

import (
	"context"

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
