package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/localstack"
)

type benchRepairCmd struct {
	benchStore
	Memories int `help:"How many memories there are." default:"20000" placeholder:"N"`
}

func (c *benchRepairCmd) Run(ctx context.Context, to console) error {
	if c.Memories < 100 {
		return hippo.Errorf(hippo.Invalid, "--memories", "%d is too few: one in a hundred is lost", c.Memories)
	}
	world, err := bench.Open(ctx, localstack.StoreKind(c.Store), c.Firestore)
	if err != nil {
		return err
	}
	defer world.Close()
	rows, err := world.Repair(ctx, c.Memories, stepsOn(to))
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(rows)
	}
	w := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "memories\treads\treads a memory\tindex writes\tms\tpeak MB\tindex right\t  case\t  found\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%d\t%.3f\t%d\t%.0f\t%.1f\t%t\t  %s\t  %s\t\n", r.Memories, r.Reads, r.ReadsPerMemory, r.IndexWrites,
			r.Milliseconds, float64(r.PeakBytes)/1e6, r.Equal, r.Case, findingList(r.Findings))
	}
	return w.Flush()
}
