package turnreader

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tokens"
)

// work is one turn being built.
type work struct {
	*Reader
	req      Request
	contract contract.Contract
	count    tokens.Counter
	limit    *int              // of the whole turn
	given    map[BlockKind]int // what the caller's own blocks cost

	source Source
	known  *Known // nil where the list was not read
	list   text
	facts  text
	window window
	plan   plan
	buffer Buffer

	mu      sync.Mutex
	stages  map[string]time.Duration
	dropped []Drop
}

func newWork(r *Reader, req Request) *work {
	w := &work{Reader: r, req: req, contract: contract.Default(), count: r.tokens, given: map[BlockKind]int{}, source: None, stages: map[string]time.Duration{}}
	if req.Contract != nil {
		w.contract = *req.Contract
	}
	if req.Tokens != nil {
		w.count = req.Tokens
	}
	for _, bound := range []*int{req.Budget, w.contract.MaxTokens} {
		if bound != nil && (w.limit == nil || *bound < *w.limit) {
			w.limit = bound
		}
	}
	return w
}

// listShare is the part of the deadline that the list has, so that a list that is
// late leaves time for the buffer.
const listShare = 0.6

// build reads the list and the messages at the same time, fits them to the budget,
// and reads the buffer where something lies before the oldest message shown.
func (w *work) build(ctx context.Context) error {
	if err := w.checkGiven(); err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, w.deadline)
	defer cancel()
	group, both := errgroup.WithContext(timed)
	group.Go(func() error {
		defer w.time("list")()
		soon, cancel := context.WithTimeout(both, time.Duration(float64(w.deadline)*listShare))
		defer cancel()
		return w.readList(ctx, soon)
	})
	group.Go(func() error {
		return w.readMessages(both)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	w.fitTexts()
	return w.fitAll(ctx, timed)
}

// fitAll settles what is shown. Room for the buffer is set aside before it is
// read, because what it says depends on the oldest message shown.
func (w *work) fitAll(ctx, timed context.Context) error {
	p, err := w.fit(0)
	if err != nil {
		return err
	}
	if w.contract.Includes(BufferBlock) && (w.window.older || p.hides()) {
		room := w.bufferRoom()
		with, err := w.fit(room)
		if err != nil {
			return err
		}
		switch {
		case with.out[BufferBlock]:
		case room == 0:
			w.drop(BufferBlock, w.bufferWhy(), 0, 0)
		default:
			if err := w.readBufferAt(ctx, timed, w.start(with), room); err != nil {
				return err
			}
		}
		if with.out[BufferBlock] || w.buffer.Text != "" {
			p = with
		}
	}
	w.settle(p)
	return nil
}

// readList reads the list where the turn may carry it. A list that does not come
// is left out.
func (w *work) readList(ctx, soon context.Context) error {
	if !w.contract.Includes(MemoryList) {
		return nil
	}
	known, source, err := w.index.Known(soon, w.req.Tenant)
	if err != nil {
		return w.without(ctx, soon, MemoryList, err)
	}
	w.known, w.source = known, source
	w.list = listText(known)
	return nil
}

// without goes on without a block that could not be read. Where the turn itself
// ended, or the failure is none that passes, it does not.
func (w *work) without(ctx, soon context.Context, b BlockKind, err error) error {
	if ctx.Err() != nil || !hippo.IsKind(err, hippo.Unavailable) {
		return err
	}
	why := Unavailable
	if soon.Err() != nil {
		why = Late
	}
	w.drop(b, why, 0, 0)
	return nil
}

// readMessages reads the window, and one message more to know whether there is
// one.
func (w *work) readMessages(ctx context.Context) error {
	var messages []hippo.Message
	if w.contract.Includes(RecentBlock) {
		done := w.time("messages")
		var err error
		messages, err = w.store.RecentMessages(ctx, w.req.Tenant, w.req.Thread, w.Reader.window+1)
		done()
		if err != nil {
			return err
		}
	}
	defer w.time("fit")()
	var err error
	w.window, err = w.newWindow(messages)
	if !w.contract.Includes(RecentBlock) {
		w.window.older = true
	}
	return err
}

// readBufferAt reads the buffer for a window that begins at start, and shortens it
// to room. Without the list, whose word a pointer needs, the index is asked for it;
// where that was late already, the lines stand without pointers.
func (w *work) readBufferAt(ctx, timed context.Context, start hippo.Position, room int) error {
	defer w.time("buffer")()
	episodes, gap, err := w.readBuffer(timed, w.req.Tenant, w.req.Thread, start)
	if err == nil && len(episodes) > 0 {
		w.buffer, err = w.renderBuffer(timed, episodes, gap)
	}
	if err != nil {
		w.buffer = Buffer{}
		return w.without(ctx, timed, BufferBlock, err)
	}
	w.shortenBuffer(room)
	return nil
}

func (w *work) renderBuffer(ctx context.Context, episodes []hippo.Episode, gap bool) (Buffer, error) {
	points := slices.ContainsFunc(episodes, func(e hippo.Episode) bool { return e.Blocked == "" && len(e.Pointers) > 0 })
	if points && !w.contract.Includes(MemoryList) {
		var err error
		if w.known, w.source, err = w.index.Known(ctx, w.req.Tenant); err != nil {
			return Buffer{}, err
		}
	}
	if w.known == nil {
		episodes = slices.Clone(episodes)
		for i := range episodes {
			episodes[i].Pointers = nil
		}
	}
	return w.render(ctx, w.req.Tenant, episodes, gap, w.known)
}

// start is where the window begins for the buffer: at the oldest message shown, or
// behind the newest where none is.
func (w *work) start(p plan) hippo.Position {
	if !w.contract.Includes(RecentBlock) {
		return hippo.EndOfTime
	}
	start := w.window.newest.After()
	if w.window.stored == w.window.newest {
		start = w.window.stored
	}
	for _, u := range p.units {
		if u.position().Before(start) {
			start = u.position()
		}
	}
	return start
}

func (w *work) time(stage string) func() {
	start := time.Now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stages[stage] += time.Since(start)
	}
}

// drop notes what is not shown.
func (w *work) drop(b BlockKind, why Why, count, tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.dropped {
		if d := &w.dropped[i]; d.Block == b && d.Why == why {
			d.Count += count
			d.Tokens += tokens
			return
		}
	}
	w.dropped = append(w.dropped, Drop{Block: b, Why: why, Count: count, Tokens: tokens})
}
