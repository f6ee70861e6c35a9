package cli

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/forget"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/embedded"
)

type forgetCmd struct {
	target
	Tenant string `required:"" help:"Tenant to forget, with everything of it unless --thread or --memory says less." placeholder:"ID"`
	Thread string `help:"Forget this thread of the tenant alone." placeholder:"ID" xor:"what"`
	Memory string `help:"Forget this memory of the tenant alone." placeholder:"NAME" xor:"what"`
	Yes    bool   `help:"Do it. Without this, only how much the tenant holds is shown. With it, the store has to be named by --project or --data, unless it is the local stack that runs here."`
	JSON   bool   `help:"Print JSON."`
}

// forgotten is what the command did.
type forgotten struct {
	Tenant    hippo.TenantID `json:"tenant"`
	Thread    hippo.ThreadID `json:"thread,omitempty"`
	Memory    string         `json:"memory,omitempty"`
	Documents int            `json:"documents,omitempty"`
	Lines     []forget.Line  `json:"lines,omitempty"`
}

// Run deletes, and then looks whether anything is left.
func (c *forgetCmd) Run(ctx context.Context, line *kong.Context, to console) error {
	tenants, err := tenantIDs([]string{c.Tenant})
	if err != nil {
		return err
	}
	if !c.Yes {
		return c.show(ctx, to, tenants[0])
	}
	if err := c.meant(line); err != nil {
		return err
	}
	store, err := c.open(ctx, writes)
	if err != nil {
		return err
	}
	done, err := c.forget(ctx, store, tenants[0])
	if closed := store.close(); err == nil {
		err = closed
	}
	if err == nil {
		err = c.compact(store.layout)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(done)
	}
	done.print(to)
	return nil
}

// meant refuses a store that the environment alone names: it may be another than
// the one that whoever typed the command has in mind.
func (c *forgetCmd) meant(line *kong.Context) error {
	if err := c.resolve(); err != nil || c.running {
		return err
	}
	for _, p := range line.Path {
		if p.Flag != nil && (p.Flag.Name == "project" || p.Flag.Name == "data") {
			return nil
		}
	}
	return hippo.Errorf(hippo.Invalid, "--project", "nothing was deleted: the environment names %s; to delete there, name it by --project or --data", c.where())
}

func (c *forgetCmd) show(ctx context.Context, to console, tenant hippo.TenantID) error {
	store, err := c.open(ctx, reads)
	if err != nil {
		return err
	}
	defer store.close()
	counts, err := countTenant(ctx, store, tenant)
	if err != nil {
		return err
	}
	if err := to.printJSON(counts); err != nil {
		return err
	}
	return hippo.Errorf(hippo.Invalid, "--yes", "is missing: nothing was deleted in %s", c.where())
}

func (c *forgetCmd) forget(ctx context.Context, store *opened, tenant hippo.TenantID) (done forgotten, err error) {
	done.Tenant = tenant
	switch {
	case c.Thread != "":
		if done.Thread, err = hippo.NewThreadID(c.Thread); err != nil {
			return done, hippo.InField(err, "--thread")
		}
		done.Documents, err = forget.Thread(ctx, store, tenant, done.Thread)
	case c.Memory != "":
		id, err := store.layout.Naming.ID(c.Memory)
		if err != nil {
			return done, hippo.InField(err, "--memory")
		}
		done.Memory = c.Memory
		reconciler := reconcile.New(store, store.layout.Naming, repairmsg.NewAsker(&queue{}, nil))
		done.Lines, err = forget.Memory(ctx, store, reconciler.Reconcile, tenant, id)
		return done, err
	default:
		done.Documents, err = forget.Tenant(ctx, store, tenant)
	}
	return done, err
}

// compact writes the journal of an embedded store anew: until then it still holds
// every earlier commit.
func (c *forgetCmd) compact(layout hippo.Layout) error {
	if c.Data == "" {
		return nil
	}
	store, err := embedded.Open(c.Data, layout, nil)
	if err != nil {
		return err
	}
	return store.Close()
}

func (f forgotten) print(to console) {
	switch {
	case f.Thread != "":
		to.say("%d documents of the thread %s of %s deleted; none is left", f.Documents, f.Thread, f.Tenant)
	case f.Memory == "":
		to.say("%d documents of %s deleted; none is left", f.Documents, f.Tenant)
	default:
		to.say("The memory %s of %s is deleted, with its entry, moves and pointers.", f.Memory, f.Tenant)
		for _, l := range f.Lines {
			to.say("  %s pointed at it in [%s]: %s", l.Thread, l.Handle, l.Gist)
		}
		if len(f.Lines) > 0 {
			to.say("These lines and the messages behind them may still say what it said.")
		}
	}
}
