// Command breaks is scripts/break: it breaks the code on purpose, one invariant
// at a time, and demands that the test which guards the invariant turns red.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hippofire/hippofire/scripts/internal/emulators"
)

const patchDir = "testdata/break"

const usage = `usage: scripts/break [PATCH...]

Applies each patch of testdata/break (or those named) to a copy of the tree, runs
the test that the patch names, and demands that it fails there by its own checks,
and passes without the patch. testdata/break/README.md tells how to write one.
`

func main() {
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage) }
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scripts/break:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, names []string, out io.Writer) error {
	patches, err := choose(root, names)
	if err != nil {
		return err
	}
	var env []string
	if slices.ContainsFunc(patches, func(p patch) bool { return p.emulator }) {
		running, err := emulators.Start(ctx, out)
		if err != nil {
			return err
		}
		defer running.Stop()
		env = running.Env
	}
	b, err := newBench(ctx, root, env)
	if err != nil {
		return err
	}
	defer b.remove()
	missed := 0
	for _, p := range patches {
		why, err := b.report(ctx, p, out)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if why != "" {
			missed++
		}
	}
	fmt.Fprintf(out, "%d patches, %d caught\n", len(patches), len(patches)-missed)
	if missed > 0 {
		return fmt.Errorf("%d of them would go unnoticed, or cannot be tried", missed)
	}
	return nil
}

// report tries a patch and prints a line for it, and why it was missed.
func (b *bench) report(ctx context.Context, p patch, out io.Writer) (why string, err error) {
	began := time.Now()
	why, err = b.try(ctx, p)
	if err != nil {
		return why, err
	}
	verdict := "red   "
	if why != "" {
		verdict = "MISSED"
	}
	fmt.Fprintf(out, "%s  %-32s  %s: %s  (%s %s, %.1fs)\n", verdict, p.name, p.invariant, p.breaks, p.pkg, p.run, time.Since(began).Seconds())
	if why != "" {
		fmt.Fprintln(out, "        "+strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n        "))
	}
	return why, nil
}

// choose reads the patches of the tree, or only those named.
func choose(root string, names []string) ([]patch, error) {
	files, err := filepath.Glob(filepath.Join(root, patchDir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var patches []patch
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.TrimSuffix(filepath.Base(n), ".patch") == name }) {
			continue
		}
		p, err := readPatch(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		patches = append(patches, p)
	}
	if len(patches) == 0 || len(names) > len(patches) {
		return nil, fmt.Errorf("%s holds %d of the patches asked for", patchDir, len(patches))
	}
	return patches, nil
}
