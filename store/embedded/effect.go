package embedded

import (
	"reflect"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// effect is a write that was found good: what it meets and what it leaves.
type effect struct {
	write
	old  *document
	size int64
}

func (e effect) deletes() bool { return e.fields == nil && e.changes == nil }

// empty says whether the write leaves everything as it is.
func (e effect) empty() bool {
	if e.deletes() {
		return e.old == nil
	}
	return e.changes == nil && e.old != nil && reflect.DeepEqual(e.fields, e.old.fields)
}

// effect checks a write against the document that it meets.
func (s *Store) effect(w write) (effect, error) {
	e := effect{write: w, old: s.document(w.path)}
	if err := checkPath(w.path); err != nil {
		return e, err
	}
	switch {
	case e.deletes():
		return e, nil
	case e.changes == nil:
		e.size = schema.Size(w.path, w.fields)
	case e.old == nil:
		return e, hippo.Errorf(hippo.NotFound, "", "%s does not exist", w.path)
	default:
		if err := e.resolve(); err != nil {
			return e, err
		}
	}
	if e.size > maxDocumentBytes {
		return e, hippo.Errorf(hippo.TooLarge, "", "%s would be %d bytes large; the limit is %d", w.path, e.size, maxDocumentBytes)
	}
	return e, nil
}

// resolve finds the size that the changes leave. Where that cannot be told
// beforehand, it makes of them a replacement of the whole document.
func (e *effect) resolve() error {
	e.size = e.old.size
	replace := false
	for _, c := range e.changes {
		if err := c.check(); err != nil {
			return err
		}
		n, ok := c.growth(e.old.fields)
		e.size, replace = e.size+n, replace || !ok
	}
	if replace {
		e.replace()
	}
	return nil
}

func (e *effect) replace() {
	e.fields = copyOf(e.old.fields).(schema.Fields)
	for _, c := range e.changes {
		c.apply(e.fields)
	}
	e.changes = nil
	e.size = schema.Size(e.path, e.fields)
}

// apply makes an effect true at a time.
func (s *Store) apply(e effect, now time.Time) {
	name, id := splitPath(e.path)
	c := s.collections[name]
	if c == nil {
		c = &collection{docs: map[string]*document{}, place: layout(s.layout).placerOf(name), views: map[view]*order{}}
		s.collections[name] = c
	}
	d := &document{fields: e.fields, created: now, updated: now, size: e.size}
	if e.old != nil {
		c.withdraw(id, e.old.fields)
		d.created = e.old.created
	}
	if e.changes != nil {
		d.fields = e.old.fields
		for _, change := range e.changes {
			change.apply(d.fields)
		}
	}
	if e.deletes() {
		c.drop(id)
	} else {
		c.put(id, d)
	}
	if len(c.docs) == 0 {
		delete(s.collections, name)
	}
	s.noteOwners(e)
}

// noteOwners counts a document that came or went.
func (s *Store) noteOwners(e effect) {
	by := 0
	if e.old == nil {
		by++
	}
	if e.deletes() {
		by--
	}
	if by != 0 {
		s.tenants.note(e.path, by)
		s.threads.note(e.path, by)
	}
}
