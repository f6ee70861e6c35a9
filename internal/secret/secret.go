// Package secret is texts that tests put where contents and names stand, and the
// search for them in what must not hold any: logs. scripts/test searches all that
// a run of the tests prints.
package secret

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// mark is in every planted text.
const mark = "Zq7planted"

// Text is a text to plant, with a word that says where.
func Text(where string) string { return mark + where }

var planted = regexp.MustCompile(`(?i:` + mark + `)|` + strings.Join(inIDs(), "|"))

// inIDs are the forms that the mark has in base64url, as ids have it: one for each
// place at which it can stand in a group of three bytes, without the characters
// that depend on what stands beside it.
func inIDs() []string {
	var forms []string
	for before := range 3 {
		text := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", before) + mark))
		from := (before*8 + 5) / 6
		to := (before + len(mark)) * 8 / 6
		forms = append(forms, text[from:to])
	}
	return forms
}

// In is the first planted text that a log holds, with what stands around it;
// empty where there is none.
func In(log string) string {
	at := planted.FindStringIndex(log)
	if at == nil {
		return ""
	}
	return log[max(0, at[0]-200):min(len(log), at[1]+100)]
}
