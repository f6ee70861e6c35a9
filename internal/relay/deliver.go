package relay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// accept asks Faults how to deliver the event, and does so. It returns when there
// is room for it, or with the context.
func (r *Relay) accept(ctx context.Context, e Event) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	for _, d := range r.plan(e) {
		if err := r.queue(ctx, e, d); err != nil {
			return err
		}
	}
	return nil
}

func (r *Relay) plan(e Event) []Delivery {
	r.decide.Lock()
	defer r.decide.Unlock()
	r.count(&r.stats.Received)
	deliveries := r.opts.Faults(e)
	if len(deliveries) == 0 {
		r.count(&r.stats.Dropped)
	}
	return deliveries
}

// queue waits for room and leaves the delivery to a goroutine of its own.
func (r *Relay) queue(ctx context.Context, e Event, d Delivery) error {
	weight := min(int64(len(e.Data))+perEvent, r.opts.QueueBytes)
	if err := r.room.Acquire(ctx, weight); err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "wait for room in the relay")
	}
	if err := r.life.Err(); err != nil {
		r.room.Release(weight)
		return hippo.Wrap(hippo.Unavailable, err, "wait for room in the relay")
	}
	r.more()
	go func() {
		defer r.finish()
		defer r.room.Release(weight)
		r.deliver(e, d)
	}()
	return nil
}

// deliver tries until the function takes the event, the bounds are reached, or
// the relay ends.
func (r *Relay) deliver(e Event, d Delivery) {
	if !r.sleep(d.Delay) || !r.ready() {
		r.count(&r.stats.Failed)
		return
	}
	deadline := time.Now().Add(r.opts.Window)
	wait := r.opts.Backoff
	for attempt := 1; ; attempt++ {
		err := r.attempt(e)
		if err == nil {
			r.count(&r.stats.Delivered)
			return
		}
		if attempt == r.opts.Attempts || time.Now().Add(wait).After(deadline) {
			r.opts.Log.Warn("event given up", "id", e.ID, "document", e.Change.Path, "attempts", attempt, "error", err)
			r.count(&r.stats.Failed)
			return
		}
		r.count(&r.stats.Retried)
		if !r.sleep(wait) {
			r.count(&r.stats.Failed)
			return
		}
		wait = min(2*wait, r.opts.MaxBackoff)
	}
}

// attempt posts the event once, when one of the open requests is free.
func (r *Relay) attempt(e Event) error {
	if err := r.slots.Acquire(r.life, 1); err != nil {
		return err
	}
	defer r.slots.Release(1)
	ctx, cancel := context.WithTimeout(r.life, r.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *r.target.Load(), bytes.NewReader(e.Data))
	if err != nil {
		return err
	}
	req.Header = e.header.Clone()
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.200q", resp.Status, answer)
	}
	return err
}

// ready waits for a target; false if the relay ended meanwhile.
func (r *Relay) ready() bool {
	select {
	case <-r.pointed:
		return true
	case <-r.life.Done():
		return false
	}
}

// sleep waits; false if the relay ended meanwhile.
func (r *Relay) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.life.Done():
		return false
	}
}
