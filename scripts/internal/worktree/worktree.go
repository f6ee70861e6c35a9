// Package worktree lists the files of a Git work tree as they are now, committed
// or not, and copies them.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Files lists the files under root that Git does not ignore.
func Files(ctx context.Context, root string) ([]string, error) {
	listed, err := list(ctx, root, "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var files []string
	for _, file := range listed {
		switch info, err := os.Lstat(filepath.Join(root, file)); {
		case errors.Is(err, fs.ErrNotExist): // deleted, and not yet committed
		case err != nil:
			return nil, err
		case info.Mode().IsRegular():
			files = append(files, file)
		}
	}
	return files, nil
}

// Without drops the files that an ignore file under root excludes.
func Without(ctx context.Context, root string, files []string, ignoreFile string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(root, ignoreFile)); err != nil {
		return nil, err
	}
	dropped, err := list(ctx, root, "--cached", "--others", "--ignored", "--exclude-from="+ignoreFile)
	if err != nil {
		return nil, err
	}
	drop := make(map[string]bool, len(dropped))
	for _, file := range dropped {
		drop[file] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool { return drop[file] }), nil
}

func list(ctx context.Context, root string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"ls-files", "-z", "--deduplicate"}, args...)...)
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

// Copy copies files from one folder to another.
func Copy(from, to string, files []string) error {
	for _, file := range files {
		if err := copyFile(filepath.Join(from, file), filepath.Join(to, file)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
