package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hippofire/hippofire/scripts/internal/worktree"
)

// spoiled are the ways to a tree that does not deploy, each with what inspect
// has to say of it.
var spoiled = []struct {
	what  string
	spoil func(source string) error
	want  string
}{
	{"no file at the root", func(source string) error { return os.Remove(rootFile(source)) },
		"no Go package at the root"},
	{"the framework not imported at the root", dropImport(`_ "` + framework + `/functions"`),
		"does not import " + framework},
	{"the functions not imported at the root", dropImport(`_ "github.com/hippofire/hippofire/functions"`),
		"does not import github.com/hippofire/hippofire/functions"},
	{"a test of another package at the root", put("root_test.go", "package hippofire_test\n"),
		"two packages at the root"},
	{"a program at the root", edit(rootFile, "package hippofire", "package main"),
		"is main"},
	{"a module path without a dot", edit(modFile, "module github.com/", "module "),
		"has no dot"},
}

func rootFile(source string) string { return filepath.Join(source, "hippofire.go") }

func modFile(source string) string { return filepath.Join(source, "go.mod") }

func dropImport(line string) func(string) error { return edit(rootFile, line, "") }

func edit(file func(source string) string, old, new string) func(string) error {
	return func(source string) error {
		text, err := os.ReadFile(file(source))
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), old) {
			return fmt.Errorf("%s does not hold %q", filepath.Base(file(source)), old)
		}
		return os.WriteFile(file(source), []byte(strings.Replace(string(text), old, new, 1)), 0o644)
	}
}

func put(name, text string) func(string) error {
	return func(source string) error { return os.WriteFile(filepath.Join(source, name), []byte(text), 0o644) }
}

// checkSpoiled demands that the tree passes and each spoiled copy does not.
func checkSpoiled(ctx context.Context, root string, files []string, work string, out io.Writer) error {
	var missed []error
	for i, s := range spoiled {
		source := filepath.Join(work, fmt.Sprint(i), sourceDir)
		if err := worktree.Copy(root, source, files); err != nil {
			return err
		}
		if _, err := inspect(ctx, source); err != nil {
			return fmt.Errorf("the tree itself: %w", err)
		}
		if err := s.spoil(source); err != nil {
			return fmt.Errorf("spoil the copy: %s: %w", s.what, err)
		}
		_, err := inspect(ctx, source)
		if err == nil || !strings.Contains(err.Error(), s.want) {
			missed = append(missed, fmt.Errorf("%s: said %v, want %q", s.what, err, s.want))
			continue
		}
		fmt.Fprintf(out, "noticed: %s\n", s.what)
	}
	return errors.Join(missed...)
}
