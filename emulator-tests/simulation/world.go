package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/embedded"
)

const (
	tenant   = hippo.TenantID("t")
	database = "(default)"
)

// Stats counts what happened in a history.
type Stats struct {
	Changes, Events, Dropped, Doubled, Messages, Kills, Deleted, Turns, Builds int
	// Faults counts those that were injected, by type.
	Faults map[string]int
}

// World is a store, the processes that work on it, and what is on its way
// between them. It is to be made and used within a synctest bubble, by one
// goroutine.
type World struct {
	Stats  Stats
	store  *embedded.Store
	layout hippo.Layout

	processes []*process
	started   int
	turn      int // whose turn it is to take a delivery

	mu     sync.Mutex
	parked []*call
	// fresh are deliveries that came up since they were last put in order.
	fresh   []*delivery
	waiting []*delivery
	open    int // tasks under way
	wrong   error
	trace   []string
	version int // the newest that was announced since meta was last deleted by hand
}

// delivery is an event or a message that is waiting for a process.
type delivery struct {
	key     string
	change  *docevent.Change
	message *repairmsg.Message
}

// String says which delivery it is, and of what.
func (d *delivery) String() string {
	if d.change != nil {
		return fmt.Sprintf("%s of %s", d.key, d.change.Path)
	}
	return d.key
}

// NewWorld makes a world with a number of processes of a program.
func NewWorld(processes int, program Program) (*World, error) {
	w := &World{layout: hippo.DefaultLayout(), Stats: Stats{Faults: map[string]int{}}}
	store, err := embedded.New(w.layout, &embedded.Options{OnChange: w.changed})
	if err != nil {
		return nil, err
	}
	w.store = store
	for range processes {
		w.processes = append(w.processes, w.start(program))
	}
	return w, nil
}

func (w *World) start(program Program) *process {
	w.started++
	return newProcess(w, fmt.Sprintf("p%d", w.started), program)
}

// Close ends every process and waits for what they have under way.
func (w *World) Close() {
	for i := range w.processes {
		w.die(i)
	}
	time.Sleep(5 * time.Minute) // longer than any wait or timeout there is
	synctest.Wait()
}

// changed is the trigger.
func (w *World) changed(c embedded.Change) {
	if _, _, ok := w.layout.Paths.MatchMemory(c.Path); !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Stats.Changes++
	w.note("changed: %s, exists: %v", c.Path, c.Exists)
	w.fresh = append(w.fresh, &delivery{
		key:    fmt.Sprintf("event %06d", w.Stats.Changes),
		change: &docevent.Change{Project: "p", Database: database, Path: c.Path, UpdatedAt: c.UpdatedAt, Deleted: !c.Exists},
	})
}

// published is the topic.
func (w *World) published(p *process, m repairmsg.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if asked := m.Cause != repairmsg.Continue && m.Cause != repairmsg.Nightly; asked {
		now := time.Now()
		if !p.lastAsk.IsZero() && now.Sub(p.lastAsk) < 59*time.Second {
			w.fail("process %s asked for a repair %v after it had asked for one", p.name, now.Sub(p.lastAsk))
		}
		p.lastAsk = now
	}
	w.fresh = append(w.fresh, &delivery{key: fmt.Sprintf("message %s %s %s", p.name, m.Cause, m.After), message: &m})
}

// misled notes that a process was told of a failure although what it did was
// done; it may well do it again.
func (w *World) misled(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.lastAsk = time.Time{}
}

// announced notes that a process began a generation. Without a hand that deletes
// meta the versions never go back, or else two programs would build in turns.
func (w *World) announced(p *process, next hippo.Generation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Stats.Builds++
	if next.Version < w.version {
		w.fail("process %s began an index of version %d after one of version %d", p.name, next.Version, w.version)
	}
	w.version = max(w.version, next.Version)
}

// fail notes what must never happen. The caller holds the lock.
func (w *World) fail(format string, args ...any) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf(format, args...)
	}
}

var errKilled = hippo.Errorf(hippo.Unavailable, "", "the process was killed")

func (w *World) park(c *call) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.process.dead {
		return errKilled
	}
	w.parked = append(w.parked, c)
	return nil
}

func (w *World) unpark(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = slices.DeleteFunc(w.parked, func(other *call) bool { return other == c })
}

// note keeps a line of what happened.
func (w *World) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// Trace tells what happened so far, a line for each step.
func (w *World) Trace() string { return strings.Join(w.trace, "\n") }

// settle waits until nothing moves any more by itself, and puts what came up into
// an order that is the same in every run.
func (w *World) settle() {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.parked, func(a, b *call) int { return cmp.Compare(a.key, b.key) })
	slices.SortStableFunc(w.fresh, func(a, b *delivery) int { return cmp.Compare(a.key, b.key) })
	w.waiting = append(w.waiting, w.fresh...)
	w.fresh = nil
}

// let lets the i-th waiting call through to its fate.
func (w *World) let(i int, f fate) {
	w.mu.Lock()
	c := w.parked[i]
	w.parked = slices.Delete(w.parked, i, i+1)
	w.mu.Unlock()
	w.note("let through: %s, before: %v, after: %v", c.key, f.before, f.after)
	c.answer <- f
	w.settle()
}

// take takes the i-th waiting delivery out of the queue.
func (w *World) take(i int) *delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.waiting[i]
	w.waiting = slices.Delete(w.waiting, i, i+1)
	return d
}

// deliver hands a delivery to a process. Where the process does not acknowledge
// it, it waits again.
func (w *World) deliver(d *delivery, p *process) {
	w.note("%s is delivered to %s", d, p.name)
	w.task(func(ctx context.Context) {
		var err error
		if d.change != nil {
			var payload []byte
			if payload, err = d.change.Encode(); err == nil {
				err = p.hook.Handle(ctx, d.key, payload)
			}
		} else {
			err = p.repairer.Handle(withTask(ctx, p.name+" "+d.key), *d.message)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if p.dead || err != nil && hippo.ErrorKindOf(err).Retry() {
			w.fresh = append(w.fresh, d)
		}
	})
	if d.change != nil {
		w.Stats.Events++
	} else {
		w.Stats.Messages++
	}
}

// task runs work in a goroutine of its own, as long as the platform lets it.
func (w *World) task(work func(ctx context.Context)) {
	w.mu.Lock()
	w.open++
	w.mu.Unlock()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
		defer cancel()
		work(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
	}()
	w.settle()
}

// die ends the i-th process: what it was about to write is never written, and
// what it has taken is delivered again.
func (w *World) die(i int) {
	p := w.processes[i]
	w.note("killed: %s", p.name)
	w.mu.Lock()
	p.dead = true
	var killed []*call
	w.parked = slices.DeleteFunc(w.parked, func(c *call) bool {
		if c.process == p {
			killed = append(killed, c)
		}
		return c.process == p
	})
	w.mu.Unlock()
	for _, c := range killed {
		c.answer <- fate{before: errKilled}
	}
	w.settle()
}

// Replace kills the i-th process and starts another in its place.
func (w *World) Replace(i int, program Program) {
	w.Stats.Kills++
	w.die(i)
	w.processes[i] = w.start(program)
}

// idle says whether nothing waits and nothing is under way.
func (w *World) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.parked)+len(w.waiting)+len(w.fresh)+w.open == 0
}

func (w *World) found() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrong
}

// maxSteps bounds a drain: whatever is on its way has to arrive.
const maxSteps = 50_000

// Drain lets everything happen that is on its way, without faults, and returns
// when nothing is left.
func (w *World) Drain() error {
	for range maxSteps {
		switch {
		case len(w.parked) > 0:
			w.let(0, fate{})
		case len(w.waiting) > 0:
			for len(w.waiting) > 0 {
				w.turn++
				w.deliver(w.take(0), w.processes[w.turn%len(w.processes)])
			}
		case w.idle():
			return w.found()
		default:
			time.Sleep(time.Second)
			w.settle()
		}
	}
	return errors.New("the world does not come to rest")
}
