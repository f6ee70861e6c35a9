package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold brings a text into the form of terms: small letters, compatibility forms
// replaced (full width, ligatures), accents and vowel points of alphabets that
// are read without them dropped, letters that writers use for each other made
// one, and the digits of every script those of ASCII. Vowel signs of Indic and
// Thai scripts stay: there they are as good as letters.
func fold(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	var out strings.Builder
	out.Grow(len(text))
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r < utf8.RuneSelf:
			out.WriteRune(unicode.ToLower(r))
		case unicode.In(r, unicode.Cf, points):
		case unicode.Is(unicode.Nd, r):
			out.WriteByte('0' + digit(r))
		default:
			r = unicode.ToLower(r)
			if plain, ok := alike[r]; ok {
				out.WriteString(plain)
			} else {
				out.WriteRune(r)
			}
		}
	}
	return norm.NFC.String(out.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// points are the marks that are dropped: accents, Hebrew and Arabic vowels, the
// stroke that makes an Arabic word longer, and variation selectors.
var points = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0300, Hi: 0x036F, Stride: 1}, {Lo: 0x0483, Hi: 0x0487, Stride: 1}, {Lo: 0x0591, Hi: 0x05BD, Stride: 1},
		{Lo: 0x05BF, Hi: 0x05BF, Stride: 1}, {Lo: 0x05C1, Hi: 0x05C2, Stride: 1}, {Lo: 0x05C4, Hi: 0x05C5, Stride: 1},
		{Lo: 0x05C7, Hi: 0x05C7, Stride: 1}, {Lo: 0x0610, Hi: 0x061A, Stride: 1}, {Lo: 0x0640, Hi: 0x0640, Stride: 1},
		{Lo: 0x064B, Hi: 0x065F, Stride: 1}, {Lo: 0x0670, Hi: 0x0670, Stride: 1}, {Lo: 0x06D6, Hi: 0x06DC, Stride: 1},
		{Lo: 0x20D0, Hi: 0x20F0, Stride: 1}, {Lo: 0xFE00, Hi: 0xFE0F, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}},
}

// alike are letters that are written for each other.
var alike = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ł': "l", 'ı': "i", 'ς': "σ", '’': "'", 'ʼ': "'",
	'ى': "ي", 'ی': "ي", 'ک': "ك", 'ة': "ه",
}

// digit is the value of a decimal digit. Each script has its ten in a row.
func digit(r rune) byte {
	for _, t := range unicode.Nd.R16 {
		if lo := rune(t.Lo); r >= lo && r <= rune(t.Hi) {
			return byte((r - lo) % 10)
		}
	}
	for _, t := range unicode.Nd.R32 {
		if lo := rune(t.Lo); r >= lo && r <= rune(t.Hi) {
			return byte((r - lo) % 10)
		}
	}
	return 0
}
