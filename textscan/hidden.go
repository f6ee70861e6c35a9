package textscan

import (
	"unicode"
	"unicode/utf8"
)

// The checks that rules name: the first four say what a text hides.
const (
	checkDirection = "direction" // text shown in another order than it has
	checkTag       = "tag"       // letters that are never shown
	checkSelector  = "selector"  // variation selectors that select nothing
	checkCharacter = "character" // invisible characters where they have no use
	checkSpelled   = "spelled"   // words with something between all letters
	checkCard      = "card"      // the number of a payment card
)

// maxRun is how many invisible characters can honestly follow each other: the
// five letters of a region's flag and its end.
const maxRun = 6

// hidden names what s hides, or is empty. Invisible characters have honest uses:
// joiners in emoji and in scripts that join letters, selectors behind emoji and
// ideographs, marks of direction beside right-to-left letters, places where a
// line of Thai or Chinese may break, one soft hyphen inside a word. Whatever is
// honest is still dropped before rules are matched.
func hidden(s string) string {
	if isASCII(s) {
		return ""
	}
	before, run := ' ', 0
	for i, r := range s {
		if r < utf8.RuneSelf || !isInvisible(r) {
			before, run = r, 0
			continue
		}
		if run++; run > maxRun {
			return checkTag
		}
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if check := hides(r, before, after); check != "" {
			return check
		}
		before = r
	}
	return ""
}

// hides judges an invisible character by its neighbours; 0xFFFD stands behind
// the last.
func hides(r, before, after rune) string {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return checkDirection
	case r >= 0xE0000 && r <= 0xE007F:
		return unless(inFlag(r, before, after), checkTag)
	case unicode.Is(unicode.Variation_Selector, r):
		return unless(selects(r, before), checkSelector)
	case r == zwj && (unicode.IsSymbol(before) || isSelector(before)) && unicode.IsSymbol(after):
		return ""
	case isInvisible(before) && !isSelector(before), isFiller(r):
		return checkCharacter
	case r == zwj || r == zwnj:
		return unless(unicode.In(before, joining...) || !isLetter(before) && !isLetter(after), checkCharacter)
	case r == softHyphen:
		return ""
	case r >= 0x2061 && r <= 0x2064, r >= 0x206A && r <= 0x206F, r >= 0xFFF9 && r <= 0xFFFB, r == 0x180E:
		return checkCharacter
	}
	inWord := isLetter(before) && isLetter(after)
	return unless(!inWord || unicode.In(before, unspaced...) || unicode.In(after, unspaced...), checkCharacter)
}

func unless(fine bool, check string) string {
	if fine {
		return ""
	}
	return check
}

const (
	zwnj       = 0x200C
	zwj        = 0x200D
	softHyphen = 0x00AD
)

// joining are the scripts in which a joiner or non-joiner changes how letters
// are written.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali,
	unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese,
	unicode.Javanese, unicode.Inherited,
}

// unspaced are the scripts in whose words an invisible character is ordinary: a
// place to break a line, or a mark of direction.
var unspaced = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese,
	unicode.Balinese, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Arabic, unicode.Hebrew,
	unicode.Syriac, unicode.Thaana,
}

func isInvisible(r rune) bool {
	return unicode.Is(unicode.Variation_Selector, r) || isFiller(r) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// isFiller says whether r is a letter or mark that shows nothing.
func isFiller(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x3164, 0xFFA0:
		return true
	}
	return false
}

func isLetter(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }

func isSelector(r rune) bool { return r == 0xFE0E || r == 0xFE0F }

// isEmojiBase says whether r can be shown as text or as an emoji.
func isEmojiBase(r rune) bool {
	switch r {
	case '‼', '⁉', '〰', 'ℹ', '#', '*':
		return true
	}
	return unicode.IsSymbol(r) || r >= '0' && r <= '9'
}

// selects says whether variation selector r has something to select before it.
func selects(r, before rune) bool {
	switch {
	case isSelector(r):
		return isEmojiBase(before)
	case r >= 0x180B && r <= 0x180F:
		return unicode.Is(unicode.Mongolian, before)
	case r >= 0xFE00 && r <= 0xFE02:
		return unicode.In(before, unicode.Han, unicode.Sm)
	case r >= 0xE0100:
		return unicode.Is(unicode.Han, before)
	}
	return false
}

// inFlag says whether a tag character can be part of the flag of a region, which
// is a black flag, small letters and digits, and an end.
func inFlag(r, before, after rune) bool {
	const flag, end = 0x1F3F4, 0xE007F
	isTag := func(r rune) bool { return r >= 0xE0030 && r <= 0xE0039 || r >= 0xE0061 && r <= 0xE007A }
	if r == end {
		return isTag(before)
	}
	return isTag(r) && (before == flag || isTag(before)) && (isTag(after) || after == end)
}
