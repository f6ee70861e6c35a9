package repairmsg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

func TestMessageTravels(t *testing.T) {
	for _, want := range []repairmsg.Message{
		{Cause: repairmsg.Nightly},
		{Tenant: "t", Cause: repairmsg.Continue, Gen: "g", After: "QQ", Run: &hippo.Report{Tenant: "t", Memories: 3, Findings: map[hippo.FindingType]int{hippo.Stale: 2}}},
	} {
		got, err := repairmsg.Decode(want.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestForeignMessagesAreInvalid(t *testing.T) {
	for _, text := range []string{
		"", "not ours", "[]", `{"colour":1}`, "{}", "null",
		`{"tenant":"a"}`, `{"cause":"boredom"}`,
		`{"tenant":"a/b","cause":"nightly"}`,
		`{"tenant":"a","cause":"continue","run":{"tenant":"b","cause":"nightly"}}`,
		`{"tenant":"a","cause":"continue","run":{}}`,
		`{"cause":"continue","run":{"tenant":"b"}}`,
	} {
		if _, err := repairmsg.Decode([]byte(text)); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%q: %v, want invalid", text, err)
		}
	}
}

// topic counts messages, and fails while it is down.
type topic struct {
	mu    sync.Mutex
	count int
	down  bool
}

func (p *topic) Publish(context.Context, repairmsg.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return errors.New("down")
	}
	p.count++
	return nil
}

func TestTenantIsAskedForOnceAMinute(t *testing.T) {
	now := time.Now()
	p := &topic{}
	a := repairmsg.NewAsker(p, func() time.Time { return now })
	ask := func(tenant hippo.TenantID) {
		t.Helper()
		if err := a.Ask(t.Context(), tenant, repairmsg.NoIndex); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		ask("a")
	}
	ask("b")
	if p.count != 2 {
		t.Errorf("%d messages for two tenants within a minute, want 2", p.count)
	}
	now = now.Add(time.Minute)
	ask("a")
	if p.count != 3 {
		t.Errorf("%d messages after a minute, want 3", p.count)
	}
}

func TestFailedAskCountsAsNone(t *testing.T) {
	p := &topic{down: true}
	a := repairmsg.NewAsker(p, nil)
	if err := a.Ask(t.Context(), "t", repairmsg.NoIndex); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	p.down = false
	if err := a.Ask(t.Context(), "t", repairmsg.NoIndex); err != nil || p.count != 1 {
		t.Errorf("asking again: %v, %d messages", err, p.count)
	}
}

func TestAskerForgetsRatherThanGrow(t *testing.T) {
	p := &topic{}
	a := repairmsg.NewAsker(p, nil)
	for i := range 25_000 {
		if err := a.Ask(t.Context(), hippo.TenantID(fmt.Sprint(i)), repairmsg.NoIndex); err != nil {
			t.Fatal(err)
		}
	}
	if p.count != 25_000 {
		t.Errorf("%d messages for 25,000 tenants", p.count)
	}
}
