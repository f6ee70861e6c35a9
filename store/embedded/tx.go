package embedded

import (
	"maps"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// tx is one attempt of a transaction. Nothing outside it changes before commit.
type tx struct {
	reader
	writes map[string]*write
	order  []*write
	err    error
}

// write is what a commit makes of one document: fields replace it, changes
// change it in place, and neither deletes it.
type write struct {
	path    string
	fields  schema.Fields
	changes []change
}

func newTx(s *Store) *tx {
	return &tx{reader: reader{store: s}, writes: map[string]*write{}}
}

// add makes w the document's write, in place of an earlier one.
func (t *tx) add(w write) {
	if old := t.writes[w.path]; old != nil {
		*old = w
		return
	}
	t.writes[w.path] = &w
	t.order = append(t.order, &w)
}

// set replaces a whole document.
func (t *tx) set(path string, fields schema.Fields) {
	n, err := normal(fields)
	if err != nil && t.err == nil {
		t.err = err
	}
	t.add(write{path: path, fields: n})
}

// merge sets the fields named and keeps the document's others.
func (t *tx) merge(path string, fields schema.Fields) {
	base := schema.Fields{}
	if w := t.writes[path]; w != nil {
		maps.Copy(base, w.fields)
	} else if d := t.store.document(path); d != nil {
		maps.Copy(base, d.fields)
	}
	maps.Copy(base, fields)
	t.set(path, base)
}

// update changes fields of a document that exists, in place.
func (t *tx) update(path string, changes []change) { t.add(write{path: path, changes: changes}) }

// delete deletes a document, which need not exist.
func (t *tx) delete(path string) { t.add(write{path: path}) }

// commit checks all that was collected, saves it, and applies it.
func (t *tx) commit() error {
	if t.err != nil {
		return t.err
	}
	var effects []effect
	for _, w := range t.order {
		e, err := t.store.effect(*w)
		if err != nil {
			return err
		}
		if !e.empty() {
			effects = append(effects, e)
		}
	}
	if len(effects) == 0 {
		return nil
	}
	if err := t.store.journal.append(t.now(), effects); err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "save the commit")
	}
	for _, e := range effects {
		t.store.apply(e, t.now())
		if t.store.onChange != nil {
			t.store.changes = append(t.store.changes, Change{Path: e.path, Existed: e.old != nil, Exists: !e.deletes(), UpdatedAt: t.now()})
		}
	}
	return nil
}
