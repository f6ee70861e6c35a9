package relay

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
)

// ServeHTTP takes an event that the Firestore emulator posts, and answers when
// there is room for it. The emulator stops waiting after 20 seconds and would
// then lose the event, so the relay goes on waiting in its place.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	e, err := posted(req)
	if err != nil {
		r.opts.Log.Warn("what the emulator posted is no event", "path", req.URL.Path, "error", err)
	} else if err = r.begin(); err == nil {
		defer r.finish()
		err = r.accept(context.WithoutCancel(req.Context()), e)
	}
	if err != nil {
		http.Error(w, err.Error(), hippo.ErrorKindOf(err).HTTPStatus())
	}
}

// maker makes an event when there is room for it.
type maker func() (Event, error)

// Publish delivers a change as an event if its path is of the relay's pattern.
// It never waits, because its caller may be the function that has to answer
// before there is room. The error is of kind Unavailable once the relay is
// closed.
func (r *Relay) Publish(change docevent.Change) error {
	if _, ok := hippo.Match(r.opts.Pattern, change.Path); !ok && r.opts.Pattern != "" {
		return nil
	}
	now := time.Now()
	return r.publish(func() (Event, error) { return published(rand.Text(), change, now) })
}

// PublishMessage delivers a message as a Pub/Sub push subscription would; the
// function acknowledges it with its answer. It fails as Publish does, and with
// Invalid for a message without data, as Pub/Sub does.
func (r *Relay) PublishMessage(subscription string, data []byte) error {
	if len(data) == 0 {
		return hippo.Errorf(hippo.Invalid, "data", "is missing: Pub/Sub takes no empty message")
	}
	now := time.Now()
	return r.publish(func() (Event, error) { return pushed(rand.Text(), subscription, data, now) })
}

func (r *Relay) publish(m maker) error {
	if err := r.begin(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backlog = append(r.backlog, m)
	if !r.feeding {
		r.feeding = true
		go r.feed()
	}
	return nil
}

// feed delivers the backlog in its order, until there is none.
func (r *Relay) feed() {
	for m := r.next(); m != nil; m = r.next() {
		e, err := m()
		if err == nil {
			err = r.accept(r.life, e)
		}
		if err != nil {
			r.opts.Log.Warn("event not delivered", "id", e.ID, "document", e.Change.Path, "error", err)
			r.count(&r.stats.Failed)
		}
		r.finish()
	}
}

func (r *Relay) next() maker {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.backlog) == 0 {
		r.backlog, r.feeding = nil, false
		return nil
	}
	m := r.backlog[0]
	r.backlog = r.backlog[1:]
	return m
}
