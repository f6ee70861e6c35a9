package embedded

import (
	"context"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// reader reads documents under the store's lock and counts what they would have
// cost.
type reader struct {
	store     *Store
	at        time.Time
	documents int
	bytes     int64
	asked     bool
}

// now is the time of the snapshot, and of the commit.
func (r *reader) now() time.Time {
	if r.at.IsZero() {
		r.at = r.store.tick()
	}
	return r.at
}

// charge puts what was read on the context's meter.
func (r *reader) charge(ctx context.Context, method string) {
	if r.asked {
		hippo.CountRead(ctx, method, r.documents, r.bytes)
	}
}

// returned counts a query that returned so many documents.
func (r *reader) returned(documents int, bytes int64) {
	r.asked = true
	r.documents += max(documents, 1)
	r.bytes += bytes
}

// counted counts an aggregation over so many documents.
func (r *reader) counted(documents int) { r.returned((documents+999)/1000, 0) }

// get reads a document; nil where it does not exist.
func (r *reader) get(path string) *document {
	d := r.store.document(path)
	if d == nil {
		r.returned(1, 0)
	} else {
		r.returned(1, d.size)
	}
	return d
}

// project reads a document as a query that moves only the named fields of it.
func (r *reader) project(path string, fields ...string) *document {
	d := r.store.document(path)
	if d == nil {
		r.returned(1, 0)
	} else {
		r.returned(1, schema.Size(path, nil)+sizeOf(d, fields...))
	}
	return d
}

// sizeOf is what the named fields add to a document's size.
func sizeOf(d *document, fields ...string) int64 {
	var n int64
	for _, name := range fields {
		if v, ok := d.fields[name]; ok {
			n += fieldSize(name, v)
		}
	}
	return n
}

// times reads when memories last changed.
func (r *reader) times(tenant hippo.TenantID, ids []hippo.MemoryID) map[hippo.MemoryID]hippo.Micros {
	found := make(map[hippo.MemoryID]hippo.Micros, len(ids))
	for _, id := range ids {
		if d := r.project(r.store.memoryPath(tenant, id), r.store.layout.Fields.MemoryUpdatedAt); d != nil {
			found[id] = schema.MemoryTime(r.store.layout.Fields, d.fields, d.updated)
		}
	}
	return found
}

// document is the stored document; nil where it does not exist.
func (s *Store) document(path string) *document {
	collection, id := splitPath(path)
	if c := s.collections[collection]; c != nil {
		return c.docs[id]
	}
	return nil
}

// collection is the collection of documents of a template, an empty one where
// nothing is stored in it.
func (s *Store) collection(template string, values ...string) *collection {
	path, _ := splitPath(hippo.Fill(template, values...))
	if c := s.collections[path]; c != nil {
		return c
	}
	return &collection{}
}

func (s *Store) memoryPath(tenant hippo.TenantID, id hippo.MemoryID) string {
	return hippo.Fill(s.layout.Paths.Memory, string(tenant), string(id))
}

func (s *Store) movePath(tenant hippo.TenantID, id hippo.MemoryID) string {
	return hippo.Fill(s.layout.Paths.Move, string(tenant), string(id))
}

func (s *Store) indexPath(tenant hippo.TenantID, id string) string {
	return hippo.Fill(s.layout.Paths.Index, string(tenant), id)
}

func (s *Store) reportPath(tenant hippo.TenantID) string {
	return hippo.Fill(s.layout.Paths.Report, string(tenant), schema.ReportID)
}
