package environment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/client"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// writers is how many changes are on their way to the store at once.
const writers = 16

// change is a write that somebody makes.
type change struct {
	tenant hippo.TenantID
	name   string
	delete bool
	at     hippo.Micros // zero: now
	plain  bool         // written by another program, without updated_at
}

// Change makes so many random changes: memories are created, updated, deleted,
// renamed, created again, and imported with the dates of long ago.
func (e *Environment) Change(n int) {
	e.Helper()
	var group errgroup.Group
	group.SetLimit(writers)
	for n > 0 {
		for _, c := range e.draw() {
			group.Go(func() error { return e.insist(func() error { return e.write(c) }) })
			n--
		}
	}
	e.must(group.Wait())
}

// Import writes so many memories whose names are long and whose ids meet in one
// shard of eight, with the dates of long ago: 400 of them make the index grow.
func (e *Environment) Import(tenant hippo.TenantID, n int) {
	e.Helper()
	var group errgroup.Group
	group.SetLimit(writers)
	for i, name := range fixture.LongNames(n, hippo.MinShards) {
		c := change{tenant: tenant, name: name, at: hippo.Micros(i + 1)}
		group.Go(func() error { return e.insist(func() error { return e.write(c) }) })
	}
	e.must(group.Wait())
}

func (e *Environment) draw() []change {
	e.mu.Lock()
	defer e.mu.Unlock()
	tenant := e.tenants[e.rand.IntN(len(e.tenants))]
	name := func() string { return fmt.Sprintf("pages/%05d", e.rand.IntN(e.setup.Names)) }
	c := change{tenant: tenant, name: name()}
	switch e.rand.IntN(8) {
	case 0, 1:
		c.delete = true
	case 2:
		c.at = hippo.Micros(1 + e.rand.Int64N(1e15))
	case 3:
		c.plain = true
	case 4: // renamed
		c.delete = true
		return []change{{tenant: tenant, name: name()}, c}
	}
	return []change{c}
}

// lockedFor is how long the emulator may keep what a killed process had locked.
const lockedFor = 2 * time.Minute

// insist does something again while its failure is a passing one.
func (e *Environment) insist(do func() error) error {
	ctx, cancel := context.WithTimeout(e.Context(), lockedFor)
	defer cancel()
	for {
		err := do()
		if !hippo.IsKind(err, hippo.Unavailable) || e.pause(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}

func (e *Environment) write(c change) error {
	ctx := e.Context()
	id, err := e.layout.Naming.ID(c.name)
	if err != nil {
		return err
	}
	switch {
	case c.delete:
		err = e.Store.DeleteMemory(ctx, c.tenant, id)
	case c.plain:
		path := hippo.Fill(e.layout.Paths.Memory, string(c.tenant), string(id))
		err = e.Store.PutDocument(ctx, path, map[string]any{"name": c.name, "content": time.Now().String()})
	default:
		err = e.Store.SaveMemory(ctx, c.tenant, hippo.Memory{ID: id, Name: c.name, Content: "x", UpdatedAt: c.at})
	}
	if err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.events++
	}
	return err
}

// restWithin bounds the wait for what is under way.
const restWithin = time.Hour

// Settle waits until every event that is not lost has been acknowledged.
func (e *Environment) Settle() {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), restWithin)
	defer cancel()
	for before := -1; ; {
		e.must(e.Stack.Hook.Idle(ctx))
		received := e.Stack.Hook.Stats().Received
		if received == before { // the emulator has nothing left to post
			return
		}
		before = received
		e.must(e.pause(ctx, time.Second))
	}
}

func (e *Environment) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("waiting in vain: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}

// Repair lets the functions repair every tenant, and waits until they have.
func (e *Environment) Repair() {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), restWithin)
	defer cancel()
	functions := client.New(e.Stack.FunctionsURL)
	for _, tenant := range e.tenants {
		for functions.Push(ctx, repairmsg.Message{Tenant: tenant, Cause: repairmsg.Operator}) != nil {
			e.must(e.pause(ctx, 100*time.Millisecond)) // as the topic delivers it again
		}
	}
}

// WantNothingToRepair demands that another repair writes no document of a right
// index.
func (e *Environment) WantNothingToRepair() {
	e.Helper()
	before := map[hippo.TenantID]hippo.IndexRead{}
	for _, tenant := range e.tenants {
		before[tenant] = e.index(tenant)
	}
	e.Repair()
	for _, tenant := range e.tenants {
		after := e.index(tenant)
		if diff := cmp.Diff(before[tenant].Meta, after.Meta); diff != "" {
			e.Errorf("seed %d: %s: another repair changed meta: %s", e.Seed, tenant, diff)
		}
		for i, s := range before[tenant].Shards {
			if i < len(after.Shards) && after.Shards[i].ID == s.ID && after.Shards[i].Rev != s.Rev {
				e.Errorf("seed %d: %s: another repair wrote shard %s", e.Seed, tenant, s.ID)
			}
		}
	}
}

// Shards is how many shards a tenant's index has.
func (e *Environment) Shards(tenant hippo.TenantID) int {
	e.Helper()
	return e.index(tenant).Meta.Current.Shards
}

func (e *Environment) index(tenant hippo.TenantID) hippo.IndexRead {
	e.Helper()
	index, err := e.Store.ReadIndex(e.Context(), tenant)
	e.must(err)
	return index
}

// WantRight demands that each tenant's index becomes equal to its memories with
// what is on its way by now, and none of its shards too large, and that a turn then
// lists what a scan does and reads what a warm one may.
func (e *Environment) WantRight() {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), restWithin)
	defer cancel()
	for _, tenant := range e.tenants {
		e.wantRight(ctx, tenant)
	}
}

func (e *Environment) wantRight(ctx context.Context, tenant hippo.TenantID) {
	e.Helper()
	checker := repair.New(e.Store, e.layout.Naming, nil, repairmsg.Nobody{}, nil, repair.Options{})
	functions := client.New(e.Stack.FunctionsURL)
	const patience = 300
	for round := 0; ; round++ {
		check, err := checker.Check(ctx, tenant)
		e.must(err)
		known, err := functions.Turn(ctx, turnRequest(tenant)) // which asks for what is missing
		e.must(err)
		meta := e.index(tenant).Meta
		if check.Equal && check.Counts[hippo.Oversize] == 0 && meta.Next.IsZero() && known.Ledger.Index == turnreader.Warm {
			e.wantList(ctx, tenant, known)
			e.wantCheap(tenant, known, meta.Current.Shards)
			return
		}
		if round == patience || check.Counts[hippo.Absent] == 0 && !check.Equal && round > 20 {
			e.Fatalf("seed %d: %s is not right: %v %.20v", e.Seed, tenant, check.Counts, check.Findings)
		}
		e.must(e.pause(ctx, time.Second))
	}
}

// wantCheap demands that a warm turn of which nothing changed read meta alone,
// once for each query.
func (e *Environment) wantCheap(tenant hippo.TenantID, turn turnreader.Turn, shards int) {
	e.Helper()
	for _, read := range turn.Ledger.Reads {
		if want := (shards + 28) / 29; read.Query == "ReadIndexSince" && read.Documents > want {
			e.Errorf("seed %d: %s: a warm turn read %d documents of an index of %d shards, want %d", e.Seed, tenant, read.Documents, shards, want)
		}
	}
}

func turnRequest(tenant hippo.TenantID) functions.TurnRequest {
	return functions.TurnRequest{ThreadRef: functions.ThreadRef{Tenant: string(tenant), Thread: "main"}}
}

// wantList compares the names that a turn shows with the first ones of a scan.
func (e *Environment) wantList(ctx context.Context, tenant hippo.TenantID, turn turnreader.Turn) {
	e.Helper()
	entries, err := e.Store.ScanEntries(ctx, tenant, "", 0)
	e.must(err)
	var want []string
	for _, item := range e.layout.Naming.Items(entries) {
		want = append(want, "- "+item.Name)
	}
	var got []string
	for _, b := range turn.Blocks {
		if b.Kind == turnreader.MemoryList {
			for line := range strings.Lines(b.Text) {
				if strings.HasPrefix(line, "- ") {
					got = append(got, strings.TrimSpace(line))
				}
			}
		}
	}
	if diff := cmp.Diff(want[:min(len(got), len(want))], got); diff != "" || len(want) > 0 && len(got) == 0 {
		e.Errorf("seed %d: %s: a turn's list differs from the scan (-scan +turn):\n%s", e.Seed, tenant, diff)
	}
	if turn.Ledger.Memories != len(want) {
		e.Errorf("seed %d: %s: a turn knows %d memories of %d", e.Seed, tenant, turn.Ledger.Memories, len(want))
	}
}
