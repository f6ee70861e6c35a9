package bench

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
)

// RepairRow is what one repair took.
type RepairRow struct {
	Case     string `json:"case"`
	Memories int    `json:"memories"`
	// Reads and IndexWrites are documents, ReadsPerMemory the same by memory: each
	// is read once to compare it, and those that differ once more to mend them.
	Reads          int     `json:"reads"`
	ReadsPerMemory float64 `json:"reads_per_memory"`
	IndexWrites    int     `json:"index_writes"`
	// MemoriesScanned counts the memories that were compared, from the report.
	MemoriesScanned int     `json:"memories_scanned"`
	Milliseconds    float64 `json:"milliseconds"`
	// PeakBytes is by how much the heap of this process grew at most, the store
	// included where it lies in this process.
	PeakBytes uint64                    `json:"peak_bytes"`
	Findings  map[hippo.FindingType]int `json:"findings"`
	// Equal says that the index was right afterwards.
	Equal bool `json:"equal"`
}

// repairCase is a way in which an index is wrong before the repair.
type repairCase struct {
	name  string
	spoil func(w *World, ctx context.Context, memories int) error
}

// repairCases go from what a repair finds most nights to what it never should.
// The last one is what rewriting every shard costs.
var repairCases = []repairCase{
	{"clean", func(*World, context.Context, int) error { return nil }},
	{"1 % of the events lost", func(w *World, ctx context.Context, memories int) error { return w.changeUnseen(ctx, memories/100) }},
	{"all events lost", func(w *World, ctx context.Context, _ int) error { return w.emptyIndex(ctx) }},
	{"every shard rewritten", func(w *World, ctx context.Context, _ int) error {
		return w.DeleteDocument(ctx, hippo.Fill(w.Layout.Paths.Index, string(Tenant), "meta"))
	}},
}

// Repair measures the repair of so many memories in each case.
func (w *World) Repair(ctx context.Context, memories int, doing func(what string, done int)) ([]RepairRow, error) {
	if err := w.grow(ctx, 0, memories, func(n int) { doing("writing memories", n) }); err != nil {
		return nil, err
	}
	if _, err := w.build(ctx, func(n int) { doing("building the index", n) }); err != nil {
		return nil, err
	}
	var rows []RepairRow
	for _, c := range repairCases {
		row, err := w.repairRow(ctx, c, memories, func(n int) { doing("repairing: "+c.name, n) })
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (w *World) repairRow(ctx context.Context, c repairCase, memories int, progress func(int)) (RepairRow, error) {
	row := RepairRow{Case: c.name, Memories: memories}
	if err := c.spoil(w, ctx, memories); err != nil {
		return row, err
	}
	r := repair.New(w, w.Layout.Naming, w.reconciler(), repairmsg.Nobody{}, slog.New(slog.DiscardHandler), repair.Options{RunFor: time.Hour, Progress: progress})
	heap := watchHeap()
	took, err := w.measure(ctx, func(ctx context.Context) error {
		return r.Handle(ctx, repairmsg.Message{Tenant: Tenant, Cause: repairmsg.Nightly})
	})
	row.PeakBytes = heap.stop()
	if err != nil {
		return row, err
	}
	report, err := w.Report(ctx, Tenant)
	if err != nil {
		return row, err
	}
	row.Reads, row.IndexWrites, row.Milliseconds = report.Reads, report.Writes, took.milliseconds
	if w.wire != nil {
		row.Reads, row.IndexWrites = took.reads, took.writes-1 // the report is one
	}
	row.ReadsPerMemory = float64(row.Reads) / float64(memories)
	row.Findings, row.MemoriesScanned = report.Findings, report.Memories
	check, err := r.Check(ctx, Tenant)
	row.Equal = check.Equal && check.Memories == memories
	return row, err
}

// changeUnseen changes memories without telling anybody, each a hundred places
// from the one before.
func (w *World) changeUnseen(ctx context.Context, n int) error {
	for i := range n {
		name := memoryName(i * 100)
		id, err := w.Layout.Naming.ID(name)
		if err != nil {
			return err
		}
		if err := w.SaveMemory(ctx, Tenant, hippo.Memory{ID: id, Name: name, Content: content}); err != nil {
			return err
		}
	}
	return nil
}

// emptyIndex gives the tenant the index that it would have if no event had come
// since it was built for nothing.
func (w *World) emptyIndex(ctx context.Context) error {
	meta, err := w.Meta(ctx, Tenant)
	if err != nil {
		return err
	}
	next := hippo.Generation{ID: hippo.NewGenerationID(), Shards: meta.Current.Shards, Version: hippo.IndexVersion}
	if meta, err = w.AnnounceGeneration(ctx, Tenant, meta, next); err != nil {
		return err
	}
	if _, err = w.PromoteGeneration(ctx, Tenant, meta); err != nil {
		return err
	}
	_, err = w.SweepIndex(ctx, Tenant)
	return err
}

// heapWatch follows how large the heap is.
type heapWatch struct {
	done   chan struct{}
	result chan uint64
}

const heapMetric = "/memory/classes/heap/objects:bytes"

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: heapMetric}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func watchHeap() *heapWatch {
	runtime.GC()
	h := &heapWatch{done: make(chan struct{}), result: make(chan uint64)}
	before := heapBytes()
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		peak := before
		for {
			peak = max(peak, heapBytes())
			select {
			case <-h.done:
				h.result <- peak - before
				return
			case <-tick.C:
			}
		}
	}()
	return h
}

func (h *heapWatch) stop() uint64 {
	close(h.done)
	return <-h.result
}
