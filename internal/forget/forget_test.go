package forget_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/internal/forget"
)

func TestWhatIsWrittenWhileATenantIsForgottenIsForgottenTooOrSaid(t *testing.T) {
	for writes, wantErr := range map[int]bool{0: false, 1: false, 2: false, 1000: true} {
		f := fixture.Embedded(t)
		f.SaveMemories("pages/a", "pages/b")
		calls := 0
		f.Fault.After = func(ctx context.Context, method string) error {
			if calls++; method != "DeleteTenant" || calls > 2*writes { // Threads is the other call
				return nil
			}
			return f.Direct.SaveMemory(ctx, fixture.Tenant, hippo.Memory{ID: f.ID(fmt.Sprintf("late/%d", calls))})
		}
		documents, err := forget.Tenant(t.Context(), f.Fault, fixture.Tenant)
		if wantErr != hippo.IsKind(err, hippo.Conflict) || !wantErr && err != nil {
			t.Errorf("%d documents written meanwhile: error %v", writes, err)
		}
		left, err := f.Direct.CountMemories(t.Context(), fixture.Tenant)
		f.Must(err)
		if !wantErr && (left > 0 || documents != 2+writes) {
			t.Errorf("%d documents written meanwhile: %d deleted, %d left", writes, documents, left)
		}
	}
}
