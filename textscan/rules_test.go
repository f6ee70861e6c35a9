package textscan

import (
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEachRuleHitsItsExampleAndPassesItsCounterpart(t *testing.T) {
	for _, r := range allRules() {
		if got, hit := Scan(r.Hit); !hit || got != r.ID {
			t.Errorf("Scan(%+q) = %q, %t; want %q", r.Hit, got, hit, r.ID)
		}
		if got, hit := Scan(r.Pass); hit {
			t.Errorf("%s: Scan(%+q) = %q; want no hit", r.ID, r.Pass, got)
		}
	}
}

func TestRulesAreNamedOnceAndSayWhatTheyAre(t *testing.T) {
	kinds := []string{"hidden", "role", "fence", "override", "conceal", "tool", "exfil", "secret"}
	languages := []string{"any", "en", "es", "zh", "ar"}
	checks := []string{"", checkDirection, checkTag, checkSelector, checkCharacter, checkSpelled, checkCard}
	ids := make(map[string]bool)
	for _, r := range allRules() {
		if ids[r.ID] {
			t.Errorf("two rules are named %q", r.ID)
		}
		ids[r.ID] = true
		if !strings.HasPrefix(r.ID, r.Kind) || !slices.Contains(kinds, r.Kind) || !slices.Contains(languages, r.Language) {
			t.Errorf("%s: kind %q, language %q", r.ID, r.Kind, r.Language)
		}
		if !slices.Contains(checks, r.Check) || (r.Check == "") != (r.Pattern != "") {
			t.Errorf("%s: check %q, pattern %q; want one of them", r.ID, r.Check, r.Pattern)
		}
	}
}

func TestEveryKindHasRulesInEveryLanguage(t *testing.T) {
	have := make(map[string]bool)
	for _, r := range allRules() {
		have[r.Kind+" "+r.Language] = true
	}
	for _, kind := range []string{"role", "override", "conceal", "tool", "exfil", "secret"} {
		for _, language := range []string{"en", "es", "zh", "ar"} {
			if !have[kind+" "+language] {
				t.Errorf("no rule of kind %q for %q", kind, language)
			}
		}
	}
}

// A pattern that asks for a letter which folding replaces can never match.
func TestPatternsAreWrittenInTheFoldedForm(t *testing.T) {
	for _, r := range rules().rules {
		parsed, err := syntax.Parse(r.source, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		for _, literal := range literals(parsed) {
			v := fold("x"+literal+"x", nil, nil)
			folded := v.lower
			if r.Cased {
				folded = v.cased
			}
			if got := string(folded[1 : len(folded)-1]); got != literal {
				t.Errorf("%s: the pattern has %q, folded %q", r.ID, literal, got)
			}
		}
	}
}

func literals(re *syntax.Regexp) []string {
	if re.Op == syntax.OpLiteral {
		return []string{string(re.Rune)}
	}
	var all []string
	for _, sub := range re.Sub {
		all = append(all, literals(sub)...)
	}
	return all
}

func TestEveryListThatARuleNamesIsThere(t *testing.T) {
	for _, r := range rules().rules {
		if strings.Contains(r.source, "{{") {
			t.Errorf("%s names a list that is not there", r.ID)
		}
	}
}

func TestLoadRefusesABadPattern(t *testing.T) {
	for _, file := range []string{`{`, `{"rules": [{"id": "x", "pattern": "("}]}`} {
		if _, err := load([]byte(file)); err == nil {
			t.Errorf("load(%s) gives no error", file)
		}
	}
}

// The gate only saves work: what it keeps from a text could not have hit.
func TestGateLetsThroughWhateverWouldHit(t *testing.T) {
	var pieces []string
	for _, r := range allRules() {
		pieces = append(pieces, strings.Fields(r.Hit)...)
	}
	for _, l := range append(readLines(t, "attacks.txt"), readLines(t, "ordinary.txt")...) {
		pieces = append(pieces, strings.Fields(l.text)...)
	}
	check := func(t rapid.TB, text string) {
		v := fold(text, nil, nil)
		seen := rules().gate.look(v.lower)
		for i, r := range rules().rules {
			if r.matches(v) && !rules().gate.lets(i, &seen) {
				t.Fatalf("%q hits %s, which the gate keeps out", text, r.ID)
			}
		}
	}
	for _, r := range allRules() {
		check(t, r.Hit)
	}
	for _, l := range readLines(t, "attacks.txt") {
		check(t, l.text)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "words"), " "))
	})
}

// allRules lists the rules in the order in which Scan tries them.
func allRules() []Rule {
	s := rules()
	list := make([]Rule, len(s.rules))
	for i, r := range s.rules {
		list[i] = r.Rule
	}
	return list
}
