package bench

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// Way is a way to come by the list of what an agent knows.
type Way string

// The ways that are compared. All give the same list.
const (
	FullScan    Way = "full scan"
	TimesScan   Way = "scan of updated_at"
	Cold        Way = "index, cold"
	WarmChanged Way = "index, warm, 1 shard changed"
	Warm        Way = "index, warm"
)

// Ways lists them, the dearest first.
func Ways() []Way { return []Way{FullScan, TimesScan, Cold, WarmChanged, Warm} }

// ListRow is what one way costs with so many memories.
type ListRow struct {
	Memories int     `json:"memories"`
	Shards   int     `json:"shards"`
	Way      Way     `json:"way"`
	Reads    int     `json:"reads"`
	Bytes    int64   `json:"bytes"`
	P50      float64 `json:"p50_milliseconds"`
	P95      float64 `json:"p95_milliseconds"`
	Runs     int     `json:"runs"`
}

// ListReport is what List measured.
type ListReport struct {
	Store        string    `json:"store"`
	ContentBytes int       `json:"content_bytes"`
	Rows         []ListRow `json:"rows"`
	// WarmRatio is the p50 of a warm list with the most memories over that with
	// the fewest. ColdGain is, at each size, how many times faster a cold index
	// is than the scan that gives the same list.
	WarmRatio float64         `json:"warm_ratio"`
	ColdGain  map[int]float64 `json:"cold_gain"`
	// Query is, at each size, the p50 in milliseconds of a query that finds
	// nothing. The emulator takes the longer for any query the more documents it
	// holds, where Firestore does not; WarmOverQuery is the p50 of a warm list over
	// that of such a query.
	Query         map[int]float64 `json:"query_p50_milliseconds"`
	WarmOverQuery map[int]float64 `json:"warm_over_query"`
}

// A way is run at least minRuns times, and then until it has been run maxRuns
// times or for as long as runFor.
const (
	minRuns = 5
	maxRuns = 300
	runFor  = 4 * time.Second
)

// listWithin bounds the whole, and with it each call: an emulator on a busy
// machine takes longer for 100,000 memories than a store's own bound allows.
const listWithin = time.Hour

// List measures every way at each size. Sizes grow; doing is told what happens.
func (w *World) List(ctx context.Context, store string, sizes []int, doing func(what string, done int)) (ListReport, error) {
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	report := ListReport{Store: store, ContentBytes: contentBytes, Query: make(map[int]float64)}
	there := 0
	for _, size := range sizes {
		if err := w.grow(ctx, there, size, func(n int) { doing("writing memories", n) }); err != nil {
			return report, err
		}
		there = size
		shards, err := w.build(ctx, func(n int) { doing("building the index", n) })
		if err != nil {
			return report, err
		}
		b := &listBench{World: w, size: size}
		for _, way := range Ways() {
			doing("measuring "+string(way)+" of memories", size)
			row, err := b.row(ctx, way)
			if err != nil {
				return report, err
			}
			row.Shards = shards
			report.Rows = append(report.Rows, row)
		}
		times, err := b.sample(func() (cost, error) { return b.measure(ctx, b.findNothing) })
		if err != nil {
			return report, err
		}
		report.Query[size] = percentile(times, 0.5)
	}
	report.sum(sizes)
	return report, nil
}

// Row is what was measured of a way at a size.
func (r *ListReport) Row(way Way, memories int) ListRow {
	i := slices.IndexFunc(r.Rows, func(row ListRow) bool { return row.Way == way && row.Memories == memories })
	if i < 0 {
		return ListRow{}
	}
	return r.Rows[i]
}

func (r *ListReport) sum(sizes []int) {
	r.WarmRatio = r.Row(Warm, slices.Max(sizes)).P50 / r.Row(Warm, slices.Min(sizes)).P50
	r.ColdGain, r.WarmOverQuery = make(map[int]float64), make(map[int]float64)
	for _, size := range sizes {
		r.ColdGain[size] = r.Row(TimesScan, size).P50 / r.Row(Cold, size).P50
		r.WarmOverQuery[size] = r.Row(Warm, size).P50 / r.Query[size]
	}
}

// build makes the index anew, as the repair function does for a tenant that has
// none, and tells how many shards it has.
func (w *World) build(ctx context.Context, progress func(int)) (int, error) {
	paths := w.Layout.Paths
	meta := hippo.Fill(paths.Index, string(Tenant), "meta")
	if err := w.DeleteDocument(ctx, meta); err != nil {
		return 0, err
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	r := repair.New(w, w.Layout.Naming, w.reconciler(), repairmsg.Nobody{}, log, repair.Options{RunFor: time.Hour, Progress: progress})
	if err := r.Handle(ctx, repairmsg.Message{Tenant: Tenant, Cause: repairmsg.NoIndex}); err != nil {
		return 0, err
	}
	built, err := w.Meta(ctx, Tenant)
	return built.Current.Shards, err
}

func (w *World) reconciler() *reconcile.Reconciler {
	return reconcile.New(w, w.Layout.Naming, nobody{})
}

// nobody takes what is asked for and does nothing.
type nobody struct{}

func (nobody) Ask(context.Context, hippo.TenantID, repairmsg.Cause) error { return nil }

// listBench measures lists of one size.
type listBench struct {
	*World
	size    int
	changes int
	held    *turnreader.Index
}

func (b *listBench) index() *turnreader.Index {
	return turnreader.NewIndex(b, b.Layout.Naming, nobody{}, 1<<30, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func (b *listBench) row(ctx context.Context, way Way) (ListRow, error) {
	row := ListRow{Memories: b.size, Way: way}
	times, err := b.sample(func() (cost, error) {
		listed, c, err := b.run(ctx, way)
		if err == nil && listed != b.size {
			err = hippo.Errorf(hippo.Internal, "", "%s lists %d of %d memories", way, listed, b.size)
		}
		row.Reads, row.Bytes = c.reads, c.bytes
		return c, err
	})
	if err != nil {
		return row, err
	}
	row.P50, row.P95, row.Runs = percentile(times, 0.5), percentile(times, 0.95), len(times)
	return row, nil
}

// sample does a thing again and again, and gives how many milliseconds each time
// took.
func (b *listBench) sample(once func() (cost, error)) (times []float64, err error) {
	for start := time.Now(); len(times) < min(minRuns, b.runs) || len(times) < b.runs && time.Since(start) < runFor; {
		c, err := once()
		if err != nil {
			return nil, err
		}
		times = append(times, c.milliseconds)
	}
	return times, nil
}

// findNothing asks for the messages of a thread that nobody has.
func (b *listBench) findNothing(ctx context.Context) error {
	_, err := b.RecentMessages(ctx, Tenant, "nobodys", 1)
	return err
}

// run comes by the list once, in one way.
func (b *listBench) run(ctx context.Context, way Way) (listed int, c cost, err error) {
	index := b.held
	switch way {
	case Cold:
		index = b.index()
	case WarmChanged:
		err = b.change(ctx)
	}
	if err != nil {
		return 0, c, err
	}
	c, err = b.measure(ctx, func(ctx context.Context) error {
		var items []hippo.Item
		switch way {
		case FullScan:
			items, err = b.fullScan(ctx)
			listed = len(items)
		case TimesScan:
			var entries []hippo.Entry
			entries, err = b.ScanEntries(ctx, Tenant, "", 0)
			listed = len(b.Layout.Naming.Items(entries))
		default:
			var known *turnreader.Known
			if known, _, err = index.Known(ctx, Tenant); err == nil {
				listed = known.Len()
			}
		}
		return err
	})
	b.held = index
	return listed, c, err
}

func (b *listBench) fullScan(ctx context.Context) ([]hippo.Item, error) {
	memories, err := b.ScanMemories(ctx, Tenant)
	items := make([]hippo.Item, len(memories))
	for i, m := range memories {
		items[i] = hippo.Item{ID: m.ID, Name: m.Name, UpdatedAt: m.UpdatedAt}
	}
	slices.SortFunc(items, hippo.CompareItems)
	return items, err
}

// change changes one memory and its entry.
func (b *listBench) change(ctx context.Context) error {
	b.changes++
	name := memoryName(b.changes * 7919 % b.size)
	id, err := b.Layout.Naming.ID(name)
	if err != nil {
		return err
	}
	if err := b.SaveMemory(ctx, Tenant, hippo.Memory{ID: id, Name: name, Content: content}); err != nil {
		return err
	}
	return b.reconciler().Reconcile(ctx, Tenant, []hippo.MemoryID{id})
}
