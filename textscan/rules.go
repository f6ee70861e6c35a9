package textscan

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// rules.json holds the lists and the rules. A pattern is RE2 over a folded text
// in small letters; {{name}} stands for the list of that name. What cannot be
// seen, and letters at which a search for leaked keys would stop, are written as
// JSON escapes.
//
//go:embed rules.json
var ruleFile []byte

// Rule is one thing a text may not say.
type Rule struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Language string `json:"language"`
	// Pattern is what the text may not match; Cased says that it tells capitals
	// from small letters.
	Pattern string `json:"pattern,omitempty"`
	Cased   bool   `json:"cased,omitempty"`
	// Check stands in the place of a pattern and names what one cannot say: how
	// a text hides something, or that digits are a card's.
	Check string `json:"check,omitempty"`
	// Hit is a text that hits this rule before any other, Pass one like it that
	// hits none.
	Hit  string `json:"hit"`
	Pass string `json:"pass"`
}

type compiled struct {
	Rule
	// source is the pattern with its lists filled in; pattern compiles it when a
	// text first needs it, as few ever do.
	source  string
	pattern func() *regexp.Regexp
}

type ruleSet struct {
	rules []*compiled
	gate  *gate
}

// rules reads the rule file at the first use. That file is part of the program,
// so a fault in it is a fault of the build, which the tests find: it panics, as
// regexp.MustCompile does.
var rules = sync.OnceValue(func() *ruleSet {
	s, err := load(ruleFile)
	if err != nil {
		panic(err)
	}
	return s
})

func load(file []byte) (*ruleSet, error) {
	var data struct {
		Lists map[string]string `json:"lists"`
		Rules []Rule            `json:"rules"`
	}
	if err := json.Unmarshal(file, &data); err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	var pairs []string
	for name, list := range data.Lists {
		pairs = append(pairs, "{{"+name+"}}", list)
	}
	lists := strings.NewReplacer(pairs...)
	s := &ruleSet{gate: &gate{}}
	for _, r := range data.Rules {
		c := &compiled{Rule: r}
		var parsed *syntax.Regexp
		if r.Check == "" {
			// A list may hold lists, one level deep.
			c.source = lists.Replace(lists.Replace(r.Pattern))
			c.pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(c.source) })
			var err error
			if parsed, err = syntax.Parse(c.source, syntax.Perl); err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.ID, err)
			}
		}
		s.gate.add(parsed)
		s.rules = append(s.rules, c)
	}
	if s.gate.groups > maxGroups {
		return nil, fmt.Errorf("the rules need %d groups of literals; the gate holds %d", s.gate.groups, maxGroups)
	}
	return s, nil
}
