package tokens

import (
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxTokenBytes bounds the bytes of text behind one token for the search of Cut.
// Longer tokens exist, for runs of one space or sign; a text of such is cut a
// little early.
const maxTokenBytes = 24

// Cut is the longest beginning of a text that costs at most limit tokens, without
// breaking a grapheme: no half letter, emoji or syllable is left at its end.
func (count Counter) Cut(text string, limit int) string {
	if limit <= 0 {
		return ""
	}
	low, high := 0, min(len(text), limit*maxTokenBytes)
	if high == len(text) && count(text) <= limit {
		return text
	}
	for low < high { // the longest beginning lies within low and high
		middle := backToRune(text, (low+high+1)/2)
		if middle <= low {
			break
		}
		if count(text[:middle]) <= limit {
			low = middle
		} else {
			high = middle - 1
		}
	}
	at := backToGrapheme(text, low)
	for at > 0 && count(text[:at]) > limit { // a shorter text can cost one more
		at = backToGrapheme(text, at-1)
	}
	return text[:at]
}

func backToRune(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// backToGrapheme is the last boundary of graphemes at or before at. The search
// begins at a line's end, which always is one.
func backToGrapheme(text string, at int) int {
	begin := at
	for begin > 0 && text[begin-1] != '\n' {
		begin--
	}
	boundary := begin
	for rest, state := text[begin:], -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if boundary+len(cluster) > at {
			break
		}
		boundary += len(cluster)
	}
	return boundary
}
