package indexcheck

import (
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

const nameField = "__name__"

// condition is one comparison of a field.
type condition struct {
	field string
	kind  kind
}

// kind is what a comparison asks of an index.
type kind int

const (
	equality   kind = iota // served by any order of the field
	membership             // an array contains a value
	inequality             // served by an order of the field that the result has as well
)

// order is one field of a result's order.
type order struct {
	field string
	mode  mode
}

// alternatives are the filter's disjunctive normal form: the conjunctions that
// Firestore runs one by one, each against an index.
func alternatives(f *pb.StructuredQuery_Filter) ([][]condition, bool) {
	switch f := f.GetFilterType().(type) {
	case nil:
		return [][]condition{nil}, true
	case *pb.StructuredQuery_Filter_UnaryFilter:
		c, ok := unary(f.UnaryFilter)
		return [][]condition{{c}}, ok
	case *pb.StructuredQuery_Filter_FieldFilter:
		c, ok := comparison(f.FieldFilter)
		return [][]condition{{c}}, ok
	case *pb.StructuredQuery_Filter_CompositeFilter:
		return combined(f.CompositeFilter)
	}
	return nil, false
}

func combined(f *pb.StructuredQuery_CompositeFilter) ([][]condition, bool) {
	if f.Op == pb.StructuredQuery_CompositeFilter_OR {
		var all [][]condition
		for _, part := range f.Filters {
			a, ok := alternatives(part)
			if !ok {
				return nil, false
			}
			all = append(all, a...)
		}
		return all, true
	}
	all := [][]condition{nil}
	for _, part := range f.Filters {
		a, ok := alternatives(part)
		if !ok {
			return nil, false
		}
		var product [][]condition
		for _, left := range all {
			for _, right := range a {
				product = append(product, slices.Concat(left, right))
			}
		}
		all = product
	}
	return all, true
}

func comparison(f *pb.StructuredQuery_FieldFilter) (condition, bool) {
	c := condition{field: unquoted(f.GetField())}
	switch f.Op {
	case pb.StructuredQuery_FieldFilter_EQUAL, pb.StructuredQuery_FieldFilter_IN:
		c.kind = equality
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS, pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		c.kind = membership
	case pb.StructuredQuery_FieldFilter_OPERATOR_UNSPECIFIED:
		return c, false
	default:
		c.kind = inequality
	}
	return c, true
}

func unary(f *pb.StructuredQuery_UnaryFilter) (condition, bool) {
	c := condition{field: unquoted(f.GetField())}
	switch f.Op {
	case pb.StructuredQuery_UnaryFilter_IS_NAN, pb.StructuredQuery_UnaryFilter_IS_NULL:
		c.kind = equality
	case pb.StructuredQuery_UnaryFilter_IS_NOT_NAN, pb.StructuredQuery_UnaryFilter_IS_NOT_NULL:
		c.kind = inequality
	default:
		return c, false
	}
	return c, true
}

// effective is the order in which a query's result comes: what it asks for, then
// the fields it compares by inequality in any of its alternatives, then the name.
// Each that is added goes the way of the last that was asked for.
func effective(q *pb.StructuredQuery, alternatives [][]condition) []order {
	var all []order
	has := func(field string) bool {
		return slices.ContainsFunc(all, func(o order) bool { return o.field == field })
	}
	way := ascending
	for _, o := range q.OrderBy {
		way = ascending
		if o.Direction == pb.StructuredQuery_DESCENDING {
			way = descending
		}
		all = append(all, order{unquoted(o.Field), way})
	}
	var compared []string
	for _, conditions := range alternatives {
		for _, c := range conditions {
			if c.kind == inequality {
				compared = append(compared, c.field)
			}
		}
	}
	slices.Sort(compared)
	for _, field := range append(slices.Compact(compared), nameField) {
		if !has(field) {
			all = append(all, order{field, way})
		}
	}
	return all
}

// unquoted is a field's path as firestore.indexes.json writes it.
func unquoted(f *pb.StructuredQuery_FieldReference) string {
	return strings.ReplaceAll(f.GetFieldPath(), "`", "")
}
