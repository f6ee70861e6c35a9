package embedded

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// bulk is a tenant of many memories, an index of all of them, and a thread of
// many messages.
func bulk(b testing.TB, memories, messages int) (*Store, hippo.Generation) {
	b.Helper()
	s, err := New(hippo.DefaultLayout(), nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	gen := hippo.Generation{ID: "g", Shards: hippo.ShardsFor(memories, int64(memories)*40), Version: 1}
	if _, err := s.AnnounceGeneration(ctx, "t", hippo.Meta{}, gen); err != nil {
		b.Fatal(err)
	}
	ids := make([]hippo.MemoryID, memories)
	for n := range ids {
		ids[n] = memoryID(n)
		m := hippo.Memory{ID: ids[n], Name: "n", Content: strings.Repeat("x", 200), UpdatedAt: hippo.Micros(n + 1)}
		if err := s.SaveMemory(ctx, "t", m); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.WriteEntries(ctx, "t", gen.Place(ids)); err != nil {
		b.Fatal(err)
	}
	for n := range messages {
		m := hippo.Message{ID: hippo.MessageID(fmt.Sprintf("m%d", n)), Role: hippo.User, Content: "c", CreatedAt: hippo.Micros(n + 1), Terms: []string{"all", fmt.Sprint(n % 100)}}
		if _, err := s.SaveMessages(ctx, "t", "th", []hippo.Message{m}); err != nil {
			b.Fatal(err)
		}
	}
	return s, gen
}

func memoryID(n int) hippo.MemoryID {
	id, _ := hippo.Base64URL.ID(fmt.Sprintf("pages/Location number %d", n*7919))
	return id
}

func TestACountIsChargedByTheThousand(t *testing.T) {
	s, _ := bulk(t, 2001, 0)
	var m hippo.Meter
	n, err := s.CountMemories(hippo.WithMeter(t.Context(), &m), "t")
	if want := (hippo.Reads{Documents: 3}); err != nil || n != 2001 || m.Total() != want {
		t.Errorf("counted %d at a cost of %v, error %v, want 2001 at %v", n, m.Total(), err, want)
	}
}

func BenchmarkStore(b *testing.B) {
	s, gen := bulk(b, 100_000, 10_000)
	ctx := context.Background()
	seen := make([]int64, gen.Shards)
	for n := range seen {
		seen[n] = 1
	}
	target := gen.Place([]hippo.MemoryID{memoryID(77)})
	for _, c := range []struct {
		name string
		run  func(n int) error
	}{
		{"scan of 100,000", func(int) error { _, err := s.ScanEntries(ctx, "t", "", 0); return err }},
		{"page of 500", func(int) error { _, err := s.ScanEntries(ctx, "t", memoryID(50_000), 500); return err }},
		{"page of 500 after a new memory", func(n int) error {
			if err := s.PutDocument(ctx, s.memoryPath("t", memoryID(100_000+n)), schema.Fields{}); err != nil {
				return err
			}
			_, err := s.ScanEntries(ctx, "t", memoryID(50_000), 500)
			return err
		}},
		{"index cold", func(int) error { _, err := s.ReadIndex(ctx, "t"); return err }},
		{"index warm", func(int) error { _, err := s.ReadIndexSince(ctx, "t", gen, seen); return err }},
		{"one entry", func(int) error { return s.WriteEntries(ctx, "t", target) }},
		{"30 recent messages", func(int) error { _, err := s.RecentMessages(ctx, "t", "th", 31); return err }},
		{"50 messages with a term", func(int) error {
			_, err := s.MessagesWithTerm(ctx, "t", "th", "7", hippo.Position{At: 9000}, 50)
			return err
		}},
		{"one message", func(n int) error {
			_, err := s.SaveMessages(ctx, "t", "th", []hippo.Message{{ID: hippo.MessageID(fmt.Sprintf("new%d-%d", n, b.N)), Role: hippo.User, Content: "c"}})
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := range b.N {
				if err := c.run(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
