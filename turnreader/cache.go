package turnreader

import (
	"container/list"
	"sync"

	"github.com/hippofire/hippofire/hippo"
)

// cache holds what tenants know, up to a number of bytes over all of them; what
// was used least recently goes first. It is safe for concurrent use.
type cache struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	order *list.List // of *held, most recently used first
	held  map[hippo.TenantID]*list.Element
}

type held struct {
	tenant hippo.TenantID
	known  *Known
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, order: list.New(), held: make(map[hippo.TenantID]*list.Element)}
}

func (c *cache) get(tenant hippo.TenantID) *Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.held[tenant]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*held).known
}

// put holds known, unless what is held was seen in a later snapshot.
func (c *cache) put(tenant hippo.TenantID, known *Known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.held[tenant]; e != nil {
		if e.Value.(*held).known.at.After(known.at) {
			return
		}
		c.drop(e)
	}
	c.held[tenant] = c.order.PushFront(&held{tenant, known})
	c.bytes += known.bytes
	for c.bytes > c.limit && c.order.Len() > 0 {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	h := c.order.Remove(e).(*held)
	delete(c.held, h.tenant)
	c.bytes -= h.known.bytes
}
