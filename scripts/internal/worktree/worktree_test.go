package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func write(t *testing.T, dir, file, content string) {
	t.Helper()
	file = filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// repository has tracked, new, ignored and deleted files.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	for _, file := range []string{"go.mod", "a/a.go", "a/a_test.go", "cmd/x/main.go", "deleted.go", "two words.md"} {
		write(t, dir, file, "content of "+file)
	}
	write(t, dir, ".gitignore", "/.cache/\n")
	write(t, dir, ".deployignore", "*_test.go\n/cmd/\n*.md\n")
	git(t, dir, "add", ".")
	write(t, dir, "a/new_test.go", "new")
	write(t, dir, "a/new.go", "new")
	write(t, dir, ".cache/built", "built")
	if err := os.Remove(filepath.Join(dir, "deleted.go")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFilesAreThoseOfTheTreeAsItIsNow(t *testing.T) {
	dir := repository(t)
	got, err := Files(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{".deployignore", ".gitignore", "a/a.go", "a/a_test.go", "a/new.go", "a/new_test.go", "cmd/x/main.go", "go.mod", "two words.md"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestIgnoreFileDropsTrackedAndNewFiles(t *testing.T) {
	dir := repository(t)
	files, err := Files(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Without(t.Context(), dir, files, ".deployignore")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{".deployignore", ".gitignore", "a/a.go", "a/new.go", "go.mod"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMissingIgnoreFileIsAnError(t *testing.T) {
	if _, err := Without(t.Context(), repository(t), nil, ".nosuchignore"); err == nil {
		t.Error("no error")
	}
}

func TestCopyKeepsContentAndMode(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "scripts/run", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(from, "scripts/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Copy(from, to, []string{"scripts/run"}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(to, "scripts/run"))
	if err != nil || string(content) != "#!/bin/sh\n" {
		t.Errorf("copied %q, %v", content, err)
	}
	if info, err := os.Stat(filepath.Join(to, "scripts/run")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("mode %v, %v; want it executable", info.Mode(), err)
	}
}
