package tokens_test

import (
	"testing"

	"github.com/hippofire/hippofire/tokens"
)

func TestFourChars(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "four": 1, "fives": 2, "Größe": 2, "漢字漢字漢": 2} {
		if got := tokens.FourChars(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}
