// Package rpcfault fails calls to Firestore on the wire: some are never made, of
// some the answer is lost although a commit was applied.
package rpcfault

import (
	"context"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Codes are those with which Firestore reports what may pass.
var Codes = []codes.Code{codes.Aborted, codes.Unavailable, codes.Internal, codes.DeadlineExceeded}

// Fault is what becomes of one call; the zero value is no fault.
type Fault struct {
	Code codes.Code
	// Applied says that the call is made all the same.
	Applied bool
}

// String names the fault.
func (f Fault) String() string {
	if f.Applied {
		return f.Code.String() + " after it was applied"
	}
	return f.Code.String()
}

func (f Fault) err() error { return status.Error(f.Code, "injected") }

// IsCommit says whether a method is the one whose calls can be applied.
func IsCommit(method string) bool { return strings.HasSuffix(method, "/Commit") }

// DialOptions make decide say what becomes of each call. It is told the call's
// number, from 1, and called for one call at a time.
func DialOptions(decide func(n int, method string) Fault) []grpc.DialOption {
	var mu sync.Mutex
	calls := 0
	next := func(method string) Fault {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return decide(calls, method)
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			f := next(method)
			if f.Code != codes.OK && !f.Applied {
				return f.err()
			}
			if err := call(ctx, method, req, reply, conn, opts...); err != nil || f.Code == codes.OK {
				return err
			}
			return f.err()
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if f := next(method); f.Code != codes.OK {
				return nil, f.err()
			}
			return stream(ctx, desc, conn, method, opts...)
		}),
	}
}
