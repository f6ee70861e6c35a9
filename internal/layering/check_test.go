package layering

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// graph has, for each package of the module, what it imports.
type graph map[string]*imports

// imports are import paths, those of the module's own packages inside it.
type imports struct {
	code, tests []string
}

// check lists what a graph has that the table forbids.
func check(g graph, rows []row, guards []guard) []string {
	table := map[string]row{}
	for _, r := range rows {
		table[r.pkg] = r
	}
	var wrong []string
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		r, ok := table[pkg]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("package %s is not in the table: add a row that says what it may import to internal/layering/rules_test.go", pkg))
			continue
		}
		for _, path := range g[pkg].code {
			if reason := r.refuses(path, g, table); reason != "" {
				wrong = append(wrong, fmt.Sprintf("package %s imports %s: %s", pkg, path, reason))
			}
		}
		for _, path := range g[pkg].code {
			if by := guarded(path, guards); by != nil && (by.inTests || !slices.Contains(by.to, pkg)) {
				wrong = append(wrong, fmt.Sprintf("package %s imports %s: only %s may", pkg, path, by))
			}
		}
		for _, path := range g[pkg].tests {
			if by := guarded(path, guards); by != nil && !slices.Contains(by.to, pkg) {
				wrong = append(wrong, fmt.Sprintf("package %s imports %s: only %s may", pkg, path, by))
			}
		}
	}
	return wrong
}

// refuses says why the package may not import a path; empty where it may.
func (r row) refuses(path string, g graph, table map[string]row) string {
	if _, ours := g[path]; !ours {
		if first, _, _ := strings.Cut(path, "/"); r.bare && strings.Contains(first, ".") {
			return "it stands on the standard library alone"
		}
		return ""
	}
	switch {
	case strings.HasPrefix(path, "cmd/"):
		return "that package is a command"
	case table[path].forTests && !r.forTests:
		return "that package is for tests"
	case slices.Contains(r.imports, path), slices.Equal(r.imports, anything):
		return ""
	case len(r.imports) == 0:
		return "it may import no package of this module"
	}
	return "it may import only " + strings.Join(r.imports, ", ")
}

// guarded is what says who may import a path; nil where everybody may.
func guarded(path string, guards []guard) *guard {
	for i, g := range guards {
		if path == g.library || strings.HasPrefix(path, g.library+"/") {
			return &guards[i]
		}
	}
	return nil
}

// String says who may.
func (g guard) String() string {
	who := strings.Join(g.to, ", ")
	if g.inTests {
		return "the tests of " + who
	}
	return who
}
