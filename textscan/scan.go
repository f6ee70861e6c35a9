// Package textscan looks for injected instructions in the short texts that reach
// a prompt as the agent's own: gists, memory names and speaker labels.
//
// A text is scanned when it is written and again when it is read, so that what
// an older program let in, or another writer wrote, is held to today's rules.
// What hits a rule is not shown; see docs/scan.md for what such a scan cannot do.
//
// Nothing is remembered between calls. A text is brought into one form (see
// fold), one pass over it picks the few rules whose fixed words it contains, and
// only their patterns run.
package textscan

// Scan gives the id of the first rule that text hits, in the order of the rules.
func Scan(text string) (rule string, hit bool) {
	s := rules()
	var small [2][256]byte
	v := fold(text, small[0][:0], small[1][:0])
	v.hidden = hidden(text)
	seen := s.gate.look(v.lower)
	for i, r := range s.rules {
		if s.gate.lets(i, &seen) && r.matches(v) {
			return r.ID, true
		}
	}
	return "", false
}

// view is a text in the forms that rules look at.
type view struct {
	// lower is folded and in small letters, cased folded alone.
	lower, cased []byte
	// hidden is what the text hides, by the name of a rule's check.
	hidden string
}

func (r *compiled) matches(v view) bool {
	text := v.lower
	if r.Cased {
		text = v.cased
	}
	switch {
	case r.Check == checkCard:
		return hasCard(text)
	case r.Check == checkSpelled:
		return isSpelled(text)
	case r.Check != "":
		return r.Check == v.hidden
	}
	return r.pattern().Match(text)
}
