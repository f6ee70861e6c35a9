package repair

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// tenantsPage is how many tenants are listed at a time, and how many of their
// messages are on their way to the topic at once.
const tenantsPage = 100

// fanOut sends one message for each tenant behind the message's cursor.
func (r *Repairer) fanOut(ctx context.Context, m repairmsg.Message) error {
	start := r.options.Now()
	for from := (hippo.Cursor{After: m.After, Token: m.Token}); ; {
		tenants, next, err := r.store.Tenants(ctx, from, tenantsPage)
		if err != nil {
			return err
		}
		if err := r.send(ctx, tenants); err != nil {
			return err
		}
		if next.IsZero() {
			return nil
		}
		if r.options.Now().Sub(start) > r.options.RunFor {
			return r.publisher.Publish(ctx, repairmsg.Message{Cause: repairmsg.Continue, After: next.After, Token: next.Token})
		}
		from = next
	}
}

func (r *Repairer) send(ctx context.Context, tenants []hippo.TenantID) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, tenant := range tenants {
		group.Go(func() error {
			return r.publisher.Publish(ctx, repairmsg.Message{Tenant: tenant, Cause: repairmsg.Nightly})
		})
	}
	if err := group.Wait(); err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "sending the tenants' repair messages")
	}
	return nil
}
