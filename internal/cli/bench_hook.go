package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/localstack"
)

type benchHookCmd struct {
	Store    string `help:"Where documents lie: a Firestore emulator that is started for it, or a store in this process." enum:"emulator,embedded" default:"emulator"`
	Memories int    `help:"How many memories to import." default:"10000" placeholder:"N"`
	JSON     bool   `help:"Print JSON."`
}

func (c *benchHookCmd) Run(ctx context.Context, to console) error {
	if c.Memories < 1 {
		return hippo.Errorf(hippo.Invalid, "--memories", "%d is too few", c.Memories)
	}
	rows, err := bench.Hook(ctx, localstack.StoreKind(c.Store), c.Memories, bench.HookModes(), stepsOn(to))
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(rows)
	}
	w := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "changes\tshard commits\tchanges a commit\treads a change\twrites a change\tseconds to equal\tretried\tindex right\t  mode\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%d\t%.1f\t%.2f\t%.3f\t%.2f\t%d\t%t\t  %s\t\n", r.Changes, r.ShardCommits, r.ChangesPerCommit, r.ReadsPerChange,
			r.WritesPerChange, r.SecondsToEqual, r.Retried, r.Equal, r.Mode)
	}
	return w.Flush()
}
