package indexcheck

import (
	"context"
	"slices"
	"sync"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// QueryRecorder keeps every structured query that goes over a connection, so that
// a test can ask which indexes they need.
type QueryRecorder struct {
	mu      sync.Mutex
	queries []*pb.StructuredQuery
}

// DialOptions make a connection record into r.
func (r *QueryRecorder) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := stream(ctx, desc, conn, method, opts...)
			if err != nil {
				return nil, err
			}
			return recordedStream{s, r}, nil
		}),
	}
}

// Queries lists what was recorded so far.
func (r *QueryRecorder) Queries() []*pb.StructuredQuery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.queries)
}

func (r *QueryRecorder) add(q *pb.StructuredQuery) {
	if q == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries = append(r.queries, proto.CloneOf(q))
}

type recordedStream struct {
	grpc.ClientStream
	to *QueryRecorder
}

func (s recordedStream) SendMsg(m any) error {
	switch m := m.(type) {
	case *pb.RunQueryRequest:
		s.to.add(m.GetStructuredQuery())
	case *pb.RunAggregationQueryRequest:
		s.to.add(m.GetStructuredAggregationQuery().GetStructuredQuery())
	}
	return s.ClientStream.SendMsg(m)
}
