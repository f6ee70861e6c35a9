package simulation

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
)

// A call is a store call, or a message on its way to the topic, that waits to be
// let through.
type call struct {
	process *process
	// key tells calls apart in the same way in every run of a history.
	key    string
	method string
	// answer takes what is to become of the call.
	answer chan fate
}

// fate is what becomes of a call.
type fate struct {
	// before is the error with which the call ends without being made, after the
	// one with which it ends although it was made.
	before, after error
}

type taskKey struct{}

// withTask names the task in which calls under the context are made.
func withTask(ctx context.Context, task string) context.Context {
	return context.WithValue(ctx, taskKey{}, task)
}

// through holds a call until it is let through, and makes it.
func (p *process) through(ctx context.Context, method, detail string, make func() error) error {
	task, _ := ctx.Value(taskKey{}).(string)
	c := &call{process: p, method: method, key: fmt.Sprintf("%s %s %s", task, method, detail), answer: newAnswer()}
	if err := p.world.park(c); err != nil {
		return err
	}
	var f fate
	select {
	case f = <-c.answer:
	case <-ctx.Done():
		p.world.unpark(c)
		return hippo.Wrap(hippo.Unavailable, ctx.Err(), method)
	}
	if f.before != nil {
		return f.before
	}
	if err := make(); err != nil {
		return err
	}
	if f.after != nil {
		p.world.misled(p)
	}
	return f.after
}

// newAnswer has room for the fate, so that whoever decides it never waits.
func newAnswer() chan fate { return make(chan fate, 1) }

// gate is the store as a process sees it.
type gate struct {
	hippo.Store
	process *process
}

func (g gate) Meta(ctx context.Context, tenant hippo.TenantID) (m hippo.Meta, err error) {
	err = g.process.through(ctx, "Meta", "", func() (err error) {
		m, err = g.Store.Meta(ctx, tenant)
		return err
	})
	return m, err
}

func (g gate) ReadIndex(ctx context.Context, tenant hippo.TenantID) (read hippo.IndexRead, err error) {
	err = g.process.through(ctx, "ReadIndex", "", func() (err error) {
		read, err = g.Store.ReadIndex(ctx, tenant)
		return err
	})
	return read, err
}

func (g gate) ReadIndexSince(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, seen []int64) (read hippo.IndexRead, err error) {
	err = g.process.through(ctx, "ReadIndexSince", "", func() (err error) {
		read, err = g.Store.ReadIndexSince(ctx, tenant, gen, seen)
		return err
	})
	return read, err
}

func (g gate) ScanEntries(ctx context.Context, tenant hippo.TenantID, after hippo.MemoryID, limit int) (entries []hippo.Entry, err error) {
	err = g.process.through(ctx, "ScanEntries", string(after), func() (err error) {
		entries, err = g.Store.ScanEntries(ctx, tenant, after, limit)
		return err
	})
	return entries, err
}

func (g gate) CountMemories(ctx context.Context, tenant hippo.TenantID) (n int, err error) {
	err = g.process.through(ctx, "CountMemories", "", func() (err error) {
		n, err = g.Store.CountMemories(ctx, tenant)
		return err
	})
	return n, err
}

func (g gate) WriteEntries(ctx context.Context, tenant hippo.TenantID, targets []hippo.ShardTarget) error {
	return g.process.through(ctx, "WriteEntries", detailOf(targets...), func() error {
		return g.Store.WriteEntries(ctx, tenant, targets)
	})
}

func (g gate) RemoveEntries(ctx context.Context, tenant hippo.TenantID, target hippo.ShardTarget) error {
	return g.process.through(ctx, "RemoveEntries", detailOf(target), func() error {
		return g.Store.RemoveEntries(ctx, tenant, target)
	})
}

// detailOf names entries without their generation, whose id is drawn anew in each
// run.
func detailOf(targets ...hippo.ShardTarget) string {
	var parts []string
	for _, t := range targets {
		parts = append(parts, fmt.Sprint(t.Shard.N, " ", namesOf(t.IDs)))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// namesOf names some ids, by a sum where they are many.
func namesOf(ids []hippo.MemoryID) string {
	const few = 20
	if len(ids) <= few {
		return fmt.Sprint(ids)
	}
	sum := fnv.New64a()
	for _, id := range ids {
		sum.Write([]byte(id))
	}
	return fmt.Sprintf("%d ids of sum %x", len(ids), sum.Sum64())
}

func (g gate) AnnounceGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta, next hippo.Generation) (m hippo.Meta, err error) {
	err = g.process.through(ctx, "AnnounceGeneration", "", func() (err error) {
		m, err = g.Store.AnnounceGeneration(ctx, tenant, read, next)
		if err == nil {
			g.process.world.announced(g.process, next)
		}
		return err
	})
	return m, err
}

func (g gate) PromoteGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta) (m hippo.Meta, err error) {
	err = g.process.through(ctx, "PromoteGeneration", "", func() (err error) {
		m, err = g.Store.PromoteGeneration(ctx, tenant, read)
		return err
	})
	return m, err
}

func (g gate) SweepIndex(ctx context.Context, tenant hippo.TenantID) (n int, err error) {
	err = g.process.through(ctx, "SweepIndex", "", func() (err error) {
		n, err = g.Store.SweepIndex(ctx, tenant)
		return err
	})
	return n, err
}

func (g gate) SaveReport(ctx context.Context, report hippo.Report) error {
	return g.process.through(ctx, "SaveReport", "", func() error { return g.Store.SaveReport(ctx, report) })
}
