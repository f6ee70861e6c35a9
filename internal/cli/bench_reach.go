package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/importer"
)

type benchReachCmd struct {
	File  string `arg:"" optional:"" help:"The file locomo10.json; $HIPPOFIRE_LOCOMO where none is given."`
	Audit string `help:"List of questions whose labels are wrong; audit-errors.json beside the file where there is one." placeholder:"FILE"`
	JSON  bool   `help:"Print JSON."`
}

func (c *benchReachCmd) Run(ctx context.Context, to console) error {
	data := cmp.Or(c.File, os.Getenv("HIPPOFIRE_LOCOMO"))
	if data == "" {
		return hippo.Errorf(hippo.Invalid, "file", "is missing: name locomo10.json, or set HIPPOFIRE_LOCOMO to its path")
	}
	file, err := os.Open(data)
	if err != nil {
		return hippo.Wrap(hippo.Invalid, err, "opening the LoCoMo file")
	}
	defer file.Close()
	conversations, err := importer.ReadLocomo(file)
	if err != nil {
		return err
	}
	audited, err := c.audited(data)
	if err != nil {
		return err
	}
	report, err := bench.Reach(ctx, conversations, audited, stepsOn(to))
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(report)
	}
	return printReach(to, report)
}

// audited reads the audit; without one, no question counts as audited.
func (c *benchReachCmd) audited(data string) (map[string]string, error) {
	marks, err := os.Open(cmp.Or(c.Audit, filepath.Join(filepath.Dir(data), "audit-errors.json")))
	if c.Audit == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "opening the audit")
	}
	defer marks.Close()
	return bench.ReadAudit(marks)
}

func printReach(to console, r bench.ReachReport) error {
	to.say("%d conversations, %d questions with evidence, %d of them with a label that the audit objects to.", r.Conversations, r.Questions, r.Audited)
	to.say("Left out: %d questions without evidence; %d strings of evidence that name no turn.", r.NoEvidence, r.NoTurn)
	to.say("Each figure: per cent of questions with all of their evidence in reach; behind the slash, without those audited.\n")
	w := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "\t"
	for _, s := range r.Buffer[0].Shares {
		head += fmt.Sprintf("%s (%d/%d)\t", s.Category, s.All.Of, s.Unmarked.Of)
	}
	fmt.Fprintln(w, "lines\ttokens"+head+"  window and buffer\t")
	for _, b := range r.Buffer {
		fmt.Fprintf(w, "%.1f\t%.0f\t%s  stretches: %s; %s\t\n", b.Lines, b.Tokens, shares(b.Shares), b.Stretches, b.Rule)
	}
	fmt.Fprintln(w, "\t"+head+"  search\t")
	for _, s := range r.Search {
		fmt.Fprintf(w, "\t\t%s  first %d hits, with the messages around them\t\n", shares(s.WithAround), s.Hits)
		fmt.Fprintf(w, "\t\t%s  first %d hits alone\t\n", shares(s.Alone), s.Hits)
	}
	return w.Flush()
}

func shares(all []bench.Share) string {
	text := ""
	for _, s := range all {
		text += fmt.Sprintf("%s / %s\t", percent(s.All), percent(s.Unmarked))
	}
	return text
}

func percent(f bench.Fraction) string {
	if f.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(f.Reached)/float64(f.Of))
}
