package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faults fails calls to Firestore on the wire: some are never made, some commits
// are made and their answer is lost.
type faults struct {
	perThousand int
	log         *slog.Logger

	mu   sync.Mutex
	rand *rand.Rand
}

func newFaults(s settings, log *slog.Logger) *faults {
	return &faults{perThousand: s.Faults, log: log, rand: rand.New(rand.NewPCG(s.Seed, 1))}
}

// kinds are the errors with which Firestore reports what may pass.
var kinds = []codes.Code{codes.Aborted, codes.Unavailable, codes.Internal, codes.DeadlineExceeded}

// fault is what becomes of one call; the zero value is no fault.
type fault struct {
	code    codes.Code
	applied bool
}

func (f fault) err() error { return status.Error(f.code, "injected") }

func (f *faults) draw(method string) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rand.IntN(1000) >= f.perThousand {
		return fault{}
	}
	drawn := fault{code: kinds[f.rand.IntN(len(kinds))]}
	// A commit that Firestore says was aborted has not been applied.
	if strings.HasSuffix(method, "/Commit") && drawn.code != codes.Aborted {
		drawn.applied = f.rand.IntN(2) == 0
	}
	what := drawn.code.String()
	if drawn.applied {
		what += " after the commit was applied"
	}
	f.log.Info("fault injected", "fault", what, "method", method)
	return drawn
}

func (f *faults) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			drawn := f.draw(method)
			if drawn.code != codes.OK && !drawn.applied {
				return drawn.err()
			}
			if err := call(ctx, method, req, reply, conn, opts...); err != nil {
				return err
			}
			if drawn.applied {
				return drawn.err()
			}
			return nil
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if drawn := f.draw(method); drawn.code != codes.OK {
				return nil, drawn.err()
			}
			return stream(ctx, desc, conn, method, opts...)
		}),
	}
}
