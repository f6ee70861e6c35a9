package indexhook

import (
	"context"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// How long and how many ids a batch collects, and how long it may take to write
// them. A lane whose previous batch is being written collects until that is done.
const (
	collectFor   = 25 * time.Millisecond
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

	mu    sync.Mutex
	lanes map[laneKey]*lane
}

type laneKey struct {
	tenant hippo.TenantID
	n      int
}

// lane is a queue of batches of which the last is open and the first may be
// running.
type lane struct {
	queue []*batch
}

// batch is a set of ids that are written together. errs and done are read after
// done is closed, ids not after it left the queue.
type batch struct {
	ids  map[hippo.MemoryID]bool
	errs map[hippo.MemoryID]error
	done chan struct{}
}

// NewCoalescer makes a Coalescer that writes through reconcile.
func NewCoalescer(reconcile Reconcile) *Coalescer {
	return &Coalescer{reconcile: reconcile, lanes: make(map[laneKey]*lane)}
}

// Add puts an id into a batch and returns when that batch has been written, with
// the error for this id. A context that ends first is an error too; the batch is
// written all the same.
func (c *Coalescer) Add(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) error {
	b := c.join(laneKey{tenant, lanes.ShardOf(id).N}, id)
	select {
	case <-b.done:
		return b.errs[id]
	case <-ctx.Done():
		return hippo.Wrap(hippo.Unavailable, ctx.Err(), "waiting for the index to be written")
	}
}

// join adds an id to the lane's open batch, and starts the lane where it rests.
func (c *Coalescer) join(key laneKey, id hippo.MemoryID) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[key]
	if l == nil {
		l = &lane{}
		c.lanes[key] = l
		go c.run(key, l)
	}
	if n := len(l.queue); n == 0 || len(l.queue[n-1].ids) >= maxBatch {
		l.queue = append(l.queue, &batch{ids: make(map[hippo.MemoryID]bool), done: make(chan struct{})})
	}
	b := l.queue[len(l.queue)-1]
	b.ids[id] = true
	return b
}

// run writes the lane's batches one after the other and ends with the last.
func (c *Coalescer) run(key laneKey, l *lane) {
	time.Sleep(collectFor)
	for {
		b := c.next(key, l)
		if b == nil {
			return
		}
		c.write(key.tenant, b)
		close(b.done)
	}
}

// next closes the lane's first batch and takes it, or takes the lane away where
// there is none.
func (c *Coalescer) next(key laneKey, l *lane) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(l.queue) == 0 {
		delete(c.lanes, key)
		return nil
	}
	b := l.queue[0]
	l.queue = l.queue[1:]
	return b
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
