package prompttext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Block is a fenced part of a prompt.
type Block struct {
	// Title names the block in its fence, in capitals.
	Title string
	// Note says what the lines are, before them.
	Note string
	// Lines are what the block holds, each one line by itself.
	Lines []string
}

// String is the block with its fence. Whatever in a line could be taken for a
// fence is set off, so that the last line of the block is the only one that
// closes it.
func (b Block) String() string {
	var s strings.Builder
	s.WriteString("[" + b.Title + "]\n")
	if b.Note != "" {
		s.WriteString(b.inside(b.Note) + "\n")
	}
	for _, l := range b.Lines {
		l = b.inside(l)
		if strings.HasPrefix(l, "[") {
			l = "- " + l
		}
		s.WriteString(l + "\n")
	}
	s.WriteString("[END OF " + b.Title + "]")
	return s.String()
}

// inside makes one line of s, and round brackets of those that begin what reads
// like the block's fence or like the end of any block.
func (b Block) inside(s string) string {
	s = Line(s)
	title := letters(b.Title, len(b.Title))
	var out strings.Builder
	for i, r := range s {
		if isBracket(r) {
			begins := letters(s[i:], max(len(title), len(end)))
			if strings.HasPrefix(begins, end) || title != "" && strings.HasPrefix(begins, title) {
				r = '('
			}
		}
		out.WriteRune(r)
	}
	return out.String()
}

// end is what the letters of every closing fence begin with.
const end = "endof"

func isBracket(r rune) bool { return strings.ContainsRune("[［【〔〖⟦❲﹇", r) }

// maxSkipped is how far behind a bracket the letters of a fence are looked for.
const maxSkipped = 64

// letters are the first letters and digits of s, n bytes at least where there
// are as many near its beginning, in small letters of plain form.
func letters(s string, n int) string {
	var out strings.Builder
	skipped := 0
	for _, r := range s {
		if out.Len() >= n || skipped > maxSkipped {
			break
		}
		plain := string(r)
		if r >= utf8.RuneSelf {
			plain = norm.NFKC.String(plain)
		}
		for _, r := range plain {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				out.WriteRune(unicode.ToLower(r))
			} else {
				skipped++
			}
		}
	}
	return out.String()
}
