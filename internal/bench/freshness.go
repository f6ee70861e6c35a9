package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sethvargo/go-envconfig"
	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/client"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/store/firestoredb"
	"github.com/hippofire/hippofire/turnreader"
)

// FreshnessRow says how soon a change of one sort shows in the list of a turn.
type FreshnessRow struct {
	// Path is how the change was made: by a program that writes the memory, so
	// that the trigger tells of it, or by RecordEpisode.
	Path string `json:"path"`
	// Change is "created" or "deleted".
	Change string           `json:"change"`
	Trials int              `json:"trials"`
	After  []FreshnessShare `json:"after"`
}

// FreshnessShare is the share of trials in which a turn that began so long after
// the change was acknowledged showed it.
type FreshnessShare struct {
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"`
}

// The paths.
const (
	byTrigger = "trigger"
	byRecord  = "RecordEpisode"
)

// trialsApart is the time between the beginnings of two trials, so that they are
// not each other's load.
const trialsApart = 100 * time.Millisecond

// Freshness makes changes one after the other and looks at the list after each of
// the times, on a stack of its own with so many memories beside those changed.
func Freshness(ctx context.Context, kind localstack.StoreKind, memories, trials int, after []time.Duration, doing func(what string, done int)) (rows []FreshnessRow, err error) {
	b := &freshnessBench{trials: trials, after: slices.Sorted(slices.Values(after)), doing: doing}
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := b.start(ctx, kind, memories); err != nil {
		return nil, err
	}
	for _, path := range []string{byTrigger, byRecord} {
		for _, change := range []string{"created", "deleted"} {
			row, err := b.row(ctx, path, change)
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

type freshnessBench struct {
	trials int
	after  []time.Duration
	doing  func(what string, done int)

	dir       string
	stack     *localstack.Stack
	functions *client.Client
	world     *World

	mu    sync.Mutex
	shown []int // by the place of the time in after
}

func (b *freshnessBench) start(ctx context.Context, kind localstack.StoreKind, memories int) (err error) {
	if b.dir, err = os.MkdirTemp("", "hippofire-bench-"); err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "making a folder")
	}
	layout := hippo.DefaultLayout()
	b.stack, err = localstack.Start(ctx, localstack.Config{
		Store: kind, Dir: b.dir, Functions: localstack.FrameworkOf(func(ctx context.Context, with localstack.Wiring) (*functions.App, error) {
			log := slog.New(slog.NewTextHandler(io.Discard, nil))
			if with.Store == nil {
				return functions.FromEnv(ctx, log)
			}
			b.world = &World{Store: with.Store, Layout: layout}
			config, err := functions.ConfigFromEnv(ctx, envconfig.MapLookuper(with.Env))
			if err != nil {
				return nil, err
			}
			return functions.New(config, functions.Parts{Store: with.Store, Log: log})
		}),
	})
	if err != nil {
		return err
	}
	if b.world == nil {
		store, err := firestoredb.Open(ctx, firestoredb.Config{ProjectID: b.stack.Project, EmulatorHost: b.stack.FirestoreHost}, layout)
		if err != nil {
			return err
		}
		b.world = &World{Store: store, Layout: layout, closes: []func() error{store.Close}}
	}
	b.functions = client.New(b.stack.FunctionsURL)
	if err := b.world.grow(ctx, 0, memories, func(n int) { b.doing("writing memories", n) }); err != nil {
		return err
	}
	if _, err := b.world.build(ctx, func(n int) { b.doing("building the index", n) }); err != nil {
		return err
	}
	return b.stack.Hook.Idle(ctx)
}

func (b *freshnessBench) stop() error {
	var errs []error
	if b.world != nil {
		errs = append(errs, b.world.Close())
	}
	if b.stack != nil {
		errs = append(errs, b.stack.Stop(context.Background()))
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

func (b *freshnessBench) row(ctx context.Context, path, change string) (FreshnessRow, error) {
	b.shown = make([]int, len(b.after))
	group, ctx := errgroup.WithContext(ctx)
	for i := range b.trials {
		b.doing(change+" by "+path, i)
		group.Go(func() error { return b.trial(ctx, path, change, i) })
		if err := wait(ctx, trialsApart); err != nil {
			break
		}
	}
	if err := group.Wait(); err != nil {
		return FreshnessRow{}, err
	}
	row := FreshnessRow{Path: path, Change: change, Trials: b.trials}
	for i, after := range b.after {
		row.After = append(row.After, FreshnessShare{Seconds: after.Seconds(), Share: float64(b.shown[i]) / float64(b.trials)})
	}
	return row, nil
}

// trial makes one change and looks for it after each of the times.
func (b *freshnessBench) trial(ctx context.Context, path, change string, i int) error {
	t := trial{freshnessBench: b, name: fmt.Sprintf("news/%s %s %d", path, change, i), thread: fmt.Sprintf("%s-%s-%d", path, change, i)}
	err := t.prepare(ctx, path, change == "deleted")
	if err == nil {
		err = t.change(ctx, path, change == "deleted")
	}
	if err != nil {
		return err
	}
	changed := time.Now()
	for at, after := range b.after {
		if err := wait(ctx, time.Until(changed.Add(after))); err != nil {
			return err
		}
		listed, err := t.listed(ctx)
		if err != nil {
			return err
		}
		if listed != (change == "deleted") {
			b.mu.Lock()
			b.shown[at]++
			b.mu.Unlock()
		}
	}
	return nil
}

// trial is one memory that comes or goes, and the thread that tells of it.
type trial struct {
	*freshnessBench
	name, thread string
}

// prepare does what comes before the change: the conversation it is from, and the
// memory that will be deleted, until a turn lists it.
func (t trial) prepare(ctx context.Context, path string, exists bool) error {
	if path == byRecord {
		_, err := t.functions.Save(ctx, functions.SaveRequest{ThreadRef: t.ref(), Messages: []functions.Message{
			{ID: "m1", Role: string(hippo.User), Content: "What is new?"}, {ID: "m2", Role: string(hippo.Assistant), Content: "This."},
		}})
		if err != nil {
			return err
		}
	}
	if !exists {
		return nil
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	const tries = 600
	for range tries {
		listed, err := t.listed(ctx)
		if listed || err != nil {
			return err
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return hippo.Errorf(hippo.Unavailable, "", "%q is never listed", t.name)
}

func (t trial) ref() functions.ThreadRef {
	return functions.ThreadRef{Tenant: string(Tenant), Thread: t.thread}
}

func (t trial) write(ctx context.Context) error {
	id, err := t.world.Layout.Naming.ID(t.name)
	if err != nil {
		return err
	}
	return t.world.SaveMemory(ctx, Tenant, hippo.Memory{ID: id, Name: t.name, Content: content})
}

func (t trial) change(ctx context.Context, path string, deletes bool) error {
	if path == byRecord {
		req := episodewriter.Request{Tenant: Tenant, Thread: hippo.ThreadID(t.thread), From: "m1", To: "m2"}
		if deletes {
			req.Deletes = []string{t.name}
		} else {
			req.Writes = []episodewriter.Write{{Name: t.name, Content: content}}
		}
		_, err := t.functions.Record(ctx, req)
		return err
	}
	if !deletes {
		return t.write(ctx)
	}
	id, err := t.world.Layout.Naming.ID(t.name)
	if err != nil {
		return err
	}
	return t.world.DeleteMemory(ctx, Tenant, id)
}

// listed says whether a turn shows the memory's name in its list.
func (t trial) listed(ctx context.Context) (bool, error) {
	turn, err := t.functions.Turn(ctx, functions.TurnRequest{ThreadRef: t.ref()})
	if err != nil {
		return false, err
	}
	for _, block := range turn.Blocks {
		if block.Kind == turnreader.MemoryList && strings.Contains(block.Text, "- "+t.name+"\n") {
			return true, nil
		}
	}
	return false, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return hippo.Wrap(hippo.Unavailable, ctx.Err(), "measuring")
	case <-time.After(d):
		return nil
	}
}
