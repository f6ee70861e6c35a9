package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/turnreader"
)

// The ways of a turn that are compared.
const (
	MessagesAlone Way = "its 30 messages alone"
	NoBuffer      Way = "turn without the buffer"
	WholeTurn     Way = "turn"
)

// TurnRow is what one way costs in a thread of so many messages, of a tenant with
// so many memories.
type TurnRow struct {
	Memories int     `json:"memories"`
	Shards   int     `json:"shards"`
	Messages int     `json:"messages"`
	Way      Way     `json:"way"`
	Reads    int     `json:"reads"`
	Bytes    int64   `json:"bytes"`
	Tokens   int     `json:"tokens"`
	Mallocs  uint64  `json:"allocations"`
	P50      float64 `json:"p50_milliseconds"`
	P95      float64 `json:"p95_milliseconds"`
	Runs     int     `json:"runs"`
	// Ratio is the p50 over that of the messages alone.
	Ratio float64 `json:"ratio"`
}

// TurnReport is what Turn measured.
type TurnReport struct {
	Store string    `json:"store"`
	Rows  []TurnRow `json:"rows"`
}

// Turn measures turns in threads of each length, with each number of memories, on
// an index that is warm. Sizes of memories grow.
func (w *World) Turn(ctx context.Context, store string, threads, memories []int, doing func(what string, done int)) (TurnReport, error) {
	report := TurnReport{Store: store}
	there := 0
	for _, size := range memories {
		if err := w.grow(ctx, there, size, func(n int) { doing("writing memories", n) }); err != nil {
			return report, err
		}
		shards, err := w.build(ctx, func(n int) { doing("building the index", n) })
		if err != nil {
			return report, err
		}
		for _, length := range threads {
			thread := hippo.ThreadID(fmt.Sprintf("thread-%d", length))
			if there == 0 {
				if err := w.thread(ctx, Tenant, thread, length, func(n int) { doing("writing messages", n) }); err != nil {
					return report, err
				}
			}
			doing(fmt.Sprintf("measuring with %d memories, messages", size), length)
			rows, err := w.turnRows(ctx, thread, TurnRow{Memories: size, Shards: shards, Messages: length})
			if err != nil {
				return report, err
			}
			report.Rows = append(report.Rows, rows...)
		}
		there = size
	}
	return report, nil
}

// turnRows measures the ways by turns, so that what disturbs the machine disturbs
// all of them.
func (w *World) turnRows(ctx context.Context, thread hippo.ThreadID, about TurnRow) ([]TurnRow, error) {
	ways := []Way{MessagesAlone, NoBuffer, WholeTurn}
	index := (&listBench{World: w}).index()
	reader := turnreader.New(w, w.Layout, index, turnreader.Options{})
	if _, _, err := index.Known(ctx, Tenant); err != nil {
		return nil, err
	}
	rows, times := make([]TurnRow, len(ways)), make([][]float64, len(ways))
	for start := time.Now(); len(times[0]) < min(minRuns, w.runs) || len(times[0]) < w.runs && time.Since(start) < runFor; {
		for i, way := range ways {
			row, c, err := w.turnOnce(ctx, reader, thread, way)
			if err != nil {
				return nil, err
			}
			row.Memories, row.Shards, row.Messages, row.Way = about.Memories, about.Shards, about.Messages, way
			rows[i], times[i] = row, append(times[i], c.milliseconds)
		}
	}
	for i := range rows {
		rows[i].P50, rows[i].P95, rows[i].Runs = percentile(times[i], 0.5), percentile(times[i], 0.95), len(times[i])
		rows[i].Ratio = rows[i].P50 / rows[0].P50
	}
	return rows, nil
}

func (w *World) turnOnce(ctx context.Context, reader *turnreader.Reader, thread hippo.ThreadID, way Way) (TurnRow, cost, error) {
	ask := turnreader.Request{Tenant: Tenant, Thread: thread}
	if way == NoBuffer {
		without := contract.Default()
		delete(without.Include, contract.Buffer)
		ask.Contract = &without
	}
	var row TurnRow
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := w.measure(ctx, func(ctx context.Context) error {
		if way == MessagesAlone {
			_, err := w.RecentMessages(ctx, Tenant, thread, turnreader.DefaultWindow)
			return err
		}
		turn, err := reader.Turn(ctx, ask)
		row.Tokens = turn.Ledger.Tokens["total"]
		// The reader counts for its ledger; the bench's own meter goes without.
		for _, r := range turn.Ledger.Reads {
			hippo.CountRead(ctx, r.Query, r.Documents, r.Bytes)
		}
		return err
	})
	runtime.ReadMemStats(&after)
	row.Reads, row.Bytes, row.Mallocs = c.reads, c.bytes, after.Mallocs-before.Mallocs
	return row, c, err
}
