package indexhook

import (
	"context"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// How long and how many ids a batch collects, and how long it may take to write
// them. A lane whose previous batch is being written collects until that is done.
//
// A batch closes when nothing came for its tenant within collectFor, and not that
// long after it opened: while a backlog is being delivered, the events that will
// come stand in queues before this process, and how fast they get here depends on
// how busy it is. With 500 requests open on two busy cores, batches of a fixed 25
// ms held 17 to 42 ids; those of this rule hold some 60, which is all that 500
// requests can give each of 8 shards. maxCollect bounds what a steady stream of
// events pays for that in time.
const (
	collectFor   = 25 * time.Millisecond
	maxCollect   = 400 * time.Millisecond
	maxBatch     = 500
	batchTimeout = 60 * time.Second
)

// lanes is the number of lanes of a tenant. The shards of any generation are a
// multiple of it, and the lane of an id is the shard it would have among so few,
// so that the ids of one shard always meet in one lane.
var lanes = hippo.Generation{Shards: hippo.ShardStep}

// Reconcile makes the entries of the named memories equal to what the store
// holds.
type Reconcile func(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error

// Coalescer gathers ids whose entries lie in the same shards, so that many events
// cost one write. An id is in a batch before the batch reads anything, and what
// arrives later goes into the next one. It is safe for concurrent use.
type Coalescer struct {
	reconcile Reconcile

	mu      sync.Mutex
	tenants map[hippo.TenantID]*tenant
}

// tenant is one for which something is being collected or written.
type tenant struct {
	// last is when the latest id came.
	last  time.Time
	lanes map[int]*lane
}

// lane is a queue of batches, of which the last is open.
type lane struct {
	queue []*batch
}

// batch is a set of ids that are written together. errs and done are read after
// done is closed, ids not after it left the queue.
type batch struct {
	opened time.Time
	ids    map[hippo.MemoryID]bool
	errs   map[hippo.MemoryID]error
	// full is closed when the batch takes no more, done when it has been written.
	full, done chan struct{}
}

// NewCoalescer makes a Coalescer that writes through reconcile.
func NewCoalescer(reconcile Reconcile) *Coalescer {
	return &Coalescer{reconcile: reconcile, tenants: make(map[hippo.TenantID]*tenant)}
}

// Add puts an id into a batch and returns when that batch has been written, with
// the error for this id. A context that ends first is an error too; the batch is
// written all the same.
func (c *Coalescer) Add(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) error {
	b := c.join(tenant, id)
	select {
	case <-b.done:
		return b.errs[id]
	case <-ctx.Done():
		return hippo.Wrap(hippo.Unavailable, ctx.Err(), "waiting for the index to be written")
	}
}

// join adds an id to its lane's open batch, and starts the lane where it rests.
func (c *Coalescer) join(of hippo.TenantID, id hippo.MemoryID) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[of]
	if t == nil {
		t = &tenant{lanes: make(map[int]*lane)}
		c.tenants[of] = t
	}
	t.last = time.Now()
	n := lanes.ShardOf(id).N
	l := t.lanes[n]
	if l == nil {
		l = &lane{}
		t.lanes[n] = l
		go c.run(of, n)
	}
	b := l.open(t.last)
	if b.ids[id] = true; len(b.ids) == maxBatch {
		close(b.full)
	}
	return b
}

// open is the lane's open batch.
func (l *lane) open(now time.Time) *batch {
	if n := len(l.queue); n > 0 && len(l.queue[n-1].ids) < maxBatch {
		return l.queue[n-1]
	}
	b := &batch{opened: now, ids: make(map[hippo.MemoryID]bool), full: make(chan struct{}), done: make(chan struct{})}
	l.queue = append(l.queue, b)
	return b
}

// run writes a lane's batches one after the other and ends with the last.
func (c *Coalescer) run(of hippo.TenantID, n int) {
	for {
		b, wait := c.next(of, n)
		switch {
		case b == nil:
			return
		case wait > 0:
			select {
			case <-time.After(wait):
			case <-b.full:
			}
		default:
			c.write(of, b)
			close(b.done)
		}
	}
}

// next is a lane's first batch and how long it goes on collecting. One that does
// not is closed and taken. Where there is none the lane is taken away.
func (c *Coalescer) next(of hippo.TenantID, n int) (*batch, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[of]
	l := t.lanes[n]
	if len(l.queue) == 0 {
		if delete(t.lanes, n); len(t.lanes) == 0 {
			delete(c.tenants, of)
		}
		return nil, 0
	}
	b := l.queue[0]
	wait := min(time.Until(t.last.Add(collectFor)), time.Until(b.opened.Add(maxCollect)))
	if wait > 0 && len(b.ids) < maxBatch {
		return b, wait
	}
	l.queue = l.queue[1:]
	return b, 0
}

func (c *Coalescer) write(tenant hippo.TenantID, b *batch) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	ids := make([]hippo.MemoryID, 0, len(b.ids))
	for id := range b.ids {
		ids = append(ids, id)
	}
	b.errs = make(map[hippo.MemoryID]error)
	c.halve(ctx, tenant, ids, b.errs)
}

// halve writes ids; where the store refuses them for good it writes each half by
// itself, until the id at fault stands alone.
func (c *Coalescer) halve(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID, errs map[hippo.MemoryID]error) {
	err := c.reconcile(ctx, tenant, ids)
	if err == nil {
		return
	}
	if len(ids) > 1 && !hippo.ErrorKindOf(err).Retry() {
		c.halve(ctx, tenant, ids[:len(ids)/2], errs)
		c.halve(ctx, tenant, ids[len(ids)/2:], errs)
		return
	}
	for _, id := range ids {
		errs[id] = err
	}
}
