package indexhook

import (
	"context"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// How long a tenant's events are collected, how many ids go into a batch, and how
// long it may take to write one.
//
// Collecting ends when nothing came for the tenant within collectFor, and not that
// long after the first: while a backlog is being delivered, the events that will
// come stand in queues before this process, and how fast they get here depends on
// how busy it is. maxCollect bounds what a steady stream of events pays in time;
// more than 40 a second for one tenant is an import, which can pay it.
//
// All of a tenant's lanes are then written at once, and none again before all are
// done: an event whose batch is being written cannot be in another lane's next
// batch, so that lanes which take turns share with each other what is under way.
// Measured with 500 requests open on two busy cores, batches of a fixed 25 ms held
// 17 to 42 ids, lanes that wait for quiet but not for each other 42 to 59, and
// these some 60, which is all that 500 requests can give each of 8 shards.
const (
	collectFor   = 25 * time.Millisecond
	maxCollect   = time.Second
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
	// first and last are when collecting began and when the latest id came. first
	// is zero while nothing is collected.
	first, last time.Time
	// lanes are queues of batches, of which the last is open.
	lanes map[int][]*batch
	// full holds a value once a batch is full.
	full chan struct{}
}

// batch is a set of ids that are written together. errs and done are read after
// done is closed, ids not after it was taken.
type batch struct {
	ids  map[hippo.MemoryID]bool
	errs map[hippo.MemoryID]error
	done chan struct{}
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

// join adds an id to its lane's open batch, and sets a tenant that rests to work.
func (c *Coalescer) join(of hippo.TenantID, id hippo.MemoryID) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[of]
	if t == nil {
		t = &tenant{lanes: make(map[int][]*batch), full: make(chan struct{}, 1)}
		c.tenants[of] = t
		go c.run(of, t)
	}
	t.last = time.Now()
	if t.first.IsZero() {
		t.first = t.last
	}
	n := lanes.ShardOf(id).N
	queue := t.lanes[n]
	if len(queue) == 0 || len(queue[len(queue)-1].ids) == maxBatch {
		queue = append(queue, &batch{ids: make(map[hippo.MemoryID]bool), done: make(chan struct{})})
		t.lanes[n] = queue
	}
	b := queue[len(queue)-1]
	if b.ids[id] = true; len(b.ids) == maxBatch {
		t.hurry()
	}
	return b
}

// hurry ends the collecting.
func (t *tenant) hurry() {
	select {
	case t.full <- struct{}{}:
	default:
	}
}

// run writes a tenant's batches, one of each lane at a time, and ends with the
// last.
func (c *Coalescer) run(of hippo.TenantID, t *tenant) {
	for {
		c.collect(t)
		batches := c.take(of, t)
		if len(batches) == 0 {
			return
		}
		var all sync.WaitGroup
		for _, b := range batches {
			all.Go(func() {
				c.write(of, b)
				close(b.done)
			})
		}
		all.Wait()
		c.collectAnew(t)
	}
}

// collectAnew begins the collecting again after a write, for what came meanwhile:
// those who were acknowledged now send what they had held back.
func (c *Coalescer) collectAnew(t *tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.first.IsZero() {
		t.first = time.Now()
		t.last = t.first
	}
}

// collect returns when the tenant's batches are to be closed. It does not wait
// where there are none.
func (c *Coalescer) collect(t *tenant) {
	for {
		c.mu.Lock()
		wait := min(time.Until(t.last.Add(collectFor)), time.Until(t.first.Add(maxCollect)))
		c.mu.Unlock()
		if wait <= 0 {
			return
		}
		select {
		case <-time.After(wait):
		case <-t.full:
			return
		}
	}
}

// take closes the first batch of each lane and takes it. Where there is none it
// lets the tenant rest.
func (c *Coalescer) take(of hippo.TenantID, t *tenant) []*batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	var taken []*batch
	t.first = time.Time{}
	for n, queue := range t.lanes {
		taken = append(taken, queue[0])
		if t.lanes[n] = queue[1:]; len(queue) == 1 {
			delete(t.lanes, n)
			continue
		}
		t.first = t.last
		t.hurry() // the next one is full, or waited for one that was
	}
	if len(taken) == 0 {
		delete(c.tenants, of)
	}
	return taken
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
