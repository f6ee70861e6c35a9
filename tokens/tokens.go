// Package tokens counts what a text costs a model.
package tokens

import "unicode/utf8"

// FourChars estimates a text's tokens as one for each four characters begun. It
// is the rule of thumb for English prose; other scripts cost more.
func FourChars(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
