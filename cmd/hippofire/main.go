// Command hippofire runs the system on one machine, loads data into it, and looks
// after an index. hippofire --help lists what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hippofire/hippofire/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
