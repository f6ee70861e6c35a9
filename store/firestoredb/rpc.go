package firestoredb

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

const (
	// callWithin bounds a call whose context has no deadline of its own.
	callWithin = 10 * time.Second
	// scanWithin bounds a query without a limit, which may stream for long.
	scanWithin = 60 * time.Second

	// attempts is how often a call or a transaction is tried in all; the waits
	// between them sum up to 1.5 s at most.
	attempts     = 5
	firstBackoff = 100 * time.Millisecond
)

// outgoing is the context of a call: bounded, and with what routes the call to
// its database.
func (s *Store) outgoing(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	cancel := context.CancelFunc(func() {})
	if _, ok := ctx.Deadline(); !ok {
		ctx, cancel = context.WithTimeout(ctx, within)
	}
	return metadata.AppendToOutgoingContext(ctx, s.headers...), cancel
}

// Codes after which the same call is worth another attempt. A read can be
// repeated whatever happened; a write only where it was surely not applied, or
// where applying it twice is the same as once.
var (
	afterRead       = []codes.Code{codes.Unavailable, codes.Internal, codes.Aborted}
	afterWrite      = []codes.Code{codes.Aborted}
	afterIdempotent = []codes.Code{codes.Aborted, codes.Unavailable}
)

// retry calls f until it succeeds, fails with another code than those named, or
// was tried often enough. It is the one place of the store that retries; a
// reconcile whose call failed all the same begins again from meta.
func retry(ctx context.Context, on []codes.Code, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt == attempts || !slices.Contains(on, codeOf(err)) || !pause(ctx, attempt) {
			return err
		}
	}
}

// pause waits before the next attempt, each time up to twice as long; false where
// the context ends first.
func pause(ctx context.Context, attempt int) bool {
	most := firstBackoff << (attempt - 1)
	wait := time.NewTimer(most/2 + rand.N(most/2))
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}
