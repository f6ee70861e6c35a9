// Package terms makes the search terms of a message, which are stored with it,
// and those of a query, which are looked for among them.
//
// A term is a word in small letters without accents, English words by their stem
// ("quotes" and "quoted" are one term), a number without the commas that group
// it, or an id as it is written. English function words are no terms. Scripts
// that do not part words by spaces, and Korean, whose particles stand on the
// words, give each two neighbouring characters as a term, and each character for
// queries of only one.
package terms

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// What is kept of one text. 200 terms of 40 bytes are at most 8 KB of a document
// that may hold 1 MiB, and as many of its 40,000 index entries. Conversation in
// English has about 150 terms in 500 words; in Chinese, 200 pairs of characters
// are 200 characters. Of a longer message the most distinctive terms are kept
// (see compare), so a search can miss it by its short and common words. A longer
// term is cut, in messages and queries alike.
const (
	MaxTerms     = 200
	MaxTermBytes = 40
)

// Of lists the terms of a message in the order in which they first appear.
func Of(text string) []string {
	found := collect(text, true)
	if len(found) > MaxTerms {
		slices.SortFunc(found, compare)
		found = found[:MaxTerms]
		slices.SortFunc(found, func(a, b term) int { return cmp.Compare(a.first, b.first) })
	}
	return texts(found)
}

// Query lists the terms of a search query, the most distinctive first. A message
// that says what the query says has them all, unless it is too long to keep them.
// A query of function words alone has none.
func Query(text string) []string {
	found := collect(text, false)
	slices.SortFunc(found, compare)
	return texts(found[:min(len(found), MaxTerms)])
}

// term is a term of a text: how often it appears, and its place among the terms
// by first appearance.
type term struct {
	text         string
	count, first int
}

// compare puts the more distinctive term first: numbers and ids before words,
// then the longer, then the rarer in its text, then the earlier.
func compare(a, b term) int {
	return cmp.Or(
		-cmp.Compare(digits(a.text), digits(b.text)),
		-cmp.Compare(utf8.RuneCountInString(a.text), utf8.RuneCountInString(b.text)),
		cmp.Compare(a.count, b.count),
		cmp.Compare(a.first, b.first),
	)
}

// digits says how much of a number a term is: 1 if it has two digits or more.
func digits(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return min(n/2, 1)
}

// collect finds the terms of a text; characters asks for single ones of scripts
// without spaces beside the pairs.
func collect(text string, characters bool) []term {
	var found []term
	at := make(map[string]int)
	split(fold(text), characters, func(s string) {
		s = bound(s)
		i, ok := at[s]
		if !ok {
			i = len(found)
			at[s] = i
			found = append(found, term{text: s, first: i})
		}
		found[i].count++
	})
	return found
}

// bound cuts a term that is too long, between characters.
func bound(s string) string {
	if len(s) <= MaxTermBytes {
		return s
	}
	n := MaxTermBytes
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func texts(found []term) []string {
	list := make([]string, len(found))
	for i, t := range found {
		list[i] = t.text
	}
	return list
}
