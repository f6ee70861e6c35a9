package firestoredb

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
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

// Document reads a document in the same way, and says whether it is there.
func (s *Store) Document(ctx context.Context, path string) (f schema.Fields, ok bool, err error) {
	d, err := s.getOne(ctx, "Document", s.root+path)
	if err != nil || d == nil {
		return nil, false, err
	}
	return decode(d.Fields), true, nil
}

// DeleteDocument deletes a document in the same way; one that does not exist is
// no error.
func (s *Store) DeleteDocument(ctx context.Context, path string) error {
	_, err := s.commit(ctx, "DeleteDocument", remove(s.root+path))
	return err
}

// PutDocuments writes many whole documents in one commit, as an import may. A
// commit of more than 4 MiB hangs on the emulator.
func (s *Store) PutDocuments(ctx context.Context, documents map[string]schema.Fields) error {
	var writes []*pb.Write
	for path, f := range documents {
		w, err := set(s.root+path, f)
		if err != nil {
			return err
		}
		writes = append(writes, w)
	}
	_, err := s.commit(ctx, "PutDocuments", writes...)
	return err
}

// ScanMemories reads every memory whole, as a program does that lists memories
// and has no index. It is for comparisons.
func (s *Store) ScanMemories(ctx context.Context, tenant hippo.TenantID) ([]hippo.Memory, error) {
	in, err := s.collection(s.layout.Paths.Memory, string(tenant))
	if err != nil {
		return nil, err
	}
	memories, _, err := run(ctx, s, "ScanMemories", in.query(), func(d *pb.Document) (hippo.Memory, int64, bool) {
		id := hippo.MemoryID(lastID(d.Name))
		return schema.ParseMemory(s.layout.Fields, id, decode(d.Fields), updated(d), ""), size(d), true
	})
	return memories, err
}
