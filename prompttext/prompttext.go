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

const ellipsis = "…"

// Cut makes one line of s with at most so many words (parted by spaces) and
// characters (code points, the ellipsis included). It cuts behind a word, by the
// script's own rules, or inside a word too long by itself, but never inside a
// grapheme.
func Cut(s string, words, characters int) string {
	s = Line(s)
	if utf8.RuneCountInString(s) <= characters && strings.Count(s, " ") < words {
		return s
	}
	var behindWord, behindGrapheme, offset, count, spaces int
	for rest, state := s, -1; rest != ""; {
		var cluster string
		var boundaries int
		cluster, rest, boundaries, state = uniseg.StepString(rest, state)
		count += utf8.RuneCountInString(cluster)
		spaces += strings.Count(cluster, " ")
		offset += len(cluster)
		if count > characters-1 || spaces >= words {
			break
		}
		behindGrapheme = offset
		if boundaries&uniseg.MaskWord != 0 {
			behindWord = offset
		}
	}
	if behindWord == 0 {
		behindWord = behindGrapheme
	}
	return strings.TrimRight(s[:behindWord], " ,;:-–—(") + ellipsis
}

// Block is a fenced part of a prompt.
type Block struct {
	// Title names the block in its fence, in capitals.
	Title string
	// Note says what the lines are, before them.
	Note string
	// Lines are what the block holds, each one line by itself.
	Lines []string
}

// String is the block with its fence. A line that could be taken for a fence is
// set off, so that the last line of the block is the only one that closes it.
func (b Block) String() string {
	var s strings.Builder
	s.WriteString("[" + b.Title + "]\n")
	if b.Note != "" {
		s.WriteString(b.Note + "\n")
	}
	for _, l := range b.Lines {
		l = Line(l)
		if strings.HasPrefix(l, "[") {
			l = "- " + l
		}
		s.WriteString(l + "\n")
	}
	s.WriteString("[END OF " + b.Title + "]")
	return s.String()
}
