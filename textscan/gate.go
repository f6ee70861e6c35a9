package textscan

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// gate picks the rules that a text could hit. From each pattern it takes groups
// of literals, of which every match contains one of each group: a text that
// lacks a group cannot match. Running all patterns over each of hundreds of names
// would cost a turn many milliseconds.
type gate struct {
	groups int
	// ways lists for each rule the alternatives of its pattern, and for each of
	// those the groups it needs. A rule without any is a candidate always.
	ways   [][][]int
	starts [1 << 12][]literal
	// bytes lists the groups that hold a literal of one byte.
	bytes [256][]int
}

type literal struct {
	text   []byte
	groups []int
}

// keyBytes are the bytes of a literal by which it is found.
const keyBytes = 2

// maxClass is the most letters of a class that count as so many literals.
const maxClass = 4

// maxGroups is how many groups a gate holds.
const maxGroups = 1024

type seen [maxGroups / 64]uint64

func (s *seen) add(groups []int) {
	for _, group := range groups {
		s[group/64] |= 1 << (group % 64)
	}
}

func (s *seen) has(group int) bool { return s[group/64]>>(group%64)&1 == 1 }

// add takes the next rule; its pattern is nil where a check alone decides.
func (g *gate) add(pattern *syntax.Regexp) {
	var ways [][]int
	if pattern != nil {
		for _, alternative := range alternatives(pattern.Simplify()) {
			groups := required(alternative)
			if len(groups) == 0 {
				ways = nil
				break
			}
			ways = append(ways, g.number(groups))
		}
	}
	g.ways = append(g.ways, ways)
}

// number puts the literals of groups into the gate.
func (g *gate) number(groups [][]string) []int {
	numbers := make([]int, len(groups))
	for i, group := range groups {
		for _, text := range group {
			g.put([]byte(strings.ToLower(text)), g.groups)
		}
		numbers[i] = g.groups
		g.groups++
	}
	return numbers
}

func (g *gate) put(text []byte, group int) {
	if len(text) < keyBytes {
		g.bytes[text[0]] = append(g.bytes[text[0]], group)
		return
	}
	bucket := &g.starts[key(text)]
	for n := range *bucket {
		if l := &(*bucket)[n]; bytes.Equal(l.text, text) {
			l.groups = append(l.groups, group)
			return
		}
	}
	*bucket = append(*bucket, literal{text: text, groups: []int{group}})
}

// look finds the groups of which a text in small letters holds a literal.
func (g *gate) look(text []byte) (s seen) {
	for i, b := range text {
		s.add(g.bytes[b])
		if i+keyBytes > len(text) {
			break
		}
		for _, l := range g.starts[key(text[i:])] {
			if bytes.HasPrefix(text[i:], l.text) {
				s.add(l.groups)
			}
		}
	}
	return s
}

// lets says whether a text that holds what was seen could hit rule i.
func (g *gate) lets(i int, s *seen) bool {
	for _, way := range g.ways[i] {
		if hasAll(s, way) {
			return true
		}
	}
	return len(g.ways[i]) == 0
}

func hasAll(s *seen, groups []int) bool {
	for _, group := range groups {
		if !s.has(group) {
			return false
		}
	}
	return true
}

// key spreads the first bytes of a literal over the gate's buckets.
func key(b []byte) uint32 { return (uint32(b[0])<<8 | uint32(b[1])) * 2654435761 >> 20 }

// alternatives are the branches of a pattern that is one alternation, but for
// what stands for a place in a text and not for text.
func alternatives(re *syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return alternatives(re.Sub[0])
	case syntax.OpAlternate:
		var all []*syntax.Regexp
		for _, sub := range re.Sub {
			all = append(all, alternatives(sub)...)
		}
		return all
	case syntax.OpConcat:
		if len(re.Sub) == 2 && isPlace(re.Sub[0].Op) {
			return alternatives(re.Sub[1])
		}
	}
	return []*syntax.Regexp{re}
}

func isPlace(op syntax.Op) bool {
	return op == syntax.OpWordBoundary || op == syntax.OpBeginText || op == syntax.OpEndText
}

// required lists groups of literals: every match of re contains at least one
// literal of each.
func required(re *syntax.Regexp) [][]string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return [][]string{{string(re.Rune)}}
		}
	case syntax.OpCharClass:
		if class := members(re.Rune); class != nil {
			return [][]string{class}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var all [][]string
		for _, sub := range re.Sub {
			all = append(all, required(sub)...)
		}
		return slices.DeleteFunc(all, isCommon)
	case syntax.OpAlternate:
		var union []string
		for _, sub := range re.Sub {
			groups := required(sub)
			if len(groups) == 0 {
				return nil
			}
			union = append(union, best(groups)...)
		}
		return [][]string{union}
	}
	return nil
}

// isCommon says whether nearly every text holds a literal of the group: a space
// or a letter.
func isCommon(group []string) bool {
	return slices.ContainsFunc(group, func(text string) bool {
		return text == " " || len(text) == 1 && unicode.IsLetter(rune(text[0]))
	})
}

// best is the group that tells texts apart best: the one whose shortest literal
// is the longest.
func best(groups [][]string) []string {
	best, most := groups[0], shortest(groups[0])
	for _, group := range groups[1:] {
		if n := shortest(group); n > most {
			best, most = group, n
		}
	}
	return best
}

func shortest(group []string) int {
	n := len(group[0])
	for _, text := range group[1:] {
		n = min(n, len(text))
	}
	return n
}

// members lists the letters of a class given as ranges; nil for too many.
func members(ranges []rune) []string {
	var all []string
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if all = append(all, string(r)); len(all) > maxClass {
				return nil
			}
		}
	}
	return all
}
