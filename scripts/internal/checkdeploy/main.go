// Command checkdeploy is scripts/check-deploy: it does to this tree what the Go
// functions buildpack does to a deployment's, and asks every function for an
// answer.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hippofire/hippofire/scripts/internal/worktree"
)

const usage = `usage: scripts/check-deploy [--self-test]

Copies what a deployment uploads (the files that neither Git nor .gcloudignore
ignores), repeats on the copy the steps of the Go functions buildpack, and runs
each function that the binary serves until it has answered. Nothing is deployed.

  --self-test  spoils the copy in ways that could not be deployed, and demands
               that each is noticed
`

func main() {
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage) }
	selfTest := flag.Bool("self-test", false, "")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", *selfTest, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scripts/check-deploy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, selfTest bool, out io.Writer) error {
	files, err := uploaded(ctx, root)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "check-deploy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if selfTest {
		return checkSpoiled(ctx, root, files, work, out)
	}
	source := filepath.Join(work, sourceDir)
	if err := worktree.Copy(root, source, files); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d files are uploaded\n", len(files))
	module, err := inspect(ctx, source)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the root package of %s is what the buildpack looks for\n", module)
	binary := filepath.Join(work, "main")
	if err := build(ctx, source, module, binary); err != nil {
		return err
	}
	fmt.Fprintln(out, "the program around it builds")
	return askAll(ctx, binary, out)
}

// uploaded lists the files that a deployment sends.
func uploaded(ctx context.Context, root string) ([]string, error) {
	files, err := worktree.Files(ctx, root)
	if err != nil {
		return nil, err
	}
	return worktree.Without(ctx, root, files, ".gcloudignore")
}
