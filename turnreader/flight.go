package turnreader

import (
	"context"
	"sync"
	"time"
)

// How long a shared read may take, and how long the next one waits for the one
// under way before it begins beside it.
const (
	flightTimeout  = 30 * time.Second
	flightPatience = 20 * time.Millisecond
)

// flights lets callers share a piece of work, but never one that began before
// they came: what they get is as new as if they had done it themselves. While one
// is under way, those who come gather for the next. It is safe for concurrent use.
type flights[K comparable, V any] struct {
	mu      sync.Mutex
	waiting map[K]*flight[V]
	running map[K]*flight[V]
}

type flight[V any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	// aboard counts those who wait; the work is stopped when nobody does.
	aboard int
	done   chan struct{}
	value  V
	err    error
}

func newFlights[K comparable, V any]() *flights[K, V] {
	return &flights[K, V]{waiting: make(map[K]*flight[V]), running: make(map[K]*flight[V])}
}

// do runs work, or waits for a run of it that begins from now on. It reports
// whether the run was this caller's own.
func (s *flights[K, V]) do(ctx context.Context, key K, work func(context.Context) (V, error)) (value V, own bool, err error) {
	f, own := s.board(ctx, key, work)
	select {
	case <-f.done:
		return f.value, own, f.err
	case <-ctx.Done():
		s.leave(f)
		return value, own, ctx.Err()
	}
}

func (s *flights[K, V]) board(ctx context.Context, key K, work func(context.Context) (V, error)) (*flight[V], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.waiting[key]; f != nil && f.aboard > 0 {
		f.aboard++
		return f, false
	}
	f := &flight[V]{aboard: 1, done: make(chan struct{})}
	f.ctx, f.cancel = context.WithTimeout(context.WithoutCancel(ctx), flightTimeout)
	s.waiting[key] = f
	go s.fly(key, f, s.running[key], work)
	return f, true
}

func (s *flights[K, V]) leave(f *flight[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.aboard--; f.aboard == 0 {
		f.cancel()
	}
}

func (s *flights[K, V]) fly(key K, f, before *flight[V], work func(context.Context) (V, error)) {
	defer f.cancel()
	if before != nil {
		select {
		case <-before.done:
		case <-time.After(flightPatience):
		}
	}
	s.mu.Lock()
	if s.waiting[key] == f {
		delete(s.waiting, key)
	}
	s.running[key] = f
	s.mu.Unlock()

	f.value, f.err = work(f.ctx)

	s.mu.Lock()
	if s.running[key] == f {
		delete(s.running, key)
	}
	s.mu.Unlock()
	close(f.done)
}
