package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/localstack"
)

type benchLoadCmd struct {
	benchStore
	Clients  int           `help:"How many clients ask at the same time." default:"16"`
	For      time.Duration `help:"For how long." default:"10s"`
	Tenants  int           `help:"How many tenants they ask for." default:"20"`
	Memories int           `help:"How many memories each tenant has." default:"300"`
}

// The bounds of a load, which is for the machine it runs on.
const (
	maxClients   = 1000
	maxLoad      = 10 * time.Minute
	maxPerTenant = 400
)

func (c *benchLoadCmd) Run(ctx context.Context, to console) error {
	switch {
	case c.Clients < 1 || c.Clients > maxClients:
		return hippo.Errorf(hippo.Invalid, "--clients", "%d lies outside 1 to %d", c.Clients, maxClients)
	case c.For <= 0 || c.For > maxLoad:
		return hippo.Errorf(hippo.Invalid, "--for", "%s lies outside 0 to %s", c.For, maxLoad)
	case c.Tenants < 1:
		return hippo.Errorf(hippo.Invalid, "--tenants", "%d is too few", c.Tenants)
	case c.Memories < 50 || c.Memories > maxPerTenant:
		return hippo.Errorf(hippo.Invalid, "--memories", "%d lies outside 50 to %d", c.Memories, maxPerTenant)
	}
	world, err := bench.Open(ctx, localstack.StoreKind(c.Store), c.Firestore)
	if err != nil {
		return err
	}
	defer world.Close()
	plan := bench.LoadPlan{Clients: c.Clients, Tenants: c.Tenants, Memories: c.Memories, For: c.For}
	r, err := world.Load(ctx, c.Store, plan, stepsOn(to))
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(r)
	}
	to.say("%d clients on %d tenants for %.1f s: %d answers, %.0f a second, p50 %.1f ms, p99 %.1f ms, %.0f MB of heap at most",
		r.Clients, r.Tenants, r.Seconds, r.Answers, r.PerSec, r.P50, r.P99, r.HeapMB)
	for _, failure := range slices.Sorted(maps.Keys(r.Errors)) {
		to.say("  %d times %s", r.Errors[failure], failure)
	}
	if len(r.Errors) == 0 {
		to.say("No errors.")
	}
	return nil
}
