package firestoredb_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/iterator"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// Reconciling one shard in the two ways that move no content: BatchGetDocuments
// with a mask, begun in the same call as the transaction, and a query with Select
// inside a transaction of the high-level client, whose IN takes 30 ids at most.
// Contents of 2 KB lie in the memories.

func BenchmarkWriteEntriesRaw(b *testing.B) {
	benchmarkEntries(b, func(h harness, shard hippo.ShardID, ids []hippo.MemoryID) error {
		return h.store.WriteEntries(context.Background(), tenant, []hippo.ShardTarget{{Shard: shard, IDs: ids}})
	})
}

func BenchmarkWriteEntriesSelect(b *testing.B) { benchmarkEntries(b, selectEntries) }

func benchmarkEntries(b *testing.B, reconcile func(harness, hippo.ShardID, []hippo.MemoryID) error) {
	for _, n := range []int{1, 10, 50, 200} {
		b.Run(fmt.Sprintf("ids=%d", n), func(b *testing.B) {
			h := open(b, layout)
			gen := built(b, h.store, 8)
			ids := fill(b, h, n)
			shard := hippo.ShardID{Gen: gen.ID, N: 0}
			for b.Loop() {
				ok(b, reconcile(h, shard, ids))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/id")
		})
	}
}

// fill writes so many memories.
func fill(b *testing.B, h harness, n int) []hippo.MemoryID {
	b.Helper()
	content := fmt.Sprintf("%02000d", 0)
	ids := make([]hippo.MemoryID, n)
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(32)
	for i := range ids {
		ids[i] = hippo.MemoryID(fmt.Sprintf("%027d", i))
		group.Go(func() error { return h.store.SaveMemory(ctx, tenant, hippo.Memory{ID: ids[i], Content: content}) })
	}
	ok(b, group.Wait())
	return ids
}

func selectEntries(h harness, shard hippo.ShardID, ids []hippo.MemoryID) error {
	return h.client.RunTransaction(context.Background(), func(ctx context.Context, tx *firestore.Transaction) error {
		memories := h.client.Doc(hippo.Fill(layout.Paths.Memory, tenant, "any")).Parent
		updates := []firestore.Update{{Path: schema.Rev, Value: firestore.Increment(1)}}
		for chunk := range slices.Chunk(ids, 30) {
			var refs []*firestore.DocumentRef
			for _, id := range chunk {
				refs = append(refs, memories.Doc(string(id)))
			}
			found := map[string]any{}
			documents := tx.Documents(memories.Where(firestore.DocumentID, "in", refs).Select(hippo.DefaultFields().MemoryUpdatedAt))
			for {
				d, err := documents.Next()
				if err == iterator.Done {
					break
				}
				if err != nil {
					return err
				}
				found[d.Ref.ID] = int64(schema.MemoryTime(hippo.DefaultFields(), d.Data(), d.UpdateTime))
			}
			for _, id := range chunk {
				u := firestore.Update{FieldPath: firestore.FieldPath{schema.Entries, string(id)}, Value: firestore.Delete}
				if at, ok := found[string(id)]; ok {
					u.Value = at
				}
				updates = append(updates, u)
			}
		}
		return tx.Update(h.client.Doc(hippo.Fill(layout.Paths.Index, tenant, shard.String())), updates)
	})
}

// Reading the list: the whole index, the index with nothing changed, and the scan
// that gives the same list.

func BenchmarkReadList(b *testing.B) {
	const memories = 2000
	h := open(b, layout)
	gen := built(b, h.store, 8)
	ids := fill(b, h, memories)
	for chunk := range slices.Chunk(ids, 200) {
		ok(b, h.store.WriteEntries(b.Context(), tenant, gen.Place(chunk)))
	}
	index, err := h.store.ReadIndex(b.Context(), tenant)
	ok(b, err)
	seen := make([]int64, gen.Shards)
	for n, s := range index.Of(gen) {
		seen[n] = s.Rev
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			_, err := h.store.ReadIndex(b.Context(), tenant)
			ok(b, err)
		}
	})
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			_, err := h.store.ReadIndexSince(b.Context(), tenant, gen, seen)
			ok(b, err)
		}
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			_, err := h.store.ScanEntries(b.Context(), tenant, "", 0)
			ok(b, err)
		}
	})
}
