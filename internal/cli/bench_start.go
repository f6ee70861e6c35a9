package cli

import (
	"context"

	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/localstack"
)

type benchStartCmd struct {
	Firestore string `help:"Use the Firestore emulator that runs there; else one is started." env:"FIRESTORE_EMULATOR_HOST" placeholder:"HOST:PORT"`
	Memories  int    `help:"How many memories the tenant has." default:"1000" placeholder:"N"`
	Runs      int    `help:"How many processes are started." default:"20" placeholder:"N"`
	JSON      bool   `help:"Print JSON."`
}

// Run needs the project's source around the working directory, and Go.
func (c *benchStartCmd) Run(ctx context.Context, to console) error {
	world, err := bench.Open(ctx, localstack.Emulator, c.Firestore)
	if err != nil {
		return err
	}
	defer world.Close()
	r, err := world.Start(ctx, c.Memories, max(1, c.Runs), stepsOn(to))
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(r)
	}
	to.say("%d processes, %d memories; milliseconds from a process's start", r.Runs, c.Memories)
	to.say("  takes connections     p50 %6.0f   p95 %6.0f", r.Listening.P50, r.Listening.P95)
	to.say("  first turn answered   p50 %6.0f   p95 %6.0f   target: p50 300 at most", r.Answered.P50, r.Answered.P95)
	to.say("  a second turn takes   p50 %6.1f   p95 %6.1f", r.Second.P50, r.Second.P95)
	to.say("The program is %.1f MB, %.1f MB without symbols. Packages do %.1f ms before main, most of it:", megabytes(r.BinaryBytes), megabytes(r.StrippedBytes), r.InitMilliseconds)
	for _, p := range r.Inits {
		to.say("  %6.2f ms  %s", p.Milliseconds, p.Package)
	}
	return nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
