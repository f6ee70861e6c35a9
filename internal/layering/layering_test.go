package layering

import (
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArrows(t *testing.T) {
	g, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if g["hippo"] == nil || !slices.Contains(g["."].code, "functions") {
		t.Fatal("the module's packages were not found")
	}
	for _, wrong := range check(g, rows, guards) {
		t.Error(wrong)
	}
}

// load reads the imports of every package under root. All files count, whatever
// system or tag they are for.
func load(root string) (graph, error) {
	g := graph{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, path)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		return g.add(root, path)
	})
	return g, err
}

// enter leaves out the folders in which the go command looks for no package of
// this module.
func enter(root, dir string) error {
	if dir == root {
		return nil
	}
	name := filepath.Base(dir)
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return filepath.SkipDir
	}
	return nil
}

func (g graph) add(root, file string) error {
	dir, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	pkg := filepath.ToSlash(dir)
	if g[pkg] == nil {
		g[pkg] = &imports{}
	}
	into := &g[pkg].code
	if strings.HasSuffix(file, "_test.go") {
		into = &g[pkg].tests
	}
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if inside := strings.TrimPrefix(path, module+"/"); !slices.Contains(*into, inside) {
			*into = append(*into, inside)
		}
	}
	return nil
}

func TestForbiddenImportIsReported(t *testing.T) {
	rows := []row{
		{pkg: "hippo", bare: true},
		{pkg: "store/a", imports: []string{"hippo"}},
		{pkg: "store/b", imports: []string{"hippo"}},
		{pkg: "storetest", imports: []string{"hippo"}, forTests: true},
		{pkg: "kit", imports: anything, forTests: true},
		{pkg: "internal/x", imports: anything},
		{pkg: "cmd/c", imports: anything},
	}
	guards := []guard{
		{library: "db.com/pb", to: []string{"store/a", "store/b"}}, {library: "db.com", to: []string{"store/a"}},
		{library: "sdk.com", to: []string{"store/a"}, inTests: true},
	}
	for _, tc := range []struct {
		name string
		pkg  string
		imports
		want []string
	}{
		{"what is allowed", "store/a", imports{code: []string{"context", "hippo", "db.com/client", "other.org/lib"}, tests: []string{"storetest", "store/b"}}, nil},
		{"a part of a guarded library", "store/b", imports{code: []string{"db.com/pb"}}, nil},
		{"anything but cmd", "internal/x", imports{code: []string{"hippo", "store/a", "store/b"}}, nil},
		{"a store imports the other", "store/a", imports{code: []string{"store/b"}},
			[]string{"package store/a imports store/b: it may import only hippo"}},
		{"the domain imports a library", "hippo", imports{code: []string{"other.org/lib"}},
			[]string{"package hippo imports other.org/lib: it stands on the standard library alone"}},
		{"the domain imports the module", "hippo", imports{code: []string{"internal/x"}},
			[]string{"package hippo imports internal/x: it may import no package of this module"}},
		{"code imports what is for tests", "internal/x", imports{code: []string{"storetest"}},
			[]string{"package internal/x imports storetest: that package is for tests"}},
		{"what is for tests imports its like", "kit", imports{code: []string{"storetest"}}, nil},
		{"a command is imported", "internal/x", imports{code: []string{"cmd/c"}},
			[]string{"package internal/x imports cmd/c: that package is a command"}},
		{"a guarded library", "store/b", imports{code: []string{"db.com/client"}},
			[]string{"package store/b imports db.com/client: only store/a may"}},
		{"a guarded library in a test", "internal/x", imports{tests: []string{"db.com"}},
			[]string{"package internal/x imports db.com: only store/a may"}},
		{"what its tests may import", "store/a", imports{tests: []string{"sdk.com/v2"}}, nil},
		{"what only its tests may import", "store/a", imports{code: []string{"sdk.com/v2"}},
			[]string{"package store/a imports sdk.com/v2: only the tests of store/a may"}},
		{"a package that nobody knows", "new", imports{},
			[]string{"package new is not in the table: add a row that says what it may import to internal/layering/rules_test.go"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := graph{}
			for _, r := range rows {
				g[r.pkg] = &imports{}
			}
			g[tc.pkg] = &tc.imports
			if diff := cmp.Diff(tc.want, check(g, rows, guards)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
