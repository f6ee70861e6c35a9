package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/hippofire/hippofire/internal/secret"
	"github.com/hippofire/hippofire/scripts/internal/gotest"
)

// testID names a test or, without a name, a package as a whole.
type testID struct{ pkg, test string }

// report prints a line for each package as it ends, with all that its failed
// tests said, and counts.
type report struct {
	out     io.Writer
	listed  map[testID]string
	verbose bool // what tests say that passed is printed too

	said    map[testID]*strings.Builder
	ran     map[string]int // tests by package
	broken  map[string]int // failed tests by package
	skips   map[string][]string
	passed  int
	failed  int
	skipped int
	barred  []string // skips that are not listed
	told    []string // planted texts, which no log may hold
}

func newReport(out io.Writer, listed map[testID]string) *report {
	return &report{
		out: out, listed: listed,
		said: map[testID]*strings.Builder{}, ran: map[string]int{}, broken: map[string]int{}, skips: map[string][]string{},
	}
}

// take takes the next event of the run.
func (r *report) take(e gotest.Event) {
	id := testID{e.Package, e.Test}
	switch {
	case e.Output != "":
		r.hear(id, e)
	case !e.Ended():
	case e.Test != "":
		r.endTest(id, e)
	default:
		r.endPackage(e)
	}
}

// hear keeps what a test said until it is known how the test ends. What belongs
// to no package, such as a compiler's errors, is printed at once.
func (r *report) hear(id testID, e gotest.Event) {
	if found := secret.In(e.Output); found != "" {
		r.told = append(r.told, strings.TrimSpace(short(id.pkg)+" "+id.test)+": "+strings.TrimSpace(found))
	}
	if e.Package == "" {
		io.WriteString(r.out, e.Output)
		return
	}
	if r.said[id] == nil {
		r.said[id] = &strings.Builder{}
	}
	r.said[id].WriteString(e.Output)
}

func (r *report) endTest(id testID, e gotest.Event) {
	said := r.forget(id)
	r.ran[id.pkg]++
	switch e.Action {
	case gotest.Pass:
		r.passed++
		if r.verbose {
			io.WriteString(r.out, said)
		}
	case gotest.Fail:
		r.failed++
		r.broken[id.pkg]++
		io.WriteString(r.out, said)
	case gotest.Skip:
		r.skipped++
		line := fmt.Sprintf("%s: %s", id.test, reason(said))
		r.skips[id.pkg] = append(r.skips[id.pkg], line)
		if _, ok := r.listed[id]; !ok {
			r.barred = append(r.barred, short(id.pkg)+" "+line)
		}
	}
}

func (r *report) endPackage(e gotest.Event) {
	said := r.forget(testID{pkg: e.Package})
	ran := fmt.Sprintf("%d tests", r.ran[e.Package])
	if r.ran[e.Package] == 0 {
		ran = "no tests"
	}
	word := "ok"
	if e.Action == gotest.Fail {
		word = "FAIL"
		io.WriteString(r.out, withoutVerdict(said))
		if r.broken[e.Package] == 0 { // it did not build, or ended outside its tests
			r.failed++
		}
	}
	fmt.Fprintf(r.out, "%-4s  %-36s  %9s  %6.1fs\n", word, short(e.Package), ran, e.Elapsed)
	for _, line := range r.skips[e.Package] {
		fmt.Fprintf(r.out, "      skipped %s\n", line)
	}
}

func (r *report) forget(id testID) string {
	said := r.said[id]
	if said == nil {
		return ""
	}
	delete(r.said, id)
	return said.String()
}

// withoutVerdict drops go test's own last lines, which the line for the package
// says again.
func withoutVerdict(said string) string {
	var kept strings.Builder
	for line := range strings.Lines(said) {
		if line != "PASS\n" && line != "FAIL\n" && !strings.HasPrefix(line, "FAIL\t") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// finish prints the count and says whether all is well. runErr is how go test
// itself ended.
func (r *report) finish(runErr error) bool {
	ok := true
	complain := func(format string, args ...any) {
		ok = false
		fmt.Fprintf(r.out, format+"\n", args...)
	}
	for _, line := range r.barred {
		complain("not listed in scripts/internal/testrun/skips.go, so it may not skip: %s", line)
	}
	for _, line := range r.told {
		complain("what was planted as a content or name is in a log, or a test printed it: %s", line)
	}
	switch {
	case r.passed+r.failed+r.skipped == 0:
		complain("no test ran")
	case r.failed == 0 && runErr != nil:
		complain("no test failed, but %v", runErr)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	return ok && r.failed == 0
}

// reason is what a test said when it skipped, without go test's own lines.
func reason(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "no reason given"
	}
	return strings.Join(lines, " ")
}

// short is a package's path inside the module.
func short(pkg string) string {
	if pkg == modulePath {
		return "."
	}
	return strings.TrimPrefix(pkg, modulePath+"/")
}
