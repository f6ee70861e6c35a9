// Package tokens counts what a text costs a model.
package tokens

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
)

// Counter counts the tokens of a text.
type Counter func(text string) int

// The names by which a counter is chosen.
const (
	Chars4 = "chars4" // four characters a token
	O200k  = "o200k"  // OpenAI's o200k_base
	CL100k = "cl100k" // OpenAI's cl100k_base
)

var byName = map[string]Counter{Chars4: FourChars, O200k: o200k.count, CL100k: cl100k.count}

// ByName is the counter with a name. Its error is of kind Invalid.
func ByName(name string) (Counter, error) {
	if c, ok := byName[name]; ok {
		return c, nil
	}
	return nil, hippo.Errorf(hippo.Invalid, "", "%q is no tokenizer: use %s", name, strings.Join(slices.Sorted(maps.Keys(byName)), ", "))
}

// FourChars estimates a text's tokens as one for each four characters begun. It
// is the rule of thumb for English prose; other scripts cost more.
func FourChars(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
