package tokens_test

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tokens"
)

func counter(t testing.TB, name string) tokens.Counter {
	t.Helper()
	count, err := tokens.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func text(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The counts of these texts are those that the encodings' own program gives.
func TestTablesCountAsTheirModelsDo(t *testing.T) {
	for _, test := range []struct {
		text           string
		o200k, cl100k  int
		fourCharacters int
	}{
		{"", 0, 0, 0},
		{"hello world", 2, 2, 3},
		{"tiktoken is great!", 6, 6, 5},
		{"antidisestablishmentarianism", 6, 6, 7},
		{"お誕生日おめでとう", 8, 9, 3},
		{"2 + 2 = 4", 7, 7, 3},
	} {
		for name, want := range map[string]int{tokens.O200k: test.o200k, tokens.CL100k: test.cl100k, tokens.Chars4: test.fourCharacters} {
			if got := counter(t, name)(test.text); got != want {
				t.Errorf("%s: %q costs %d, want %d", name, test.text, got, want)
			}
		}
	}
}

func TestFourChars(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "four": 1, "fives": 2, "Größe": 2, "漢字漢字漢": 2, "👩‍👩‍👧‍👦👍🏽": 3, "السلام عليكم": 3, "สวัสดี": 2,
	} {
		if got := tokens.FourChars(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

// What docs/turn.md says of the estimate is what this test prints. The bounds
// keep the two from drifting apart.
func TestErrorOfTheEstimate(t *testing.T) {
	estimate, exact := counter(t, tokens.Chars4), counter(t, tokens.O200k)
	for _, test := range []struct {
		text     string
		from, to float64 // per cent of the exact count
	}{
		{"english", 0, 15},
		{"arabic", -30, 0},
		{"thai", -50, -10},
		{"cjk", -75, -55},
		{"code", -20, 10},
	} {
		s := text(t, test.text)
		guess, real := estimate(s), exact(s)
		off := 100 * (float64(guess) - float64(real)) / float64(real)
		t.Logf("%-8s %4d characters, o200k %4d, chars4 %4d: %+.0f %%", test.text, utf8.RuneCountInString(s), real, guess, off)
		if off < test.from || off > test.to {
			t.Errorf("%s: the estimate is off by %+.0f %%, want between %+.0f and %+.0f", test.text, off, test.from, test.to)
		}
	}
}

// A long text is counted in pieces, which must not show: its count is what its
// sentences cost, each with the space before it.
func TestLongTextsCostWhatTheirPartsDo(t *testing.T) {
	for _, name := range []string{tokens.O200k, tokens.CL100k} {
		count := counter(t, name)
		for _, sentence := range []string{" It costs $1,150 a month, he'd said.", " Größe 漢字, ok", " x"} {
			const times = 1000
			if got, want := count(strings.Repeat(sentence, times)), times*count(sentence); got != want {
				t.Errorf("%s: %d times %q cost %d, want %d", name, times, sentence, got, want)
			}
		}
		for _, run := range []string{" ", "\n", "=", "a", "字", "👍🏽"} {
			const half = 10_000
			whole, two := count(strings.Repeat(run, 2*half)), 2*count(strings.Repeat(run, half))
			if off := float64(whole-two) / float64(two); off < -0.01 || off > 0.01 {
				t.Errorf("%s: a run of %q costs %d, its halves %d", name, run, whole, two)
			}
		}
	}
}

func TestUnknownTokenizerIsNamed(t *testing.T) {
	_, err := tokens.ByName("p50k")
	if !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), `"p50k"`) || !strings.Contains(err.Error(), "chars4, cl100k, o200k") {
		t.Errorf("error %v", err)
	}
}

func TestCutKeepsToTheLimitAndToWholeGraphemes(t *testing.T) {
	texts := []string{"👩‍👩‍👧‍👦👍🏽🇹🇭", "สวัสดีครับ ผมชื่อ", "السَّلامُ عليكم", "今天天气很好", "e\u0301e\u0301\r\n\r\nx", "plain words "}
	counters := []tokens.Counter{counter(t, tokens.Chars4), counter(t, tokens.O200k), counter(t, tokens.CL100k)}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat(strings.Join(rapid.SliceOfN(rapid.SampledFrom(texts), 1, 6).Draw(t, "texts"), ""), rapid.IntRange(1, 20).Draw(t, "times"))
		limit := rapid.IntRange(-1, 200).Draw(t, "limit")
		count := rapid.SampledFrom(counters).Draw(t, "counter")
		cut := count.Cut(s, limit)
		if !strings.HasPrefix(s, cut) {
			t.Fatalf("%q does not begin with %q", s, cut)
		}
		if n := count(cut); n > max(limit, 0) {
			t.Fatalf("%q costs %d, the limit is %d", cut, n, limit)
		}
		if !atBoundary(s, len(cut)) {
			t.Fatalf("%q is cut inside a grapheme behind %q", s, cut)
		}
		if count(s) <= limit && cut != s {
			t.Fatalf("%q costs no more than %d and is cut to %q", s, limit, cut)
		}
	})
}

func atBoundary(s string, at int) bool {
	offset := 0
	for g := uniseg.NewGraphemes(s); offset < at && g.Next(); {
		offset += len(g.Str())
	}
	return offset == at
}

func TestCutUsesMostOfTheLimit(t *testing.T) {
	long := strings.Repeat(text(t, "english"), 60)
	for _, name := range []string{tokens.Chars4, tokens.O200k, tokens.CL100k} {
		count := counter(t, name)
		if n := count(count.Cut(long, 1000)); n < 990 {
			t.Errorf("%s: 1000 tokens were to be kept, and %d are", name, n)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	s := text(b, "english")
	for _, name := range []string{tokens.Chars4, tokens.O200k, tokens.CL100k} {
		count := counter(b, name)
		count(s)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				count(s)
			}
		})
	}
}
