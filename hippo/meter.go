package hippo

import (
	"context"
	"sync"
)

// Meter counts what a piece of work read and wrote, by query, in the units that
// Firestore bills: documents (an empty query counts as one), and bytes by
// Firestore's storage size of what was returned. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	reads []Reads
	total Reads
}

// Reads is the cost of one kind of query, or of several.
type Reads struct {
	Query     string `json:"query,omitempty"`
	Documents int    `json:"documents"`
	Bytes     int64  `json:"bytes"`
	Writes    int    `json:"writes,omitempty"`
}

type meterKey struct{}

// WithMeter makes m count whatever stores do under the context.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// CountRead adds a query's documents, as returned, to the context's meter.
func CountRead(ctx context.Context, query string, documents int, bytes int64) {
	count(ctx, Reads{Query: query, Documents: max(documents, 1), Bytes: bytes})
}

// CountWrites adds documents written or deleted to the context's meter.
func CountWrites(ctx context.Context, query string, documents int) {
	count(ctx, Reads{Query: query, Writes: documents})
}

func count(ctx context.Context, r Reads) {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.add(r)
	for i := range m.reads {
		if m.reads[i].Query == r.Query {
			m.reads[i].add(r)
			return
		}
	}
	m.reads = append(m.reads, r)
}

func (r *Reads) add(s Reads) {
	r.Documents += s.Documents
	r.Bytes += s.Bytes
	r.Writes += s.Writes
}

// Total is everything counted so far, without a query's name.
func (m *Meter) Total() Reads {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// ByQuery lists what was counted by query, in the order of first use.
func (m *Meter) ByQuery() []Reads {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Reads(nil), m.reads...)
}
