// Package indexcheck decides which indexes a Firestore query needs and whether a
// firestore.indexes.json declares them. The emulator runs any query; the service
// refuses one whose index is missing, and nothing but this package says so before
// a deployment does.
package indexcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Indexes is what a firestore.indexes.json declares.
type Indexes struct {
	composite []composite
	overrides []override
}

// scope says in which queries an index serves: those of one collection, or those
// of all collections of an id.
type scope string

const (
	collection scope = "COLLECTION"
	group      scope = "COLLECTION_GROUP"
)

// mode is how an index holds a field.
type mode string

const (
	ascending  mode = "ASCENDING"
	descending mode = "DESCENDING"
	contains   mode = "CONTAINS"
)

type composite struct {
	Collection string       `json:"collectionGroup"`
	Scope      scope        `json:"queryScope"`
	Fields     []indexField `json:"fields"`
}

// override replaces the indexes that Firestore makes for a field by itself.
type override struct {
	Collection string `json:"collectionGroup"`
	Field      string `json:"fieldPath"`
	Indexes    []struct {
		Scope scope `json:"queryScope"`
		modes
	} `json:"indexes"`
}

type indexField struct {
	Path string `json:"fieldPath"`
	modes
}

type modes struct {
	Order mode `json:"order"`
	Array mode `json:"arrayConfig"`
}

func (m modes) mode() mode {
	if m.Array != "" {
		return m.Array
	}
	return m.Order
}

// Parse reads a firestore.indexes.json. It refuses what a deployment would, and
// what this package knows nothing about.
func Parse(file []byte) (Indexes, error) {
	var in struct {
		Composite []composite `json:"indexes"`
		Overrides []override  `json:"fieldOverrides"`
	}
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return Indexes{}, err
	}
	for i, c := range in.Composite {
		if err := c.check(); err != nil {
			return Indexes{}, fmt.Errorf("indexes[%d]: %w", i, err)
		}
	}
	for i, o := range in.Overrides {
		if err := o.check(); err != nil {
			return Indexes{}, fmt.Errorf("fieldOverrides[%d]: %w", i, err)
		}
	}
	return Indexes{in.Composite, in.Overrides}, nil
}

func (c composite) check() error {
	if c.Collection == "" || c.Scope != collection && c.Scope != group {
		return fmt.Errorf("needs a collectionGroup and a queryScope")
	}
	if len(c.Fields) < 2 {
		return fmt.Errorf("a composite index has two fields at least")
	}
	for _, f := range c.Fields {
		if err := f.modes.check(); err != nil || f.Path == "" {
			return fmt.Errorf("field %q: %w", f.Path, err)
		}
	}
	return nil
}

func (o override) check() error {
	if o.Collection == "" || o.Field == "" || o.Indexes == nil {
		return fmt.Errorf("needs a collectionGroup, a fieldPath and indexes")
	}
	for _, i := range o.Indexes {
		if err := i.modes.check(); err != nil {
			return err
		}
	}
	return nil
}

func (m modes) check() error {
	asOrder := m.Array == "" && (m.Order == ascending || m.Order == descending)
	asArray := m.Order == "" && m.Array == contains
	if !asOrder && !asArray {
		return fmt.Errorf("needs an order or an arrayConfig, and not both")
	}
	return nil
}

// single says whether Firestore keeps an index of the field alone in this mode.
// It does for every field in its collection unless an override says otherwise,
// and the override of a map holds for what is in it.
func (x Indexes) single(of string, in scope, field string, m mode) bool {
	for path := field; ; {
		for _, o := range x.overrides {
			if o.Collection == of && o.Field == path {
				return o.has(in, m)
			}
		}
		at := strings.LastIndex(path, ".")
		if at < 0 {
			return in == collection
		}
		path = path[:at]
	}
}

func (o override) has(in scope, m mode) bool {
	for _, i := range o.Indexes {
		if i.mode() == m && (i.Scope == in || i.Scope == "" && in == collection) {
			return true
		}
	}
	return false
}
