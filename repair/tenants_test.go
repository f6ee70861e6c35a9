package repair_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
)

func TestAnEmptyTenantAndOneWithoutADocumentOfItsOwn(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.PutDocument(fmt.Sprintf(tenantDocument(f), "empty"), map[string]any{"plan": "free"})
		f.Must(f.Direct.SaveMemory(t.Context(), "orphaned", hippo.Memory{ID: f.ID("pages/a"), Name: "pages/a"}))
		r.handle(repairmsg.Message{Cause: repairmsg.Nightly})
		for tenant, memories := range map[hippo.TenantID]int{"empty": 0, "orphaned": 1} {
			c, err := r.Check(t.Context(), tenant)
			if err != nil || !c.Equal || c.Memories != memories {
				t.Errorf("%s: %+v %v, want an equal index of %d memories", tenant, c, err, memories)
			}
		}
	})
}

// tenantDocument is the path of a tenant's own document.
func tenantDocument(f *fixture.Fixture) string {
	before, _, _ := strings.Cut(f.Layout.Paths.Memory, "{tenant}")
	return before + "%s"
}

func TestTwoThousandTenants(t *testing.T) {
	const tenants = 2000
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		var group errgroup.Group
		group.SetLimit(32)
		for i := range tenants {
			group.Go(func() error {
				return f.Direct.SaveMemory(t.Context(), hippo.TenantID(fmt.Sprintf("t%04d", i)), hippo.Memory{ID: "YQ", Name: "a"})
			})
		}
		f.Must(group.Wait())
		var meter hippo.Meter
		f.Must(r.Handle(hippo.WithMeter(t.Context(), &meter), repairmsg.Message{Cause: repairmsg.Nightly}))
		sent := map[hippo.TenantID]int{}
		for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
			sent[m.Tenant]++
		}
		if len(sent) != tenants {
			t.Errorf("%d tenants got a message, want %d", len(sent), tenants)
		}
		for tenant, n := range sent {
			if n != 1 {
				t.Errorf("%s got %d messages", tenant, n)
			}
		}
		if read := meter.Total().Documents; read > tenants+tenants/100 {
			t.Errorf("listing %d tenants read %d documents", tenants, read)
		}
	})
}

func TestAFanOutThatRunsOutOfTimeIsCarriedOn(t *testing.T) {
	f := fixture.Embedded(t)
	r := newRepairer(f, repair.Options{RunFor: time.Nanosecond, Now: ticking()})
	const tenants = 350
	for i := range tenants {
		f.Must(f.Direct.SaveMemory(t.Context(), hippo.TenantID(fmt.Sprintf("t%04d", i)), hippo.Memory{ID: "YQ", Name: "a"}))
	}
	f.Must(r.topic.Publish(t.Context(), repairmsg.Message{Cause: repairmsg.Nightly}))
	sent, runs := map[hippo.TenantID]int{}, 0
	for m, ok := r.topic.take(); ok; m, ok = r.topic.take() {
		if m.Tenant != "" {
			sent[m.Tenant]++
			continue
		}
		runs++
		f.Must(r.Handle(t.Context(), m))
	}
	if len(sent) != tenants || runs < 4 {
		t.Errorf("%d tenants got a message in %d runs, want all %d in several", len(sent), runs, tenants)
	}
}
