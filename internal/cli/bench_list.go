package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/localstack"
)

type benchListCmd struct {
	benchStore
	Sizes []int  `help:"Numbers of memories to measure with, in ascending order." default:"100,1000,5000,20000,100000" placeholder:"N"`
	Chart string `help:"Draw the curves into this SVG file." placeholder:"FILE"`
}

func (c *benchListCmd) Run(ctx context.Context, to console) error {
	if len(c.Sizes) == 0 || c.Sizes[0] < 1 || !slices.IsSorted(c.Sizes) {
		return hippo.Errorf(hippo.Invalid, "--sizes", "must be numbers above 0 in ascending order")
	}
	world, err := bench.Open(ctx, localstack.StoreKind(c.Store), c.Firestore)
	if err != nil {
		return err
	}
	defer world.Close()
	report, err := world.List(ctx, c.Store, c.Sizes, stepsOn(to))
	if err != nil {
		return err
	}
	if c.Chart != "" {
		if err := c.draw(report); err != nil {
			return err
		}
	}
	if c.JSON {
		return to.printJSON(report)
	}
	return printListBench(to, report)
}

func (c *benchListCmd) draw(report bench.ListReport) error {
	file, err := os.Create(c.Chart)
	if err != nil {
		return hippo.Wrap(hippo.Invalid, err, "--chart")
	}
	if err := report.WriteChart(file); err != nil {
		file.Close()
		return hippo.Wrap(hippo.Unavailable, err, "writing the chart")
	}
	return file.Close()
}

func printListBench(to console, r bench.ListReport) error {
	w := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "memories\tshards\tdocuments\tbytes\tp50 ms\tp95 ms\truns\t  way\t")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%.2f\t%.2f\t%d\t  %s\t\n", row.Memories, row.Shards, row.Reads, row.Bytes, row.P50, row.P95, row.Runs, row.Way)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	to.say("\nWarm, nothing changed, most memories against fewest: p50 ratio %.2f. An emulator takes the longer for any query the", r.WarmRatio)
	to.say("more documents it holds; so beside it, in the same state, a query that finds nothing:")
	sizes := make([]int, 0, len(r.ColdGain))
	for size := range r.ColdGain {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	for _, size := range sizes {
		to.say("Warm index against a query that finds nothing (%.2f ms), %d memories: takes %.2f times as long.", r.Query[size], size, r.WarmOverQuery[size])
	}
	for _, size := range sizes {
		to.say("Cold index against the scan of updated_at, %d memories: %.1f times faster.", size, r.ColdGain[size])
	}
	return nil
}

// stepsOn tells on the standard error what a benchmark is doing. What it returns is
// safe for concurrent use, since a benchmark writes what it reads with many hands.
func stepsOn(to console) func(what string, done int) {
	var mu sync.Mutex
	var p *progress
	return func(what string, done int) {
		mu.Lock()
		defer mu.Unlock()
		if p == nil || p.what != what {
			if p != nil {
				p.end()
			}
			p = newProgress(to.err, what)
		}
		p.at(done)
	}
}
