package cli

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/localstack"
)

type benchTurnCmd struct {
	benchStore
	Threads  []int `help:"Numbers of messages in a thread." default:"30,400,10000"`
	Memories []int `help:"Numbers of memories, in ascending order, 50 or more." default:"100,100000"`
}

func (c *benchTurnCmd) Run(ctx context.Context, to console) error {
	if len(c.Threads) == 0 || slices.Min(c.Threads) < 1 {
		return hippo.Errorf(hippo.Invalid, "--threads", "must be numbers above 0")
	}
	if len(c.Memories) == 0 || c.Memories[0] < 50 || !slices.IsSorted(c.Memories) {
		return hippo.Errorf(hippo.Invalid, "--memories", "must be numbers from 50 on, in ascending order")
	}
	world, err := bench.Open(ctx, localstack.StoreKind(c.Store), c.Firestore)
	if err != nil {
		return err
	}
	defer world.Close()
	report, err := world.Turn(ctx, c.Store, c.Threads, c.Memories, stepsOn(to))
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(report)
	}
	w := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "memories\tmessages\tdocuments\tbytes\ttokens\tallocations\tp50 ms\tp95 ms\tratio\truns\t  way\t")
	for _, r := range report.Rows {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%.2f\t%d\t  %s\t\n", r.Memories, r.Messages, r.Reads, r.Bytes, r.Tokens, r.Mallocs, r.P50, r.P95, r.Ratio, r.Runs, r.Way)
	}
	return w.Flush()
}
