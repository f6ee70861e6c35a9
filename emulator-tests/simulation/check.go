package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/turnreader"
)

// Turn asks the i-th process what the agent knows, and lets nothing else happen
// meanwhile. What it answers has to be right where no change is in flight, which
// the caller says; a process that holds an index in its cache may be behind one
// that was broken by hand.
func (w *World) Turn(i int, right bool) error {
	w.Stats.Turns++
	p := w.processes[i]
	var known *turnreader.Known
	var source turnreader.Source
	var err error
	done := false
	w.task(func(ctx context.Context) {
		known, source, err = p.index.Known(withTask(ctx, p.name+" turn"), tenant)
		done = true
	})
	for !done {
		if at := w.parkedOf(p, " turn "); at >= 0 {
			w.let(at, fate{})
			continue
		}
		return fmt.Errorf("a turn of %s waits for something else than the store", p.name)
	}
	if err != nil {
		return fmt.Errorf("a turn of %s: %w", p.name, err)
	}
	if !right || source == turnreader.Warm && w.Stats.Deleted > 0 {
		return nil
	}
	return w.sameAsScan(fmt.Sprintf("a %s turn of %s", source, p.name), slices.Collect(known.All()))
}

func (w *World) sameAsScan(what string, got []hippo.Item) error {
	scan, err := w.store.ScanEntries(context.Background(), tenant, "", 0)
	if err != nil {
		return err
	}
	if want := w.layout.Naming.Items(scan); !slices.Equal(want, got) {
		return fmt.Errorf("%s differs from the scan (-scan +turn):\n%s", what, cmp.Diff(want, got))
	}
	return nil
}

// view is the store as the newest program among the processes sees it.
func (w *World) view() hippo.Store {
	for _, p := range w.processes {
		if p.program.Newer {
			return fixture.Newer{Store: w.store, By: 1}
		}
	}
	return w.store
}

// Equal demands that the index is whole, small enough, and equal to the memories
// (I1 to I3, I6), and that a turn costs what it may (I5).
func (w *World) Equal() error {
	ctx := context.Background()
	index, err := w.view().ReadIndex(ctx, tenant)
	if err != nil {
		return err
	}
	gen := index.Meta.Current
	if gen.Version != hippo.IndexVersion || !index.Meta.Next.IsZero() {
		return fmt.Errorf("there is no finished index: meta is %+v", index.Meta)
	}
	scan, err := w.store.ScanEntries(ctx, tenant, "", 0)
	if err != nil {
		return err
	}
	findings := hippo.ShardFindings(gen, index)
	for _, f := range hippo.Diff(w.layout.Naming, gen, index, scan, hippo.Range{}) {
		if f.Type != hippo.Unindexable {
			findings = append(findings, f)
		}
	}
	if len(findings) > 0 {
		return fmt.Errorf("the index differs from the memories: %v", findings)
	}
	return w.costs(gen)
}

// costs holds what a first and a second turn read against what they may read.
func (w *World) costs(gen hippo.Generation) error {
	index := turnreader.NewIndex(w.view(), w.layout.Naming, nobody{}, cacheBytes*64, slog.New(slog.DiscardHandler))
	for _, want := range []struct {
		source    turnreader.Source
		documents int
	}{{turnreader.Cold, 1 + gen.Shards}, {turnreader.Warm, (gen.Shards + 28) / 29}} {
		var meter hippo.Meter
		known, source, err := index.Known(hippo.WithMeter(context.Background(), &meter), tenant)
		if err != nil {
			return err
		}
		if read := meter.Total().Documents; source != want.source || read != want.documents {
			return fmt.Errorf("a %s turn read %d documents, want a %s one that reads %d", source, read, want.source, want.documents)
		}
		if err := w.sameAsScan("the list", slices.Collect(known.All())); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) parkedOf(p *process, task string) int {
	for i, c := range w.parked {
		if c.process == p && len(c.key) > len(p.name)+len(task) && c.key[len(p.name):len(p.name)+len(task)] == task {
			return i
		}
	}
	return -1
}
