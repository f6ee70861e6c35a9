// Command testrun is scripts/test: it runs the tests with the race detector on
// one pair of emulators, and says how many ran.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/hippofire/hippofire/scripts/internal/emulators"
	"github.com/hippofire/hippofire/scripts/internal/gotest"
)

const usage = `usage: scripts/test [arguments of go test]

Runs every test with the race detector, on a Firestore and a Pub/Sub emulator
that it starts and stops. FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST name
emulators to use instead. A test that skips fails the run, unless it is listed in
scripts/internal/testrun/skips.go. So does a text that tests planted as a content
or name (internal/secret) and that is in anything the run prints, logs included.

  scripts/test                         everything
  scripts/test ./hippo                 one package; paths start at the repository
  scripts/test -run 'TestTurn' -v      what go test takes is passed on

What the tests need beside Go (a C compiler, Java, the emulators) is installed
where this runs as root on Debian or Ubuntu; elsewhere the commands are printed.
The last line is "N passed, N failed, N skipped"; subtests count.
`

func main() {
	args := os.Args[1:]
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		fmt.Print(usage)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, args, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scripts/test:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run says whether all is well; the reasons why not are on out.
func run(ctx context.Context, args []string, out io.Writer) (bool, error) {
	if err := haveCompiler(ctx, out); err != nil {
		return false, err
	}
	running, err := emulators.Start(ctx, out)
	if err != nil {
		return false, err
	}
	r := newReport(out, listedSkips)
	r.verbose = slices.Contains(args, "-v")
	testErr := gotest.Run(ctx, ".", running.Env, goTestArgs(args), r.take)
	if err := running.Stop(); err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		return false, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	return r.finish(testErr), nil
}

// haveCompiler sees to the C compiler, which the race detector needs.
func haveCompiler(ctx context.Context, out io.Writer) error {
	cc, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
	if err != nil {
		return fmt.Errorf("go env CC: %w", err)
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(cc)), " ")
	if _, err := exec.LookPath(name); err == nil {
		return nil
	}
	if err := emulators.Install(ctx, out, "gcc", "libc6-dev"); err != nil {
		return fmt.Errorf("the race detector needs a C compiler, and %q is not there: %w", name, err)
	}
	return nil
}

// goTestArgs puts the defaults before what the caller gave, which wins.
func goTestArgs(args []string) []string {
	all := []string{"-race", "-count=1", "-timeout=10m"}
	if !slices.ContainsFunc(args, isPackage) {
		all = append(all, "./...")
	}
	return append(all, args...)
}

func isPackage(arg string) bool {
	return arg == "." || arg == "..." || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, modulePath)
}
