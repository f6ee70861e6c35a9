package firestoredb

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"sync"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
)

// WireCounter counts what goes over a connection, as Firestore bills it, by the
// name of the RPC. It knows nothing of the store's own bookkeeping, so that tests
// and benchmarks can hold a hippo.Meter against it.
type WireCounter struct {
	mu    sync.Mutex
	calls map[string]WireCount
}

// WireCount is what the calls of one RPC, or of all, moved.
type WireCount struct {
	Calls int
	// Reads are documents returned, those looked for in vain included; a query
	// without a result is one.
	Reads int
	// Bytes are the storage size of what was returned.
	Bytes  int64
	Writes int
}

// DialOptions make a connection count into c.
func (c *WireCounter) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			err := call(ctx, method, req, reply, conn, opts...)
			if err == nil {
				n := unaryCount(req, reply)
				n.Calls = 1
				c.add(method, n)
			}
			return err
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := stream(ctx, desc, conn, method, opts...)
			if err != nil {
				return nil, err
			}
			return &countedStream{ClientStream: s, end: func(n WireCount) { c.add(method, n) }}, nil
		}),
	}
}

// ByRPC is what was counted so far, by the RPC's name without its service.
func (c *WireCounter) ByRPC() map[string]WireCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

// Total is what all RPCs counted so far.
func (c *WireCounter) Total() WireCount {
	var all WireCount
	for _, n := range c.ByRPC() {
		all = all.plus(n)
	}
	return all
}

func (c *WireCounter) add(method string, n WireCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = make(map[string]WireCount)
	}
	rpc := method[strings.LastIndex(method, "/")+1:]
	c.calls[rpc] = c.calls[rpc].plus(n)
}

func (n WireCount) plus(m WireCount) WireCount {
	return WireCount{n.Calls + m.Calls, n.Reads + m.Reads, n.Bytes + m.Bytes, n.Writes + m.Writes}
}

// unaryCount is what a call that succeeded moved.
func unaryCount(req, reply any) WireCount {
	switch reply := reply.(type) {
	case *pb.CommitResponse:
		return WireCount{Writes: len(req.(*pb.CommitRequest).GetWrites())}
	case *pb.ListDocumentsResponse:
		n := WireCount{Reads: max(len(reply.GetDocuments()), 1)}
		for _, d := range reply.GetDocuments() {
			n.Bytes += size(d)
		}
		return n
	case *pb.Document: // GetDocument
		return WireCount{Reads: 1, Bytes: size(reply)}
	}
	return WireCount{}
}

// countedStream counts one call that answers with a stream, when it has ended.
type countedStream struct {
	grpc.ClientStream
	n   WireCount
	end func(WireCount)
}

func (s *countedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	switch {
	case err == nil:
		s.n = s.n.plus(streamedCount(m))
	case errors.Is(err, io.EOF):
		s.n.Reads = max(s.n.Reads, 1)
		s.n.Calls = 1
		s.end(s.n)
	}
	return err
}

func streamedCount(m any) WireCount {
	switch m := m.(type) {
	case *pb.RunQueryResponse:
		if m.GetDocument() != nil {
			return WireCount{Reads: 1, Bytes: size(m.Document)}
		}
	case *pb.BatchGetDocumentsResponse:
		switch {
		case m.GetFound() != nil:
			return WireCount{Reads: 1, Bytes: size(m.GetFound())}
		case m.GetMissing() != "":
			return WireCount{Reads: 1}
		}
	case *pb.RunAggregationQueryResponse:
		var n int64
		for _, v := range m.GetResult().GetAggregateFields() {
			n += v.GetIntegerValue()
		}
		return WireCount{Reads: int(n+999) / 1000}
	}
	return WireCount{}
}
