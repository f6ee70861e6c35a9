package firestoredb

import (
	"context"

	"github.com/hippofire/hippofire/store/schema"
)

// PutDocument writes a whole document at a path relative to the database, as any
// other writer of the database may. It is for tests and tools.
func (s *Store) PutDocument(ctx context.Context, path string, f schema.Fields) error {
	w, err := set(s.root+path, f)
	if err != nil {
		return err
	}
	_, err = s.commit(ctx, "PutDocument", w)
	return err
}

// DeleteDocument deletes a document in the same way; one that does not exist is
// no error.
func (s *Store) DeleteDocument(ctx context.Context, path string) error {
	_, err := s.commit(ctx, "DeleteDocument", remove(s.root+path))
	return err
}
