package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// split finds the terms of a folded text, in order and as often as they appear.
func split(text string, characters bool, emit func(string)) {
	stems := make(map[string]string)
	word := func(w string) {
		if term := wordTerm(stems, w); term != "" {
			emit(term)
		}
	}
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case isUnspaced(r):
			n = unspaced(text, characters, emit)
		case isWord(r):
			n = compound(text, word, emit)
		}
		text = text[n:]
	}
}

// unspaced emits the pairs of neighbouring characters with which text begins, and
// single characters if they are asked for or one is all there is. It gives the
// bytes it took.
func unspaced(text string, characters bool, emit func(string)) int {
	before, at := "", 0
	for at < len(text) {
		n := character(text[at:])
		if n == 0 {
			break
		}
		this := text[at : at+n]
		at += n
		if before != "" {
			emit(before + this)
		}
		if characters || before == "" && character(text[at:]) == 0 {
			emit(this)
		}
		before = this
	}
	return at
}

// character is the length of a letter of an unspaced script and its marks; 0 if
// text does not begin with one.
func character(text string) int {
	r, at := utf8.DecodeRuneInString(text)
	if !isUnspaced(r) {
		return 0
	}
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !unicode.Is(unicode.M, r) {
			break
		}
		at += n
	}
	return at
}

// compound emits the words with which text begins, as far as they are joined to
// each other by one hyphen, underscore or colon, and behind them the whole if it
// has a digit, as ids, dates and telephone numbers do. It gives the bytes it took.
func compound(text string, word, whole func(string)) int {
	var joined strings.Builder
	at, words := 0, 0
	for {
		w, n := piece(text[at:])
		at += n
		words++
		joined.WriteString(w)
		ending := contraction(text[at:])
		at += len(ending)
		if ending != "'t" || !strings.HasSuffix(w, "n") {
			word(w)
		}
		if at == len(text) || !strings.ContainsRune("-_:", rune(text[at])) || !startsWord(text[at+1:]) {
			break
		}
		joined.WriteByte(text[at])
		at++
	}
	if id := joined.String(); words > 1 && len(id) <= MaxTermBytes && strings.ContainsFunc(id, unicode.IsDigit) {
		whole(id)
	}
	return at
}

// contraction is the ending of an English word behind an apostrophe with which
// text begins, as in "it's" and "don't".
func contraction(text string) string {
	for _, ending := range []string{"'s", "'t", "'d", "'m", "'ll", "'re", "'ve"} {
		if rest, ok := strings.CutPrefix(text, ending); ok && !startsWord(rest) {
			return ending
		}
	}
	return ""
}

// piece is the word with which text begins, and the bytes it takes. A point
// between digits belongs to it; a comma that groups digits by three is left out.
func piece(text string) (word string, n int) {
	var out strings.Builder
	at, digit := 0, false
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		next := text[at+n:]
		switch {
		case isWord(r):
			out.WriteRune(r)
			digit = unicode.IsDigit(r)
		case r == '.' && digit && leading(next) > 0:
			out.WriteRune(r)
		case r == ',' && digit && leading(next) == 3:
		default:
			return out.String(), at
		}
		at += n
	}
	return out.String(), at
}

// leading counts the digits with which text begins, up to 4.
func leading(text string) int {
	n := 0
	for n < len(text) && n < 4 && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

func startsWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return isWord(r)
}

// isWord says whether r is part of a word of a script with spaces.
func isWord(r rune) bool {
	return r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') ||
		r >= utf8.RuneSelf && unicode.In(r, unicode.L, unicode.M, unicode.N) && !isUnspaced(r)
}

// isUnspaced says whether r belongs to a script whose words spaces do not part,
// or to Korean.
func isUnspaced(r rune) bool {
	return r == 'ー' || r >= 0x0E00 && unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar, unicode.Javanese, unicode.Balinese, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham)
}

// wordTerm is the term of a word: nothing for a function word of English, the
// stem of what is spelled like English. A word of another language in the same
// letters is treated alike in message and query, and so is found all the same.
func wordTerm(stems map[string]string, word string) string {
	if word == "" || stopWords[word] {
		return ""
	}
	if strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) || len(word) > MaxTermBytes {
		return word
	}
	stem, ok := stems[word]
	if !ok {
		stem = english.Stem(word, true)
		stems[word] = stem
	}
	return stem
}

// stopWords are words of English that nearly every message has. Those that are
// also names or months, such as "will" and "may", are not among them.
var stopWords = set(`a about above after again all also am an and any are as at be because been before being below
	between both but by can cannot could did do does doing done down during each else ever for from further had has have
	having he her here hers herself him himself his how i if in into is it its itself just me more most my myself no nor
	not now of off on once only or other our ours ourselves out over own same she should so some such than that the their
	theirs them themselves then there these they this those through to too under until up upon us very was we were what
	when where which while who whom whose why with would yes yet you your yours yourself yourselves`)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}
