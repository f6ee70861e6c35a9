package bench

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/internal/relay"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// HookMode is how the events of an import reach the hook.
type HookMode struct {
	Name string
	// Open is how many requests are open at once.
	Open int
	// PerSecond is how many memories are written each second; 0 is all of them at
	// once, and their events wait until the last is written.
	PerSecond int
}

// HookModes lists what is measured.
func HookModes() []HookMode {
	return []HookMode{
		{Name: "backlog, 500 requests open", Open: 500},
		{Name: "backlog, 80 requests open", Open: 80},
		{Name: "paced, 250 a second", Open: 80, PerSecond: 250},
	}
}

// HookRow is what it took to index an import in one mode.
type HookRow struct {
	Mode    string `json:"mode"`
	Changes int    `json:"changes"`
	// ShardCommits counts the shard documents that were written, Reads the
	// documents that were read for it: memories by field mask, meta, and a shard
	// whose size was looked at.
	ShardCommits     int     `json:"shard_commits"`
	ChangesPerCommit float64 `json:"changes_per_shard_commit"`
	Reads            int     `json:"reads"`
	ReadsPerChange   float64 `json:"reads_per_change"`
	WritesPerChange  float64 `json:"writes_per_change"`
	// SecondsToEqual is from the last write, or from when the backlog was let go,
	// until every event was acknowledged; Equal says that the index was right then.
	SecondsToEqual float64 `json:"seconds_to_equal"`
	Retried        int     `json:"events_retried"`
	Equal          bool    `json:"equal"`
}

// Hook imports so many memories through real trigger events: from the store
// through the relay into the functions as the framework serves them.
func Hook(ctx context.Context, kind localstack.StoreKind, memories int, modes []HookMode, doing func(what string, done int)) ([]HookRow, error) {
	var rows []HookRow
	for _, mode := range modes {
		doing(mode.Name, 0)
		b := &hookBench{mode: mode, memories: memories, gate: make(chan struct{}), doing: func(done int) { doing(mode.Name, done) }}
		row, err := b.run(ctx, kind)
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// hookBench is one mode being measured.
type hookBench struct {
	mode     HookMode
	memories int
	doing    func(done int)

	// gate is closed when events may be delivered.
	gate  chan struct{}
	stack *localstack.Stack
	// world is the store of the one who imports, counted what the hook does.
	world   *World
	counted func() (shardCommits, reads int)
}

func (b *hookBench) run(ctx context.Context, kind localstack.StoreKind) (row HookRow, err error) {
	dir, err := os.MkdirTemp("", "hippofire-bench-")
	if err != nil {
		return row, hippo.Wrap(hippo.Unavailable, err, "making a folder")
	}
	defer os.RemoveAll(dir)
	b.stack, err = localstack.Start(ctx, localstack.Config{
		Store: kind, Dir: dir, Functions: localstack.FrameworkOf(b.open),
		Relay: relay.Options{Concurrency: b.mode.Open, QueueBytes: 1 << 30, Timeout: 10 * time.Minute, Transport: b},
	})
	if err != nil {
		return row, err
	}
	defer func() {
		if stopped := b.stack.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	if kind == localstack.Emulator {
		// The hook's own store is counted; who imports has another one.
		store, err := firestoredb.Open(ctx, firestoredb.Config{ProjectID: b.stack.Project, EmulatorHost: b.stack.FirestoreHost}, hippo.DefaultLayout())
		if err != nil {
			return row, err
		}
		defer store.Close()
		b.world = &World{Store: store, Layout: hippo.DefaultLayout()}
	}
	if _, err := b.world.build(ctx, func(int) {}); err != nil {
		return row, err
	}
	return b.measure(ctx)
}

// transport carries the relay's requests.
var transport = func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1000, 1000
	return t
}()

// RoundTrip makes each delivery wait at the gate.
func (b *hookBench) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-b.gate:
		return transport.RoundTrip(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// open makes the functions on a store that counts.
func (b *hookBench) open(ctx context.Context, with localstack.Wiring) (*functions.App, error) {
	config, err := functions.ConfigFromEnv(ctx, envconfig.MapLookuper(with.Env))
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if with.Store != nil {
		m := &metered{Store: with.Store}
		b.world = &World{Store: with.Store, Layout: hippo.DefaultLayout()}
		b.counted = func() (int, int) { t := m.meter.Total(); return t.Writes, t.Documents }
		return functions.New(config, functions.Parts{Store: m, Log: log})
	}
	wire := &firestoredb.WireCounter{}
	b.counted = func() (int, int) { t := wire.Total(); return t.Writes, t.Reads }
	store, err := firestoredb.Open(ctx, firestoredb.Config{ProjectID: config.Project, EmulatorHost: with.Env["FIRESTORE_EMULATOR_HOST"]}, hippo.DefaultLayout(), wire.DialOptions()...)
	if err != nil {
		return nil, err
	}
	return functions.New(config, functions.Parts{Store: store, Log: log, Close: []func() error{store.Close}})
}

// metered counts what a reconcile reads and writes, where there is no wire.
type metered struct {
	hippo.Store
	meter hippo.Meter
}

func (m *metered) Meta(ctx context.Context, tenant hippo.TenantID) (hippo.Meta, error) {
	return m.Store.Meta(hippo.WithMeter(ctx, &m.meter), tenant)
}

func (m *metered) ReadIndexSince(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, seen []int64) (hippo.IndexRead, error) {
	return m.Store.ReadIndexSince(hippo.WithMeter(ctx, &m.meter), tenant, gen, seen)
}

func (m *metered) WriteEntries(ctx context.Context, tenant hippo.TenantID, targets []hippo.ShardTarget) error {
	return m.Store.WriteEntries(hippo.WithMeter(ctx, &m.meter), tenant, targets)
}

func (b *hookBench) measure(ctx context.Context) (HookRow, error) {
	row := HookRow{Mode: b.mode.Name, Changes: b.memories}
	commitsBefore, readsBefore := b.counted()
	if b.mode.PerSecond > 0 {
		close(b.gate)
	}
	if err := b.write(ctx); err != nil {
		return row, err
	}
	start := time.Now()
	if b.mode.PerSecond == 0 {
		if err := b.received(ctx); err != nil {
			return row, err
		}
		start = time.Now()
		close(b.gate)
	} else if err := b.received(ctx); err != nil {
		return row, err
	}
	if err := b.stack.Hook.Idle(ctx); err != nil {
		return row, err
	}
	row.SecondsToEqual = time.Since(start).Seconds()
	commits, reads := b.counted()
	row.ShardCommits, row.Reads = commits-commitsBefore, reads-readsBefore
	changes := float64(row.Changes)
	row.ChangesPerCommit, row.ReadsPerChange, row.WritesPerChange = changes/float64(row.ShardCommits), float64(row.Reads)/changes, float64(row.ShardCommits)/changes
	stats := b.stack.Hook.Stats()
	row.Retried = stats.Retried
	equal, err := b.equal(ctx)
	row.Equal = equal && stats.Failed == 0
	return row, err
}

// write imports the memories, all at once or at the mode's pace.
func (b *hookBench) write(ctx context.Context) error {
	if b.mode.PerSecond == 0 {
		return b.world.grow(ctx, 0, b.memories, b.doing)
	}
	tick := time.NewTicker(time.Second / time.Duration(b.mode.PerSecond))
	defer tick.Stop()
	for i := range b.memories {
		select {
		case <-ctx.Done():
			return hippo.Wrap(hippo.Unavailable, ctx.Err(), "importing")
		case <-tick.C:
		}
		if err := b.world.grow(ctx, i, i+1, b.doing); err != nil {
			return err
		}
	}
	return nil
}

// receivedWithin bounds the wait for events that the emulator still holds.
const receivedWithin = 5 * time.Minute

func (b *hookBench) received(ctx context.Context) error { return received(ctx, b.stack, b.memories) }

// received waits until the relay has so many events: the emulator posts one at a
// time.
func received(ctx context.Context, stack *localstack.Stack, events int) error {
	ctx, cancel := context.WithTimeout(ctx, receivedWithin)
	defer cancel()
	for {
		n := stack.Hook.Stats().Received
		if n >= events {
			return nil
		}
		select {
		case <-ctx.Done():
			return hippo.Errorf(hippo.Unavailable, "", "%d of %d events arrived", n, events)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// equal compares the index with the memories.
func (b *hookBench) equal(ctx context.Context) (bool, error) {
	index, err := b.world.ReadIndex(ctx, Tenant)
	if err != nil {
		return false, err
	}
	scan, err := b.world.ScanEntries(ctx, Tenant, "", 0)
	if err != nil {
		return false, err
	}
	gen := index.Meta.Current
	findings := append(hippo.ShardFindings(gen, index), hippo.Diff(b.world.Layout.Naming, gen, index, scan, hippo.Range{})...)
	return len(findings) == 0 && len(scan) == b.memories, nil
}
