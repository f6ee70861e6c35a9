package textscan

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// minCaught is a floor under the share of attack lines that the scan catches,
// a little under what it was when the rules were made.
const minCaught = 0.80

type line struct{ kind, text string }

// readLines reads a file of testdata: comments, and lines of a text, before
// which a kind and a tab may stand.
func readLines(t testing.TB, name string) []line {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for s := range strings.Lines(string(file)) {
		s = strings.TrimSuffix(s, "\n")
		if s == "" || strings.HasPrefix(s, "//") {
			continue
		}
		var l line
		var ok bool
		if l.kind, l.text, ok = strings.Cut(s, "\t"); !ok {
			l = line{text: s}
		}
		if strings.HasPrefix(l.text, `"`) {
			if l.text, err = strconv.Unquote(l.text); err != nil {
				t.Fatalf("%s: %s: %v", name, s, err)
			}
		}
		lines = append(lines, l)
	}
	return lines
}

func TestOrdinaryLinesPass(t *testing.T) {
	for _, l := range readLines(t, "ordinary.txt") {
		if rule, hit := Scan(l.text); hit {
			t.Errorf("Scan(%+q) hits %s", l.text, rule)
		}
	}
}

func TestAttackLinesAreCaught(t *testing.T) {
	attacks := readLines(t, "attacks.txt")
	if len(attacks) < 60 {
		t.Fatalf("%d attack lines; want 60 at least", len(attacks))
	}
	total, caught := make(map[string]int), make(map[string]int)
	all := 0
	for _, a := range attacks {
		total[a.kind]++
		if _, hit := Scan(a.text); hit {
			caught[a.kind]++
			all++
		} else {
			t.Logf("missed, %s: %+q", a.kind, a.text)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(total)) {
		t.Logf("caught: %d of %d, %s", caught[kind], total[kind], kind)
	}
	share := float64(all) / float64(len(attacks))
	t.Logf("caught: %d of %d attack lines, %.0f %%", all, len(attacks), 100*share)
	if share < minCaught {
		t.Errorf("the share caught is %.2f; want %.2f at least", share, minCaught)
	}
}
