package firestoredb

import (
	"context"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// Meta reads one document.
func (s *Store) Meta(ctx context.Context, tenant hippo.TenantID) (hippo.Meta, error) {
	name, err := s.meta(tenant)
	if err != nil {
		return hippo.Meta{}, err
	}
	d, err := s.getOne(ctx, "Meta", name)
	if d == nil || err != nil {
		return hippo.Meta{}, err
	}
	return schema.ParseMeta(decode(d.Fields), updated(d)), nil
}

// ReadIndex queries the whole collection.
func (s *Store) ReadIndex(ctx context.Context, tenant hippo.TenantID) (hippo.IndexRead, error) {
	in, err := s.collection(s.layout.Paths.Index, string(tenant))
	if err != nil {
		return hippo.IndexRead{}, err
	}
	return s.queryIndex(ctx, "ReadIndex", in.query())
}

// ReadIndexSince asks for meta, and for each shard if its rev is greater than the
// one seen, in OR queries of up to hippo.ShardsPerQuery shards. Firestore adds the
// order by rev that such a query implies, so that meta has a rev as well; the
// composite index (shard, rev) serves every clause.
func (s *Store) ReadIndexSince(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, seen []int64) (hippo.IndexRead, error) {
	in, err := s.collection(s.layout.Paths.Index, string(tenant))
	if err != nil {
		return hippo.IndexRead{}, err
	}
	queries := changedSince(in, gen, seen)
	reads := make([]hippo.IndexRead, len(queries))
	group, ctx := errgroup.WithContext(ctx)
	for i, q := range queries {
		group.Go(func() (err error) {
			reads[i], err = s.queryIndex(ctx, "ReadIndexSince", q)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return hippo.IndexRead{}, err
	}
	return joined(reads)
}

// changedSince makes the queries for a generation's changed shards; there is one
// even for a generation without any.
func changedSince(in collection, gen hippo.Generation, seen []int64) []query {
	var queries []query
	isMeta := where(schema.Shard, equal, text(schema.MetaID))
	clauses := []*pb.StructuredQuery_Filter{isMeta}
	for n, rev := range seen {
		if len(clauses) > hippo.ShardsPerQuery {
			queries = append(queries, in.query().filter(compose(disjunction, clauses...)))
			clauses = []*pb.StructuredQuery_Filter{isMeta}
		}
		clauses = append(clauses, compose(conjunction,
			where(schema.Shard, equal, text(hippo.ShardID{Gen: gen.ID, N: n}.String())),
			where(schema.Rev, greater, integer(rev))))
	}
	return append(queries, in.query().filter(compose(disjunction, clauses...)))
}

// joined makes one reading of several, which is one only if all saw the same
// meta. Its snapshot is the oldest of them.
func joined(reads []hippo.IndexRead) (hippo.IndexRead, error) {
	all := reads[0]
	for _, r := range reads[1:] {
		if r.Meta != all.Meta {
			return hippo.IndexRead{}, hippo.Errorf(hippo.Conflict, "", "the index changed while it was read")
		}
		all.Shards = append(all.Shards, r.Shards...)
		if r.At.Before(all.At) {
			all.At = r.At
		}
	}
	return all, nil
}

// indexDocument is a document of the index: meta, or else a shard.
type indexDocument struct {
	meta  *hippo.Meta
	shard hippo.Shard
}

func (s *Store) queryIndex(ctx context.Context, method string, q query) (hippo.IndexRead, error) {
	documents, at, err := run(ctx, s, method, q, parseIndex)
	if err != nil {
		return hippo.IndexRead{}, err
	}
	read := hippo.IndexRead{At: at}
	for _, d := range documents {
		if d.meta != nil {
			read.Meta = *d.meta
		} else {
			read.Shards = append(read.Shards, d.shard)
		}
	}
	if len(documents) == 0 {
		read.At = time.Time{}
	}
	return read, nil
}

// parseIndex reads a document of the index. It is what a cold turn spends its
// time in, and so goes over a shard's entries once.
func parseIndex(d *pb.Document) (indexDocument, int64, bool) {
	id := lastID(d.Name)
	if id == schema.MetaID {
		meta := schema.ParseMeta(decode(d.Fields), updated(d))
		return indexDocument{meta: &meta}, size(d), true
	}
	if _, ok := hippo.ParseShardID(id); !ok {
		return indexDocument{}, size(d), false
	}
	stored := d.Fields[schema.Entries].GetMapValue().GetFields()
	entries := make(map[hippo.MemoryID]hippo.Micros, len(stored))
	var bytes int64
	for key, v := range stored {
		bytes += int64(len(key)) + 1
		if at, ok := v.GetValueType().(*pb.Value_IntegerValue); ok {
			entries[hippo.MemoryID(key)] = hippo.Micros(at.IntegerValue)
			bytes += 8
		} else {
			bytes += valueSize(v)
		}
	}
	if stored != nil {
		d.Fields[schema.Entries] = mapOf(nil) // counted above
	}
	shard, ok := schema.ParseShard(id, decode(d.Fields))
	shard.Entries = entries
	return indexDocument{shard: shard}, size(d) + bytes, ok
}

// SweepIndex lists the index without its entries.
func (s *Store) SweepIndex(ctx context.Context, tenant hippo.TenantID) (int, error) {
	const method = "SweepIndex"
	in, err := s.collection(s.layout.Paths.Index, string(tenant))
	if err != nil {
		return 0, err
	}
	documents, _, err := run(ctx, s, method, in.query().pick(schema.MetaMask()...), parseUnread)
	if err != nil {
		return 0, err
	}
	var meta hippo.Meta
	for _, d := range documents {
		if d.meta != nil {
			meta = *d.meta
		}
	}
	var deletes []*pb.Write
	for _, d := range documents {
		if d.meta == nil && !meta.Names(d.shard.ID) {
			deletes = append(deletes, remove(in.document(d.shard.ID.String())))
		}
	}
	for chunk := range slices.Chunk(deletes, maxDeletes) {
		if _, err := s.commit(ctx, method, chunk...); err != nil {
			return 0, err
		}
	}
	return len(deletes), nil
}

// parseUnread reads which document of the index one is, whatever became of its
// fields.
func parseUnread(d *pb.Document) (indexDocument, int64, bool) {
	id := lastID(d.Name)
	if id == schema.MetaID {
		meta := schema.ParseMeta(decode(d.Fields), updated(d))
		return indexDocument{meta: &meta}, size(d), true
	}
	shard, ok := hippo.ParseShardID(id)
	return indexDocument{shard: hippo.Shard{ID: shard}}, size(d), ok
}

// maxDeletes is how many documents one commit deletes. Firestore once took 500
// writes a commit, and some servers still refuse more.
const maxDeletes = 400
