package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/localstack"
)

type benchFreshnessCmd struct {
	Store    string          `help:"Where documents lie: Firestore and Pub/Sub emulators that are started for it, or a store in this process." enum:"emulator,embedded" default:"emulator"`
	Memories int             `help:"How many memories there are beside those that change." default:"1000" placeholder:"N"`
	Trials   int             `help:"How many changes of each sort are made." default:"50" placeholder:"N"`
	After    []time.Duration `help:"How long after a change the list is looked at." default:"0s,1s,5s,30s" placeholder:"TIME"`
	JSON     bool            `help:"Print JSON."`
}

func (c *benchFreshnessCmd) Run(ctx context.Context, to console) error {
	if c.Trials < 1 || c.Memories < 0 || len(c.After) == 0 {
		return hippo.Errorf(hippo.Invalid, "", "there have to be trials, and times to look at")
	}
	rows, err := bench.Freshness(ctx, localstack.StoreKind(c.Store), c.Memories, c.Trials, c.After, stepsOn(to))
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(rows)
	}
	w := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "path\tchange\ttrials\t")
	for _, a := range rows[0].After {
		fmt.Fprintf(w, "after %gs\t", a.Seconds)
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t", r.Path, r.Change, r.Trials)
		for _, a := range r.After {
			fmt.Fprintf(w, "%.0f %%\t", 100*a.Share)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
