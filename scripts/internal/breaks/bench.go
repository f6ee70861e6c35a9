package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hippofire/hippofire/scripts/internal/gotest"
	"github.com/hippofire/hippofire/scripts/internal/worktree"
)

// bench is a copy of the tree on which patches are tried one after the other.
type bench struct {
	dir string
	env []string
	// green has what is known of the tests without any patch, by what is run.
	green map[string]string
}

func newBench(ctx context.Context, root string, env []string) (*bench, error) {
	files, err := worktree.Files(ctx, root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "break-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, env: env, green: map[string]string{}}
	if err := worktree.Copy(root, dir, files); err != nil {
		b.remove()
		return nil, err
	}
	return b, nil
}

func (b *bench) remove() { os.RemoveAll(b.dir) }

// try says why a patch does not show that its test guards its invariant; empty
// where it does. The error is that the patch could not be taken back, or that the
// context ended.
func (b *bench) try(ctx context.Context, p patch) (why string, err error) {
	if why, err := b.needsGreen(ctx, p); why != "" || err != nil {
		return why, err
	}
	if said, err := b.apply(ctx, p); err != nil {
		return fmt.Sprintf("it does not apply: %s", said), ctx.Err()
	}
	ran := b.test(ctx, p)
	if said, err := b.apply(ctx, p, "-R"); err != nil {
		return "", fmt.Errorf("take it back: %w: %s", err, said)
	}
	return ran.notRed(), ctx.Err()
}

// needsGreen says why the test does not pass without the patch.
func (b *bench) needsGreen(ctx context.Context, p patch) (string, error) {
	key := p.pkg + " " + p.run
	if _, ok := b.green[key]; !ok {
		ran := b.test(ctx, p)
		b.green[key] = ran.notGreen()
	}
	return b.green[key], ctx.Err()
}

// apply applies a patch to the copy, which Git must not take for a part of a
// repository around it.
func (b *bench) apply(ctx context.Context, p patch, args ...string) (said string, err error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"apply", "--whitespace=nowarn"}, append(args, p.file)...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(b.dir))
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// outcome is how the tests that a patch names ended.
type outcome struct {
	passed, failed, skipped int
	built                   bool
	panicked                bool // a timeout is one too
	err                     error
	said                    strings.Builder
}

func (b *bench) test(ctx context.Context, p patch) *outcome {
	o := &outcome{built: true}
	o.err = gotest.Run(ctx, b.dir, b.env, []string{"-count=1", "-vet=off", "-timeout=3m", "-run", p.run, p.pkg}, func(e gotest.Event) {
		o.said.WriteString(e.Output)
		switch {
		case e.FailedBuild != "":
			o.built = false
		case strings.HasPrefix(e.Output, "panic: "), strings.HasPrefix(e.Output, "fatal error: "):
			o.panicked = true
		case !p.names(e.Test):
		case e.Action == gotest.Pass:
			o.passed++
		case e.Action == gotest.Fail:
			o.failed++
		case e.Action == gotest.Skip:
			o.skipped++
		}
	})
	return o
}

// notGreen says why the unpatched test is no ground to stand on.
func (o *outcome) notGreen() string {
	switch {
	case o.err != nil || o.failed > 0:
		return "the test does not pass without the patch:\n" + o.tail()
	case o.passed == 0 && o.skipped > 0:
		return "the test skips: does its line lack the word emulator?"
	case o.passed == 0:
		return "there is no such test"
	}
	return ""
}

// notRed says why the patched test did not turn red, or not for the right reason.
func (o *outcome) notRed() string {
	switch {
	case !o.built:
		return "with the patch it does not compile:\n" + o.tail()
	case o.panicked:
		return "with the patch the test panics or runs out of time, instead of noticing:\n" + o.tail()
	case o.err == nil:
		return "the test stays green"
	case o.failed == 0:
		return "go test fails, but not in the test:\n" + o.tail()
	}
	return ""
}

// tail is the end of what the test said.
func (o *outcome) tail() string {
	const keep = 2000
	said := o.said.String()
	if len(said) > keep {
		said = "..." + said[len(said)-keep:]
	}
	if said == "" && o.err != nil {
		return o.err.Error()
	}
	return said
}
