package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// patch is a file of testdata/break: a diff, and before it three lines that say
// what it is.
type patch struct {
	name      string
	file      string // absolute
	invariant string
	breaks    string
	pkg, run  string // the test that has to notice
	emulator  bool   // the test needs the emulators
}

func readPatch(file string) (patch, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return patch{}, err
	}
	p, err := parseHeader(string(text))
	if err != nil {
		return p, err
	}
	p.name = strings.TrimSuffix(filepath.Base(file), ".patch")
	p.file, err = filepath.Abs(file)
	return p, err
}

func parseHeader(text string) (patch, error) {
	var p patch
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "--- ") {
			return p, p.complete()
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "":
		case "invariant":
			p.invariant = value
		case "breaks":
			p.breaks = value
		case "test":
			if err := p.parseTest(value); err != nil {
				return p, err
			}
		default:
			return p, fmt.Errorf("the header has a line %q; it takes invariant, breaks and test", line)
		}
	}
	return p, errors.New("there is no diff")
}

func (p *patch) parseTest(value string) error {
	words := strings.Fields(value)
	if n := len(words); n == 4 && words[3] == "emulator" {
		p.emulator = true
		words = words[:3]
	}
	if len(words) != 3 || !strings.HasPrefix(words[0], "./") || words[1] != "-run" {
		return fmt.Errorf("test: %q is not of the form ./pkg -run ^TestName$ [emulator]", value)
	}
	p.pkg, p.run = words[0], words[2]
	for part := range strings.SplitSeq(p.run, "/") {
		if _, err := regexp.Compile(part); err != nil {
			return fmt.Errorf("test: %w", err)
		}
	}
	return nil
}

func (p *patch) complete() error {
	if p.invariant == "" || p.breaks == "" || p.run == "" {
		return errors.New("the header does not say all of invariant, breaks and test")
	}
	return nil
}

// names says whether a test is one that the patch names: each part of its name
// matches, as -run does it.
func (p *patch) names(test string) bool {
	parts := strings.Split(test, "/")
	wanted := strings.Split(p.run, "/")
	if len(parts) < len(wanted) {
		return false
	}
	for i, pattern := range wanted {
		if !regexp.MustCompile(pattern).MatchString(parts[i]) {
			return false
		}
	}
	return true
}
