package hippo

import "unicode/utf8"

// Part is the part of a text that begins at an offset and is limit bytes long at
// most, cut between code points. It begins at from, and the rest at next, which is
// 0 where there is none.
func Part(text string, offset, limit int) (part string, from, next int) {
	from = min(offset, len(text))
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	end := min(from+limit, len(text))
	if end == len(text) {
		return text[from:], from, 0
	}
	for end > from && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[from:end], from, end
}
