package hippo_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
)

func TestAMeterAddsUpByQuery(t *testing.T) {
	var m hippo.Meter
	ctx := hippo.WithMeter(t.Context(), &m)
	hippo.CountRead(ctx, "b", 3, 100)
	hippo.CountRead(ctx, "a", 0, 0)
	hippo.CountWrites(ctx, "b", 2)
	hippo.CountRead(ctx, "b", 1, 10)
	want := []hippo.Reads{{Query: "b", Documents: 4, Bytes: 110, Writes: 2}, {Query: "a", Documents: 1}}
	if diff := cmp.Diff(want, m.ByQuery()); diff != "" {
		t.Errorf("by query, in the order of first use (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hippo.Reads{Documents: 5, Bytes: 110, Writes: 2}, m.Total()); diff != "" {
		t.Errorf("in all (-want +got):\n%s", diff)
	}
	m.ByQuery()[0].Documents = 99
	if diff := cmp.Diff(want, m.ByQuery()); diff != "" {
		t.Errorf("after a copy was changed (-want +got):\n%s", diff)
	}
}

func TestCountingWithoutAMeterIsNothing(t *testing.T) {
	hippo.CountRead(t.Context(), "a", 1, 1)
	var m hippo.Meter
	hippo.CountRead(t.Context(), "a", 1, 1)
	if m.Total() != (hippo.Reads{}) || m.ByQuery() != nil {
		t.Errorf("a meter that no context knows counted %v", m.Total())
	}
}

func TestAMeterCountsConcurrentWork(t *testing.T) {
	var m hippo.Meter
	ctx := hippo.WithMeter(t.Context(), &m)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { hippo.CountRead(ctx, "a", 2, 3) })
	}
	group.Wait()
	if got, want := m.Total(), (hippo.Reads{Documents: 40, Bytes: 60}); got != want {
		t.Errorf("counted %v, want %v", got, want)
	}
}
