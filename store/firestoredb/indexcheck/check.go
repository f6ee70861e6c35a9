package indexcheck

import (
	"fmt"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// Check lists what keeps Firestore from running a query with these indexes; it is
// empty where nothing does. These are Firestore's rules:
//
//   - Each alternative of an OR runs by itself and needs its own index, in the
//     order of the whole query.
//   - Conditions of equality alone are served by merging an index of each field.
//   - The order by a single field, the name last and in the same direction, is
//     served by that field's own index, also with an inequality on it.
//   - Anything else needs composite indexes: fields compared by equality first,
//     in any order, then the result's order exactly; several that share the order
//     are merged. An index ends in the name, in the direction of its last field.
//   - A field whose own indexes are exempted can still stand in a composite one.
func (x Indexes) Check(q *pb.StructuredQuery) []string {
	if len(q.GetFrom()) != 1 || q.From[0].CollectionId == "" || q.FindNearest != nil {
		return []string{"a query of this form is not understood: " + q.String()}
	}
	in := collection
	if q.From[0].AllDescendants {
		in = group
	}
	all, ok := alternatives(q.Where)
	if !ok {
		return []string{"a filter is not understood: " + q.Where.String()}
	}
	n := needs{x, q.From[0].CollectionId, in}
	by := effective(q, all)
	var problems []string
	for _, conditions := range all {
		if problem := n.lacks(conditions, by); problem != "" && !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	return problems
}

// needs is about queries of one collection, or group of collections.
type needs struct {
	Indexes
	of string
	in scope
}

// lacks says what is missing for one alternative; empty where nothing is.
func (n needs) lacks(conditions []condition, by []order) string {
	name := by[len(by)-1].mode
	if at := slices.IndexFunc(by, func(o order) bool { return o.field == nameField }); at >= 0 {
		name, by = by[at].mode, by[:at] // what comes behind a name orders nothing
	}
	var fixed []condition
	for _, c := range conditions {
		if c.field != nameField && c.kind != inequality && !slices.Contains(fixed, c) {
			fixed = append(fixed, c)
		}
	}
	by = slices.DeleteFunc(slices.Clone(by), func(o order) bool {
		return slices.Contains(fixed, condition{o.field, equality})
	})
	if n.bySingle(fixed, by, name) || n.byComposite(fixed, by, name) {
		return ""
	}
	return fmt.Sprintf("%s of %q: no index for %s", strings.ToLower(string(n.in)), n.of, describe(fixed, by, name))
}

// bySingle says whether the indexes of single fields serve.
func (n needs) bySingle(fixed []condition, by []order, name mode) bool {
	switch {
	case len(fixed) == 0 && len(by) == 0:
		return n.in == collection && name == ascending
	case len(fixed) == 0 && len(by) == 1:
		return by[0].mode == name && n.single(n.of, n.in, by[0].field, name)
	case len(by) > 0:
		return false
	}
	for _, c := range fixed {
		if !n.serves(c, name) {
			return false
		}
	}
	return true
}

// serves says whether a condition has an index of its field alone, or takes part
// in a composite one made of such conditions, whose names come in this direction.
func (n needs) serves(c condition, name mode) bool {
	if c.kind == membership {
		return name == ascending && n.single(n.of, n.in, c.field, contains)
	}
	return n.single(n.of, n.in, c.field, name)
}

// byComposite says whether composite indexes serve that share the order and name
// every fixed condition between them. Without an order, the index of a single
// field can be one of them.
func (n needs) byComposite(fixed []condition, by []order, name mode) bool {
	open := slices.Clone(fixed)
	found := false
	for _, c := range n.composite {
		prefix, ok := n.prefix(c, by, name)
		if !ok || !within(prefix, fixed) {
			continue
		}
		found = true
		open = slices.DeleteFunc(open, func(o condition) bool {
			return slices.ContainsFunc(prefix, func(f indexField) bool { return f.Path == o.field && f.is(o.kind) })
		})
	}
	if len(by) == 0 {
		open = slices.DeleteFunc(open, func(c condition) bool { return n.serves(c, name) })
	}
	return found && len(open) == 0
}

// prefix is what stands before the order in a composite index; false where the
// index is of other documents or in another order.
func (n needs) prefix(c composite, by []order, name mode) ([]indexField, bool) {
	if c.Collection != n.of || c.Scope != n.in {
		return nil, false
	}
	fields := c.Fields
	last := fields[len(fields)-1]
	if last.Path == nameField {
		fields = fields[:len(fields)-1]
	}
	if last.mode() != name && (last.mode() != contains || name != ascending) || len(fields) < len(by) {
		return nil, false
	}
	cut := len(fields) - len(by)
	for i, o := range by {
		if f := fields[cut+i]; f.Path != o.field || f.mode() != o.mode {
			return nil, false
		}
	}
	return fields[:cut], true
}

func within(prefix []indexField, fixed []condition) bool {
	for _, f := range prefix {
		if !slices.ContainsFunc(fixed, func(c condition) bool { return c.field == f.Path && f.is(c.kind) }) {
			return false
		}
	}
	return true
}

func (f indexField) is(k kind) bool { return (k == membership) == (f.mode() == contains) }

func describe(fixed []condition, by []order, name mode) string {
	var parts []string
	for _, c := range fixed {
		if c.kind == membership {
			parts = append(parts, c.field+" "+string(contains))
		} else {
			parts = append(parts, c.field+" EQUAL")
		}
	}
	for _, o := range append(by, order{nameField, name}) {
		parts = append(parts, o.field+" "+string(o.mode))
	}
	return strings.Join(parts, ", ")
}
