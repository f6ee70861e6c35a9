package hippo_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

func TestPartsOfATextAreTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(utf8.UTFMax, 20).Draw(t, "limit")
		var whole strings.Builder
		for next := 0; ; {
			part, from, then := hippo.Part(text, next, limit)
			if from != next || len(part) > limit || !utf8.ValidString(part) {
				t.Fatalf("from %d: %q, which begins at %d", next, part, from)
			}
			whole.WriteString(part)
			if next = then; next == 0 {
				break
			}
		}
		if whole.String() != text {
			t.Fatalf("the parts are %q, the text is %q", whole.String(), text)
		}
	})
}

func TestPartBeginsAtACodePointAndWithinTheText(t *testing.T) {
	for _, c := range []struct {
		offset     int
		part       string
		from, next int
	}{{2, "éa", 1, 0}, {9, "", 4, 0}, {0, "x", 0, 1}} {
		limit := 4
		if c.offset == 0 {
			limit = 2
		}
		if part, from, next := hippo.Part("xéa", c.offset, limit); part != c.part || from != c.from || next != c.next {
			t.Errorf("at %d: %q from %d, next %d", c.offset, part, from, next)
		}
	}
}
