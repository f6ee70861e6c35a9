package repair

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// tenantsPage is how many tenants are listed at a time. Firestore can list them
// only from the first one, so that each page costs the reads of all before it as
// well; a page of so many names takes a megabyte or two.
const tenantsPage = 20_000

// sendAtOnce is how many tenants' messages are on their way to the topic at a
// time.
const sendAtOnce = 100

// fanOut sends one message for each tenant behind the message's cursor.
func (r *Repairer) fanOut(ctx context.Context, m repairmsg.Message) error {
	start := r.options.Now()
	after := hippo.TenantID(m.After)
	for {
		tenants, err := r.store.Tenants(ctx, after, tenantsPage)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(tenants, sendAtOnce) {
			if err := r.send(ctx, some); err != nil {
				return err
			}
			after = some[len(some)-1]
			if r.options.Now().Sub(start) > r.options.RunFor {
				return r.publisher.Publish(ctx, repairmsg.Message{Cause: repairmsg.Continue, After: string(after)})
			}
		}
		if len(tenants) < tenantsPage {
			return nil
		}
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
