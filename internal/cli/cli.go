// Package cli is the command line: one file for each command, and what they
// share. It parses, calls, and prints; what is done stands elsewhere.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/hippofire/hippofire/hippo"
)

// Exit codes. A command that compares ends with exitDifferent where it found a
// difference; any command ends with exitFailed where it could not do its work.
const (
	exitOK        = 0
	exitDifferent = 1
	exitFailed    = 2
)

// errDifferent ends a command with exitDifferent, and nothing more to say.
var errDifferent = errors.New("different")

// commands is the command line as kong reads it.
type commands struct {
	Demo     demoCmd     `cmd:"" help:"Show on a sample conversation what a model sees, with Hippofire and without."`
	Local    localCmd    `cmd:"" help:"Run the functions with a store and everything between them on this machine, until Ctrl-C."`
	Import   importCmd   `cmd:"" help:"Load conversations from a file through the functions of the local stack."`
	Turn     turnCmd     `cmd:"" help:"Show the context of a thread's next turn as a model would see it."`
	Episodes episodesCmd `cmd:"" help:"List a thread's episodes: handles, lines, blocked ones too, and what became of each pointer."`
	Ls       lsCmd       `cmd:"" help:"List tenants, threads and how much they hold."`
	Check    checkCmd    `cmd:"" help:"Compare index and memories. Exit code 0: equal, 1: different, 2: could not tell."`
	Repair   repairCmd   `cmd:"" help:"Mend or build a tenant's index now."`
	Forget   forgetCmd   `cmd:"" help:"Delete a tenant, a thread or a memory for good, with everything that was made of it."`
	Nightly  nightlyCmd  `cmd:"" help:"Publish the message that Cloud Scheduler publishes every night."`
	Doctor   doctorCmd   `cmd:"" help:"Look at settings, database, indexes, repairs and versions, and say how to mend what is not well."`
	Bench    benchCmd    `cmd:"" help:"Measure what the design promises."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

// console is where a command prints.
type console struct {
	out, err io.Writer
}

// Main runs the command line and returns the exit code. Ctrl-C and a request to
// terminate end what it does in an orderly way.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("hippofire"),
		kong.Description("Long memory for AI agents on Firestore, at a flat cost per turn."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(console{out: stdout, err: stderr}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "hippofire:", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 { // --help printed it
		return exit
	}
	if err == nil {
		err = parsed.Run()
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errDifferent):
		return exitDifferent
	}
	fmt.Fprintln(stderr, "hippofire:", err)
	return exitFailed
}

// printJSON prints a value for other programs.
func (c console) printJSON(v any) error {
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (c console) say(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// isTerminal says whether somebody reads what is written to w on a screen.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour says whether headings may be set off.
func colour(w io.Writer) bool {
	_, no := os.LookupEnv("NO_COLOR")
	return !no && isTerminal(w)
}

// tenantIDs checks tenants named on the command line.
func tenantIDs(names []string) ([]hippo.TenantID, error) {
	var ids []hippo.TenantID
	for _, name := range names {
		id, err := hippo.NewTenantID(name)
		if err != nil {
			return nil, hippo.InField(err, "--tenant")
		}
		ids = append(ids, id)
	}
	return ids, nil
}
