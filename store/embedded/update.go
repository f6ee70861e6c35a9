package embedded

import (
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// change is a change of one field of a document. Value is what is set, or the
// integer that is added.
type change struct {
	Path  []string `json:"path"`
	Do    action   `json:"do"`
	Value typed    `json:"value,omitzero"`
}

type action string

const (
	set    action = "set"
	add    action = "add"
	remove action = "remove"
)

func (c change) check() error {
	if len(c.Path) == 0 {
		return hippo.Errorf(hippo.Invalid, "", "a change names no field")
	}
	length := 0
	for _, name := range c.Path {
		if err := checkFieldName(name); err != nil {
			return err
		}
		length += len(name) + 1
	}
	if length > maxFieldPathBytes {
		return hippo.Errorf(hippo.Invalid, "", "the path of a field is %d bytes long; the limit is %d", length, maxFieldPathBytes)
	}
	return nil
}

func (c change) name() string { return c.Path[len(c.Path)-1] }

// parent is the map in which the field stands. Where it is missing, it is made,
// or the answer is nil.
func (c change) parent(fields schema.Fields, make bool) schema.Fields {
	for _, name := range c.Path[:len(c.Path)-1] {
		child, ok := fields[name].(schema.Fields)
		if !ok && !make {
			return nil
		}
		if !ok {
			child = schema.Fields{}
			fields[name] = child
		}
		fields = child
	}
	return fields
}

// apply changes fields in place.
func (c change) apply(fields schema.Fields) {
	if parent := c.parent(fields, c.Do != remove); c.Do != remove {
		parent[c.name()] = c.result(parent)
	} else {
		delete(parent, c.name())
	}
}

// result is the field's new value.
func (c change) result(parent schema.Fields) any {
	old, isInteger := parent[c.name()].(int64)
	if more, ok := c.Value.value.(int64); ok && isInteger && c.Do == add {
		return old + more
	}
	return c.Value.value
}

// growth is by how much the change would make the document larger; false where
// a map on the way is missing, and only trying it can tell.
func (c change) growth(fields schema.Fields) (int64, bool) {
	parent := c.parent(fields, false)
	if parent == nil {
		return 0, false
	}
	var n int64
	if old, ok := parent[c.name()]; ok {
		n -= fieldSize(c.name(), old)
	}
	if c.Do != remove {
		n += fieldSize(c.name(), c.result(parent))
	}
	return n, true
}
