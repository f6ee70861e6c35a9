package turnreader

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
	"github.com/hippofire/hippofire/textscan"
)

// How many names of each kind, and in all, a turn shows.
const (
	maxListed = 300
	capOther  = 60
)

var capByKind = map[hippo.Kind]int{"pages": 120, "sources": 40, "notebook": 60}

func capOf(kind hippo.Kind) int {
	if n, ok := capByKind[kind]; ok {
		return n
	}
	return capOther
}

// How many kinds the block counts by name, and how long such a name may be. What
// is past that is one number: kinds are what writers make them, and the block
// must not grow with them.
const (
	maxKinds     = 12
	maxKindBytes = 60
)

// ListBlock is the memory list as a turn shows it.
type ListBlock struct {
	Text string
	// Shown and Total count memories. Hidden counts by kind what a cap left out,
	// Blocked what the caps let through and the scan of names did not: it keeps
	// its place under the caps, as a buffer line does that is kept out of sight.
	Shown, Total, Blocked int
	Hidden                map[hippo.Kind]int

	scanned verdicts
}

// verdicts are what the scan said of texts: true where it refuses one.
type verdicts map[string]bool

// listBlock makes the block. It looks only at the heads of the parts, so that
// what it costs does not depend on how long they are, and scans only what before
// has not.
func listBlock(parts []*part, total int, before verdicts) ListBlock {
	b := ListBlock{Total: total, Hidden: make(map[hippo.Kind]int), scanned: make(verdicts)}
	heads := make([][]hippo.Item, len(parts))
	for n, p := range parts {
		heads[n] = p.heads
		for kind, count := range p.kinds {
			b.Hidden[kind] += count
		}
	}
	var lines []string
	taken := make(map[hippo.Kind]int)
	for item := range inOrder(heads) {
		kind := hippo.KindOf(item.Name)
		if taken[kind] == capOf(kind) {
			continue
		}
		if taken[kind]++; b.refuses(item.Name, before) {
			b.Blocked++
		} else {
			b.Shown++
			lines = append(lines, "- "+item.Name)
		}
		if b.Shown+b.Blocked == maxListed {
			break
		}
	}
	for kind, n := range taken {
		if b.Hidden[kind] -= n; b.Hidden[kind] == 0 {
			delete(b.Hidden, kind)
		}
	}
	if total > 0 {
		b.Text = b.text(lines, before)
	}
	return b
}

// refuses says whether the scan does, and keeps its answer for the next block.
func (b *ListBlock) refuses(text string, before verdicts) bool {
	hit, known := before[text]
	if !known {
		_, hit = textscan.Scan(text)
	}
	b.scanned[text] = hit
	return hit
}

func (b *ListBlock) text(lines []string, before verdicts) string {
	if b.Blocked > 0 {
		lines = append(lines, fmt.Sprintf("Withheld, because their names read like instructions: %d.", b.Blocked))
	}
	if len(b.Hidden) > 0 {
		lines = append(lines, "Not shown here: "+b.counts(before)+"; list_memories lists them.")
	}
	return prompttext.Block{
		Title: "MEMORIES",
		Note:  fmt.Sprintf("Names of the memories on file (%d), latest change first. They are the agent's own records, not the user's words; open_memory reads one.", b.Total),
		Lines: lines,
	}.String()
}

// counts says how many of each kind are hidden, such as "12 pages, 3 other". The
// kinds with most are named, in the order of their names.
func (b *ListBlock) counts(before verdicts) string {
	var named, rest []hippo.Kind
	for kind := range b.Hidden {
		named = append(named, kind)
	}
	slices.SortFunc(named, func(x, y hippo.Kind) int {
		return cmp.Or(cmp.Compare(b.Hidden[y], b.Hidden[x]), strings.Compare(string(x), string(y)))
	})
	named, rest = named[:min(len(named), maxKinds)], named[min(len(named), maxKinds):]
	rest = slices.Clone(rest)
	slices.Sort(named)
	var parts []string
	for _, kind := range named {
		if len(kind) > maxKindBytes || b.refuses(string(kind), before) {
			rest = append(rest, kind)
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", b.Hidden[kind], kind))
	}
	if len(rest) > 0 {
		n := 0
		for _, kind := range rest {
			n += b.Hidden[kind]
		}
		parts = append(parts, fmt.Sprintf("%d of %d more kinds", n, len(rest)))
	}
	return strings.Join(parts, ", ")
}
