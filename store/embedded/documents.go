package embedded

import (
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// maxDocumentBytes is Firestore's limit for a document. Beyond it a write is
// refused.
const maxDocumentBytes = 1 << 20

// document is one stored document. Its fields belong to the store alone.
type document struct {
	fields           schema.Fields
	created, updated time.Time
	size             int64
}

// collection holds the documents of one collection, in the order of their ids
// and in the orders that queries need.
type collection struct {
	docs  map[string]*document
	byID  order
	place placer
	views map[view]*order
}

// view names an order of a collection, or of those of its documents that share a
// value.
type view struct{ name, value string }

// in is a view's order, empty where nothing stands in it.
func (c *collection) in(v view) *order {
	if o := c.views[v]; o != nil {
		return o
	}
	return &order{}
}

// put stores a document, in place of one that was withdrawn.
func (c *collection) put(id string, d *document) {
	if c.docs[id] == nil {
		c.byID.add(item{id: id})
	}
	c.docs[id] = d
	for v, key := range c.placed(id, d.fields) {
		if c.views[v] == nil {
			c.views[v] = &order{}
		}
		c.views[v].add(item{key, id})
	}
}

// withdraw takes a document out of the views that its fields place it in.
func (c *collection) withdraw(id string, fields schema.Fields) {
	for v, key := range c.placed(id, fields) {
		o := c.views[v]
		o.remove(item{key, id})
		if len(o.chunks) == 0 {
			delete(c.views, v)
		}
	}
}

// drop takes out a document that was withdrawn.
func (c *collection) drop(id string) {
	c.byID.remove(item{id: id})
	delete(c.docs, id)
}

func (c *collection) placed(id string, fields schema.Fields) map[view]string {
	if c.place == nil {
		return nil
	}
	return c.place(id, fields)
}

// splitPath cuts a document's path into its collection and its id.
func splitPath(path string) (collection, id string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// checkPath refuses what is no document's path.
func checkPath(path string) error {
	segments := strings.Split(path, "/")
	if len(segments)%2 != 0 {
		return hippo.Errorf(hippo.Invalid, "path", "%q is a collection", path)
	}
	for _, s := range segments {
		if _, err := hippo.NewMemoryID(s); err != nil {
			return hippo.Wrap(hippo.Invalid, err, "a segment of the path "+path)
		}
	}
	return nil
}
