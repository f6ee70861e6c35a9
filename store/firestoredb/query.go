package firestoredb

import (
	"context"
	"errors"
	"io"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/hippofire/hippofire/hippo"
)

// nameField stands for a document's name in queries.
const nameField = "__name__"

const (
	equal       = pb.StructuredQuery_FieldFilter_EQUAL
	greater     = pb.StructuredQuery_FieldFilter_GREATER_THAN
	less        = pb.StructuredQuery_FieldFilter_LESS_THAN
	contains    = pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS
	ascending   = pb.StructuredQuery_ASCENDING
	descending  = pb.StructuredQuery_DESCENDING
	conjunction = pb.StructuredQuery_CompositeFilter_AND
	disjunction = pb.StructuredQuery_CompositeFilter_OR
)

// query is one query of a collection.
type query struct {
	in collection
	*pb.StructuredQuery
}

func (c collection) query() query {
	return query{c, &pb.StructuredQuery{From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: c.id}}}}
}

// pick moves the named fields alone.
func (q query) pick(fields ...string) query {
	q.Select = &pb.StructuredQuery_Projection{}
	for _, f := range fields {
		q.Select.Fields = append(q.Select.Fields, field(f))
	}
	return q
}

// filter adds a condition to those there are.
func (q query) filter(f *pb.StructuredQuery_Filter) query {
	if q.Where != nil {
		f = compose(conjunction, q.Where, f)
	}
	q.Where = f
	return q
}

// by orders by fields, and last by name, all in one direction.
func (q query) by(direction pb.StructuredQuery_Direction, fields ...string) query {
	for _, f := range append(fields, nameField) {
		q.OrderBy = append(q.OrderBy, &pb.StructuredQuery_Order{Field: field(f), Direction: direction})
	}
	return q
}

// from begins at a place in the order, or behind it. No place is the beginning.
func (q query) from(place []*pb.Value, behind bool) query {
	if place != nil {
		q.StartAt = &pb.Cursor{Values: place, Before: !behind}
	}
	return q
}

// upTo ends with a place in the order, or before it.
func (q query) upTo(place []*pb.Value, before bool) query {
	q.EndAt = &pb.Cursor{Values: place, Before: before}
	return q
}

// first returns so many documents at most.
func (q query) first(n int) query {
	q.Limit = wrapperspb.Int32(int32(n))
	return q
}

func field(path string) *pb.StructuredQuery_FieldReference {
	return &pb.StructuredQuery_FieldReference{FieldPath: path}
}

func where(path string, op pb.StructuredQuery_FieldFilter_Operator, v *pb.Value) *pb.StructuredQuery_Filter {
	return &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{
		FieldFilter: &pb.StructuredQuery_FieldFilter{Field: field(path), Op: op, Value: v},
	}}
}

func compose(op pb.StructuredQuery_CompositeFilter_Operator, filters ...*pb.StructuredQuery_Filter) *pb.StructuredQuery_Filter {
	return &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_CompositeFilter{
		CompositeFilter: &pb.StructuredQuery_CompositeFilter{Op: op, Filters: filters},
	}}
}

// parser makes a value of a document that a query returned, and tells the
// document's size; false leaves it out.
type parser[T any] func(*pb.Document) (v T, bytes int64, ok bool)

// run runs a query and returns what its documents parse to, with the time of the
// snapshot.
func run[T any](ctx context.Context, s *Store, method string, q query, parse parser[T]) (found []T, at time.Time, err error) {
	if q.Limit != nil && q.Limit.Value <= 0 {
		return nil, time.Time{}, nil
	}
	err = retry(ctx, afterRead, func() error {
		found, at, err = runOnce(ctx, s, method, q, parse)
		return err
	})
	return found, at, translate(err, "query "+q.in.id)
}

func runOnce[T any](ctx context.Context, s *Store, method string, q query, parse parser[T]) (found []T, at time.Time, err error) {
	within := callWithin
	if q.Limit == nil {
		within = scanWithin
	}
	ctx, cancel := s.outgoing(ctx, within)
	defer cancel()
	stream, err := s.client.RunQuery(ctx, &pb.RunQueryRequest{
		Parent:    q.in.parent,
		QueryType: &pb.RunQueryRequest_StructuredQuery{StructuredQuery: q.StructuredQuery},
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	var documents int
	var bytes int64
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			hippo.CountRead(ctx, method, documents, bytes)
			return found, at, nil
		}
		if err != nil {
			return nil, time.Time{}, err
		}
		if r.ReadTime != nil {
			at = r.ReadTime.AsTime()
		}
		if r.Document == nil {
			continue
		}
		v, n, ok := parse(r.Document)
		documents, bytes = documents+1, bytes+n
		if ok {
			found = append(found, v)
		}
	}
}

// count counts a collection's documents. It bills a read for each 1,000.
func (s *Store) count(ctx context.Context, method string, in collection) (n int, err error) {
	err = retry(ctx, afterRead, func() error {
		n, err = s.countOnce(ctx, in)
		return err
	})
	if err != nil {
		return 0, translate(err, "count "+in.id)
	}
	hippo.CountRead(ctx, method, (n+999)/1000, 0)
	return n, nil
}

func (s *Store) countOnce(ctx context.Context, in collection) (int, error) {
	ctx, cancel := s.outgoing(ctx, callWithin)
	defer cancel()
	const n = "n"
	stream, err := s.client.RunAggregationQuery(ctx, &pb.RunAggregationQueryRequest{
		Parent: in.parent,
		QueryType: &pb.RunAggregationQueryRequest_StructuredAggregationQuery{StructuredAggregationQuery: &pb.StructuredAggregationQuery{
			QueryType: &pb.StructuredAggregationQuery_StructuredQuery{StructuredQuery: in.query().StructuredQuery},
			Aggregations: []*pb.StructuredAggregationQuery_Aggregation{{
				Alias:    n,
				Operator: &pb.StructuredAggregationQuery_Aggregation_Count_{Count: &pb.StructuredAggregationQuery_Aggregation_Count{}},
			}},
		}},
	})
	if err != nil {
		return 0, err
	}
	counted := 0
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return counted, nil
		}
		if err != nil {
			return 0, err
		}
		counted += int(r.GetResult().GetAggregateFields()[n].GetIntegerValue())
	}
}
