package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/indexhook"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// Program says what kind of process is started.
type Program struct {
	// Newer makes its index format newer than the others'.
	Newer bool
	// Skew is by how much the host's clock is wrong.
	Skew time.Duration
	// PageSize is the repair's, and LeaveEachPage makes it leave the rest to
	// another message after each page.
	PageSize      int
	LeaveEachPage bool
}

// process is one process of the functions: its caches, its memory of what it
// asked for, and what it has under way. The world reads dead under its lock.
type process struct {
	world   *World
	name    string
	program Program
	dead    bool
	ticks   atomic.Int64
	lastAsk time.Time

	hook     *indexhook.Hook
	repairer *repair.Repairer
	index    *turnreader.Index
}

const cacheBytes = 1 << 20

func newProcess(w *World, name string, program Program) *process {
	p := &process{world: w, name: name, program: program}
	var store hippo.Store = gate{Store: w.store, process: p}
	if program.Newer {
		store = fixture.Newer{Store: store, By: 1}
	}
	log := slog.New(slog.DiscardHandler)
	asker := repairmsg.NewAsker(p, p.now)
	reconciler := reconcile.New(store, w.layout.Naming, asker)
	p.hook = indexhook.New(w.layout, database, func(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error {
		named := slices.Sorted(slices.Values(ids))
		return reconciler.Reconcile(withTask(ctx, fmt.Sprintf("%s hook %s", name, namesOf(named))), tenant, named)
	}, log)
	options := repair.Options{PageSize: program.PageSize, RunFor: time.Hour, Now: p.now}
	if program.LeaveEachPage {
		options.RunFor = time.Nanosecond
	}
	p.repairer = repair.New(store, w.layout.Naming, reconciler, p, log, options)
	p.index = turnreader.NewIndex(store, w.layout.Naming, asker, cacheBytes, log)
	return p
}

// now is the host's clock. It moves on each time it is read, as a real one does.
func (p *process) now() time.Time {
	return time.Now().Add(p.program.Skew + time.Duration(p.ticks.Add(1))*time.Microsecond)
}

// Publish puts a message on the topic, when it is let through.
func (p *process) Publish(ctx context.Context, m repairmsg.Message) error {
	return p.through(ctx, "Publish", fmt.Sprint(m.Cause, m.After), func() error {
		p.world.published(p, m)
		return nil
	})
}
