package indexhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// recorder is a Reconcile that remembers its batches and takes a second for each.
type recorder struct {
	mu      sync.Mutex
	batches [][]hippo.MemoryID
	refuse  hippo.MemoryID
	err     error
}

func (r *recorder) reconcile(_ context.Context, _ hippo.TenantID, ids []hippo.MemoryID) error {
	r.mu.Lock()
	r.batches = append(r.batches, slices.Sorted(slices.Values(ids)))
	r.mu.Unlock()
	time.Sleep(time.Second)
	if slices.Contains(ids, r.refuse) {
		return hippo.Errorf(hippo.Invalid, "", "refused")
	}
	return r.err
}

// sameLane lists n ids that meet in one lane.
func sameLane(n int) []hippo.MemoryID {
	var ids []hippo.MemoryID
	for i := 0; len(ids) < n; i++ {
		id := hippo.MemoryID(fmt.Sprintf("id%d", i))
		if lanes.ShardOf(id).N == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// addAll adds ids at once and collects the errors.
func addAll(c *Coalescer, ids []hippo.MemoryID) map[hippo.MemoryID]error {
	errs := make(map[hippo.MemoryID]error)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() {
			err := c.Add(context.Background(), "t", id)
			mu.Lock()
			defer mu.Unlock()
			errs[id] = err
		})
	}
	wg.Wait()
	return errs
}

func TestIdsOfOneLaneCostOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		ids := sameLane(50)
		for id, err := range addAll(NewCoalescer(r.reconcile), ids) {
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		if len(r.batches) != 1 || len(r.batches[0]) != 50 {
			t.Errorf("%d ids were written in %d batches, want one", len(ids), len(r.batches))
		}
	})
}

func TestEventWhileABatchIsWrittenOpensTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := NewCoalescer(r.reconcile)
		id := sameLane(1)[0]
		var wg sync.WaitGroup
		add := func() {
			if err := c.Add(t.Context(), "t", id); err != nil {
				t.Error(err)
			}
		}
		wg.Go(add)
		time.Sleep(collectFor + 500*time.Millisecond)
		for range 3 {
			wg.Go(add)
		}
		wg.Wait()
		if len(r.batches) != 2 {
			t.Errorf("the id was looked at %d times, want twice: once for the event before the batch began and once for those during it", len(r.batches))
		}
	})
}

func TestOneEventSevenTimesAtOnceIsLookedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		id := sameLane(1)[0]
		addAll(NewCoalescer(r.reconcile), slices.Repeat([]hippo.MemoryID{id}, 7))
		if len(r.batches) != 1 {
			t.Errorf("%d batches, want 1", len(r.batches))
		}
	})
}

func TestEventIsAcknowledgedOnlyAfterItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		start := time.Now()
		addAll(NewCoalescer(r.reconcile), sameLane(1))
		if took := time.Since(start); took < time.Second {
			t.Errorf("Add returned after %v, before its batch was written", took)
		}
		time.Sleep(2 * time.Second) // a batch that nobody waits for is written by then
	})
}

func TestOneBadIdAmongFiftyGoodOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := sameLane(51)
		r := recorder{refuse: ids[17]}
		errs := addAll(NewCoalescer(r.reconcile), ids)
		for id, err := range errs {
			if bad := id == r.refuse; bad != hippo.IsKind(err, hippo.Invalid) || !bad && err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		if alone := slices.ContainsFunc(r.batches, func(b []hippo.MemoryID) bool { return slices.Equal(b, []hippo.MemoryID{r.refuse}) }); !alone {
			t.Error("the refused id never stood alone")
		}
	})
}

func TestPassingFailureFailsTheWholeBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := recorder{err: hippo.Errorf(hippo.Unavailable, "", "down")}
		errs := addAll(NewCoalescer(r.reconcile), sameLane(5))
		for _, err := range slices.Collect(maps.Values(errs)) {
			if !hippo.IsKind(err, hippo.Unavailable) {
				t.Errorf("got %v, want unavailable", err)
			}
		}
		if len(r.batches) != 1 {
			t.Errorf("a passing failure was halved into %d batches", len(r.batches))
		}
	})
}

func TestBatchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		addAll(NewCoalescer(r.reconcile), sameLane(2*maxBatch+1))
		for _, b := range r.batches {
			if len(b) > maxBatch {
				t.Errorf("a batch held %d ids; the bound is %d", len(b), maxBatch)
			}
		}
		if len(r.batches) != 3 {
			t.Errorf("%d batches, want 3", len(r.batches))
		}
	})
}

func TestBatchCollectsWhileEventsComeAndNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := NewCoalescer(r.reconcile)
		var wg sync.WaitGroup
		start := time.Now()
		for _, id := range sameLane(150) {
			wg.Go(func() { c.Add(context.Background(), "t", id) })
			time.Sleep(10 * time.Millisecond)
		}
		wg.Wait()
		if n := int(maxCollect / (10 * time.Millisecond)); len(r.batches) != 2 || len(r.batches[0]) < n || len(r.batches[0]) > n+1 {
			t.Errorf("%d batches, the first of %d ids; want two, the first of as many as come within %v", len(r.batches), len(r.batches[0]), maxCollect)
		}
		if took := time.Since(start); took > maxCollect+2*time.Second+collectFor {
			t.Errorf("all were written after %v", took)
		}
	})
}

func TestEventThatComesAloneWaitsNoLongerThanItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		start := time.Now()
		addAll(NewCoalescer(r.reconcile), sameLane(1))
		if took := time.Since(start); took != collectFor+time.Second {
			t.Errorf("acknowledged after %v, want %v and the second of the write", took, collectFor)
		}
	})
}

func TestCallerThatLeavesDoesNotStopTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		c := NewCoalescer(r.reconcile)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := c.Add(ctx, "t", sameLane(1)[0]); !errors.Is(err, context.DeadlineExceeded) || !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("got %v, want unavailable", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(r.batches) != 1 {
			t.Errorf("%d batches, want 1", len(r.batches))
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.tenants) != 0 {
			t.Errorf("%d tenants are left", len(c.tenants))
		}
	})
}

func TestTenantsNeverShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(map[hippo.TenantID]int)
		var mu sync.Mutex
		c := NewCoalescer(func(_ context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error {
			mu.Lock()
			defer mu.Unlock()
			seen[tenant] += len(ids)
			return nil
		})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() { c.Add(t.Context(), hippo.TenantID(fmt.Sprint(i)), "same") })
		}
		wg.Wait()
		if len(seen) != 10 {
			t.Errorf("%d tenants were written, want 10", len(seen))
		}
	})
}
