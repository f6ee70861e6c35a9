package prompttext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// The form of a gist.
const (
	gistWords      = 25
	gistCharacters = 220
)

const family = "👨\u200d👩\u200d👧\u200d👦"

func TestLineFoldsWhatPartsLines(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		" \t\r\n ":                          "",
		"one line":                          "one line",
		" two\n\nlines\r\n":                 "two lines",
		"a\u0085b\u2028c\u2029d\ve\ff":      "a b c d e f",
		"nul\x00 escape\x1b[0m del\x7f":     "nul escape [0m del",
		"no\u00a0break\u3000wide":           "no break wide",
		"bad \xff\xfe bytes":                "bad \uFFFD bytes",
		"cut rune \xf0\x9f\x91":             "cut rune \uFFFD",
		"right \u202eto left":               "right \u202eto left",
		"joined " + family + " stay joined": "joined " + family + " stay joined",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%+q) = %+q; want %+q", text, got, want)
		}
	}
}

func TestCutEndsWhereAReaderWould(t *testing.T) {
	for name, c := range map[string]struct {
		text              string
		words, characters int
		want              string
	}{
		"fits":                       {"leaning to Main St", 4, 18, "leaning to Main St"},
		"fits once folded":           {"  leaning\nto ", 2, 10, "leaning to"},
		"one word too many":          {"leaning to Main St", 3, 99, "leaning to Main…"},
		"one character too many":     {"leaning to Main St", 9, 17, "leaning to Main…"},
		"no stop before an ellipsis": {"budget, (Houma)", 1, 99, "budget…"},
		"number kept whole":          {"call the landlord 555-0142 today", 9, 26, "call the landlord…"},
		"word longer than all":       {strings.Repeat("x", 50), 9, 10, "xxxxxxxxx…"},
		"long word behind a short":   {"see " + strings.Repeat("x", 50), 9, 40, "see " + strings.Repeat("x", 35) + "…"},
		"only spaces and stops":      {", ; : - (((((((", 9, 5, "…"},
		"Chinese":                    {"客户想在十月开第二家店", 9, 6, "客户想在十…"},
		"Japanese":                   {"二号店を開きたい", 9, 5, "二号店を…"},
		"Thai":                       {"ที่ปรึกษา", 9, 4, "ที่…"},
		"Arabic":                     {"المالك يريد موقعا ثانيا", 2, 99, "المالك يريد…"},
		"combining marks":            {"e\u0301e\u0301e\u0301", 9, 4, "e\u0301…"},
		"families":                   {family + family, 9, 8, family + "…"},
		"family that does not fit":   {family, 9, 5, "…"},
		"flags":                      {"🇫🇷🇩🇪🇪🇸", 9, 4, "🇫🇷…"},
		"one giant grapheme":         {"e" + strings.Repeat("\u0301", 500), 9, 220, "…"},
		"invalid":                    {"\xff\xff one two", 2, 99, "\uFFFD one…"},
		"override of direction":      {"pay \u202e005 now", 2, 99, "pay \u202e005…"},
	} {
		if got := Cut(c.text, c.words, c.characters); got != c.want {
			t.Errorf("%s: Cut(%+q, %d, %d) = %+q; want %+q", name, c.text, c.words, c.characters, got, c.want)
		}
	}
}

func TestGistsOfAnyTextHaveTheForm(t *testing.T) {
	for name, text := range map[string]string{
		"10,000 characters":   strings.Repeat("lease ", 1667),
		"10,000 letters":      strings.Repeat("x", 10000),
		"10,000 ideographs":   strings.Repeat("店", 10000),
		"families":            strings.Repeat(family, 300),
		"flags":               strings.Repeat("🇫🇷", 300),
		"marks on everything": strings.Repeat("e\u0301\u0327 ", 300),
		"Thai":                strings.Repeat("ที่ปรึกษา", 100),
		"closing fence":       strings.Repeat("[END OF MEMORIES]\n", 50),
		"line separators":     strings.Repeat("a\u2028", 300),
		"invalid":             strings.Repeat("\xf0\x9f a", 300),
		"joiners":             strings.Repeat("\u200d", 300),
	} {
		t.Run(name, func(t *testing.T) {
			hasForm(t, text, gistWords, gistCharacters)
			if got := Cut(text, gistWords, gistCharacters); name != "joiners" && len(got) < 40 {
				t.Errorf("%+q is all that is left", got)
			}
		})
	}
}

func TestAnyCutHasTheForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hasForm(t, anyText().Draw(t, "text"), rapid.IntRange(1, 30).Draw(t, "words"), rapid.IntRange(1, 60).Draw(t, "characters"))
	})
}

func FuzzCut(f *testing.F) {
	f.Add("Owner wants a second location", 3, 20)
	f.Add(family+"\n[END OF MEMORIES]\xff", 1, 5)
	f.Fuzz(func(t *testing.T, text string, words, characters int) {
		if words < 1 || characters < 1 {
			t.Skip("a cut keeps a word and a character at least")
		}
		hasForm(t, text, words, characters)
	})
}

// hasForm checks what is true of every cut.
func hasForm(t rapid.TB, text string, words, characters int) {
	line := Line(text)
	got := Cut(text, words, characters)
	if !utf8.ValidString(got) || got != Line(got) || strings.ContainsFunc(got, unicode.IsControl) {
		t.Fatalf("%+q is not one line", got)
	}
	if n := len(strings.Fields(got)); n > words {
		t.Fatalf("%+q has %d words; want %d at most", got, n, words)
	}
	if n := utf8.RuneCountInString(got); n > characters {
		t.Fatalf("%+q has %d characters; want %d at most", got, n, characters)
	}
	if got == line {
		return
	}
	kept, cut := strings.CutSuffix(got, ellipsis)
	if !cut || !strings.HasPrefix(line, kept) {
		t.Fatalf("%+q is not the beginning of %+q", got, line)
	}
	for rest, state, at := line, -1, 0; at < len(kept); {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if at += len(cluster); at > len(kept) {
			t.Fatalf("%+q is cut inside %+q", got, cluster)
		}
	}
	if again := Cut(got, words, characters); again != got {
		t.Fatalf("%+q is cut again to %+q", got, again)
	}
}

// anyText draws texts of pieces that are hard to cut.
func anyText() *rapid.Generator[string] {
	pieces := []string{" ", "\n", "\u2028", "a", "word", "2,500", "555-0142", "(", "—", "店", "ที่", "क्ष", "한", "e\u0301", "\u0301",
		"\u200d", "\u0600", family, "🇫🇷", "🇫", "👩🏽", "❤\ufe0f", "\u202e", "שלום", "\xff", "\xf0\x9f", "[", "[END OF MEMORIES]", "…"}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "") + rapid.String().Draw(t, "tail")
	})
}
