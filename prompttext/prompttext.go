// Package prompttext forms the text that is put into a prompt: one line out of
// whatever was stored, and blocks that nothing inside them can close.
package prompttext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Line makes one line of s: runs of white space and control characters become
// one space each, invalid UTF-8 the replacement character.
func Line(s string) string {
	fields := strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	})
	return strings.Join(fields, " ")
}

const (
	ellipsis = "…"
	// stops are what does not stand before an ellipsis.
	stops = " ,;:-–—("
)

// maxLost is how many characters Cut gives up so as to end at a space or, failing
// that, behind a word.
const maxLost = 30

// place is a place in a text, in bytes and in characters.
type place struct{ offset, characters int }

// Cut makes one line of s with at most so many words (parted by spaces) and
// characters (code points, the ellipsis included). It cuts at a space, so that no
// part of a number is left; where none is near, behind a word by the script's own
// rules; in a word too long by itself, behind a grapheme, but never inside one.
func Cut(s string, words, characters int) string {
	s = Line(s)
	if utf8.RuneCountInString(s) <= characters && strings.Count(s, " ") < words {
		return s
	}
	var at, space, word, grapheme place
	spaces := 0
	for rest, state := s, -1; rest != ""; {
		var cluster string
		var boundaries int
		cluster, rest, boundaries, state = uniseg.StepString(rest, state)
		if cluster == " " {
			space = grapheme
		}
		at.offset += len(cluster)
		at.characters += utf8.RuneCountInString(cluster)
		spaces += strings.Count(cluster, " ")
		if at.characters >= characters || spaces >= words {
			break
		}
		if strings.Contains(stops, cluster) {
			continue
		}
		grapheme = at
		if boundaries&uniseg.MaskWord != 0 {
			word = at
		}
	}
	end := grapheme
	for _, better := range []place{word, space} {
		if better.offset > 0 && grapheme.characters-better.characters <= maxLost {
			end = better
		}
	}
	return s[:end.offset] + ellipsis
}
