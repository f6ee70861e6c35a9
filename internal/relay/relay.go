// Package relay stands between Firestore's changes and a function on this
// machine, where Eventarc stands in production.
//
// The Firestore emulator posts an event and waits for the answer before it posts
// the next one of the same trigger; after 20 seconds without an answer it drops
// the event. It never delivers twice, and what it posts is no event that the
// CloudEvents SDK takes. So the relay answers as soon as it has room, and
// delivers from a bounded queue: many events at once, as well-formed CloudEvents
// in binary mode, again and again until the function takes them. A store without
// triggers gives it its changes through Publish.
package relay

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hippofire/hippofire/hippo"
)

// Options say how a relay delivers. A zero field takes its default.
type Options struct {
	// Pattern is the path template of the documents whose changes Publish
	// delivers; other changes pass by. Without it all do.
	Pattern string
	// Concurrency bounds the requests open at once. Default 80, which is Cloud
	// Run's own for one instance.
	Concurrency int
	// QueueBytes bounds what waits to be delivered: an event's payload, and 4 KiB
	// for what is kept beside it. Beyond it the emulator waits, and what was
	// published is kept as the few bytes that it is. Default 64 MiB, some 15,000
	// small events.
	QueueBytes int64
	// Attempts and Window bound how often and for how long an event is tried.
	// Defaults 200 and 10 minutes, in which a function has time to be restarted;
	// Eventarc's own window is 24 hours.
	Attempts int
	Window   time.Duration
	// Backoff and MaxBackoff are the first and the longest wait between two
	// attempts; in between it doubles. Defaults 100 ms and 5 s.
	Backoff    time.Duration
	MaxBackoff time.Duration
	// Timeout bounds one request. Where a function takes longer, the event is
	// delivered again beside it, as in production. Default 1 minute.
	Timeout time.Duration
	// Faults, where it is set, decides for each event how it is delivered: not at
	// all, or as often and as late as it says. It is called for one event at a
	// time, in the order of their arrival.
	Faults func(Event) []Delivery
	// Transport carries the requests; nil is HTTP.
	Transport http.RoundTripper
	// Log hears of events that were given up; nil is silence.
	Log *slog.Logger
}

// Delivery is one delivery of an event.
type Delivery struct {
	// Delay is how long the first attempt waits.
	Delay time.Duration
}

// perEvent is what a waiting event is taken to use beside its payload.
const perEvent = 4 << 10

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	set(&d.Concurrency, 80)
	set(&d.QueueBytes, 64<<20)
	set(&d.Attempts, 200)
	set(&d.Window, 10*time.Minute)
	set(&d.Backoff, 100*time.Millisecond)
	set(&d.MaxBackoff, 5*time.Second)
	set(&d.Timeout, time.Minute)
	if d.Faults == nil {
		d.Faults = func(Event) []Delivery { return []Delivery{{}} }
	}
	if d.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.MaxIdleConns = d.Concurrency, d.Concurrency
		d.Transport = t
	}
	if d.Log == nil {
		d.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return d
}

func set[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Stats counts what a relay did since it was made.
type Stats struct {
	// Received counts the events that came in, Dropped those of them that Faults
	// let fall.
	Received int
	Dropped  int
	// Delivered, Retried and Failed count deliveries: those the function took,
	// attempts it did not take, and deliveries given up.
	Delivered int
	Retried   int
	Failed    int
	// Pending counts deliveries under way, and events that wait for room.
	Pending int
}

// Relay delivers events to one function. It is an http.Handler for what the
// Firestore emulator posts. Close ends it.
type Relay struct {
	opts    Options
	client  *http.Client
	room    *semaphore.Weighted
	slots   *semaphore.Weighted
	target  atomic.Pointer[string]
	pointed chan struct{} // closed when there is a target
	life    context.Context
	end     context.CancelFunc

	decide sync.Mutex // held while Faults is asked

	mu      sync.Mutex
	closed  bool
	stats   Stats
	idle    chan struct{} // closed while nothing is pending
	backlog []maker       // what was published and waits for room
	feeding bool
}

// New makes a relay; nil options are the defaults. It takes events at once and
// delivers them when Point has told it where.
func New(opts *Options) *Relay {
	o := opts.withDefaults()
	r := &Relay{
		opts:    o,
		client:  &http.Client{Transport: o.Transport},
		room:    semaphore.NewWeighted(o.QueueBytes),
		slots:   semaphore.NewWeighted(int64(o.Concurrency)),
		pointed: make(chan struct{}),
		idle:    make(chan struct{}),
	}
	close(r.idle)
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// Point gives the URL of the function. Called again, it leads what is not yet
// delivered to another one. Its error is of kind Invalid.
func (r *Relay) Point(target string) error {
	if u, err := url.Parse(target); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return hippo.Errorf(hippo.Invalid, "target", "%q is no http URL", target)
	}
	if r.target.Swap(&target) == nil {
		close(r.pointed)
	}
	return nil
}

// Stats is what the relay did so far.
func (r *Relay) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Idle waits until nothing is pending here. The emulator may hold events that it
// has not posted yet.
func (r *Relay) Idle(ctx context.Context) error {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return hippo.Wrap(hippo.Unavailable, ctx.Err(), "wait for the relay to be idle")
	}
}

// Close takes no further event and waits until what is pending is delivered.
// When the context ends it gives the rest up and says how many that were.
func (r *Relay) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	idle := r.idle
	r.mu.Unlock()
	defer r.client.CloseIdleConnections()
	defer r.end()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	lost := r.Stats().Pending
	r.end()
	<-idle
	return hippo.Errorf(hippo.Unavailable, "", "the relay gave up %d events when it was closed", lost)
}

// begin notes work under way; an error of kind Unavailable once the relay is
// closed.
func (r *Relay) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return hippo.Errorf(hippo.Unavailable, "", "the relay is closed")
	}
	r.addPending()
	return nil
}

// more notes more work while some is under way, also in a closed relay.
func (r *Relay) more() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addPending()
}

func (r *Relay) addPending() {
	if r.stats.Pending == 0 {
		r.idle = make(chan struct{})
	}
	r.stats.Pending++
}

// finish notes the end of a piece of work.
func (r *Relay) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Pending--
	if r.stats.Pending == 0 {
		close(r.idle)
	}
}

func (r *Relay) count(counter *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*counter++
}
