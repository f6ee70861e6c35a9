package main

import (
	"fmt"
	"slices"
	"strings"
)

// command is a call of a program: gcloud with the words of one of its commands,
// or curl. A word can be what another command prints.
type command struct {
	program, head string
	words         []word
}

type word struct {
	text string
	of   *command
}

// gcloud is a call of gcloud; its arguments are strings, or commands whose output
// they are.
func gcloud(head string, args ...any) command {
	c := command{program: "gcloud", head: head}
	return c.with(args...)
}

func (c command) with(args ...any) command {
	c.words = slices.Clone(c.words)
	for _, a := range args {
		switch a := a.(type) {
		case string:
			c.words = append(c.words, word{text: a})
		case command:
			c.words = append(c.words, word{of: &a})
		default:
			panic(fmt.Sprintf("a %T is no argument", a))
		}
	}
	return c
}

// String is the command as a shell takes it.
func (c command) String() string {
	parts := []string{c.program}
	if c.head != "" {
		parts = append(parts, c.head)
	}
	for _, w := range c.words {
		if w.of != nil {
			parts = append(parts, `"$(`+w.of.String()+`)"`)
		} else {
			parts = append(parts, quoted(w.text))
		}
	}
	return strings.Join(parts, " ")
}

const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+"

func quoted(s string) string {
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// pairs writes NAME=VALUE pairs as a flag of gcloud takes several, with a
// separator that none of them holds.
func pairs(of map[string]string, names []string) string {
	var list []string
	for _, n := range names {
		list = append(list, n+"="+of[n])
	}
	for _, separator := range []string{",", "|", ";", "#", "~~"} {
		if strings.Contains(strings.Join(list, ""), separator) {
			continue
		}
		joined := strings.Join(list, separator)
		if separator != "," {
			joined = "^" + separator + "^" + joined
		}
		return joined
	}
	panic("values that hold every separator")
}
