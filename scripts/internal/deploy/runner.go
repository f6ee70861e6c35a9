package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// runner carries out steps.
type runner struct {
	out io.Writer
	// exec runs a program and returns what it prints.
	exec func(ctx context.Context, program string, args []string) ([]byte, error)
	// pause waits before another attempt.
	pause func(ctx context.Context, d time.Duration) error
	// answers are what was asked before, by the command.
	answers map[string]answer
	rules   rulesAPI
	// done counts what was there already and what was made.
	was, made int
}

type answer struct {
	text []byte
	err  error
}

// waits are the pauses before a command that was refused is tried again. A new
// account, role or API takes up to a few minutes until every part of the platform
// knows it.
var waits = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute, time.Minute}

// notYet are parts of the refusals that a new account, role or API brings about.
var notYet = []string{
	"PERMISSION_DENIED", "Permission denied", "does not have permission", "lacks permission", "permissions are propagated", "may take a few minutes",
	"does not exist", "has not been used in project", "it is disabled", "Service Agent", "unable to impersonate", "try again",
	"UNAVAILABLE", "ABORTED", "concurrent policy changes",
}

// absent are parts of the answers about something that is not there.
var absent = []string{"NOT_FOUND", "not found", "does not exist", "could not be found", "Cannot find"}

func (r *runner) deploy(ctx context.Context, steps []step) error {
	for i, s := range steps {
		if err := r.carryOut(ctx, s); err != nil {
			return fmt.Errorf("%s: %w\n%d of %d steps are done; the same command goes on from here", s.what, err, i, len(steps))
		}
	}
	fmt.Fprintf(r.out, "%d made or changed, %d as they should be already\n", r.made, r.was)
	return nil
}

func (r *runner) carryOut(ctx context.Context, s step) error {
	if s.rules {
		changed, err := r.rules.release(ctx)
		r.report(s, changed, err)
		return err
	}
	if s.wait {
		return r.await(ctx, s)
	}
	do := s.do
	if s.ask != nil {
		text, err := r.ask(ctx, *s.ask)
		found := err == nil
		if err != nil && (!contains(err.Error(), absent) || len(s.do) == 0) {
			return err
		}
		if found {
			there, err := s.there(text)
			if err != nil || there {
				r.report(s, false, err)
				return err
			}
			if s.mend != nil {
				do = s.mend
			}
		}
	}
	for _, c := range do {
		if err := r.insist(ctx, c); err != nil {
			return err
		}
	}
	r.report(s, true, nil)
	return nil
}

// How often, and how many times, the answer of a step that waits is asked for.
const (
	askAgain = 20 * time.Second
	maxAsked = 90
)

// await asks until the answer is as it should be.
func (r *runner) await(ctx context.Context, s step) error {
	for range maxAsked {
		text, err := r.call(ctx, *s.ask)
		if err != nil {
			return err
		}
		if there, err := s.there(text); err != nil || there {
			r.report(s, false, err)
			return err
		}
		fmt.Fprintf(r.out, "       not yet: %s; asked again in %s\n", s.what, askAgain)
		if err := r.pause(ctx, askAgain); err != nil {
			return err
		}
	}
	return fmt.Errorf("not within %s", maxAsked*askAgain)
}

func (r *runner) report(s step, made bool, err error) {
	switch {
	case err != nil:
	case made:
		r.made++
		fmt.Fprintf(r.out, "made   %s\n", s.what)
	default:
		r.was++
		fmt.Fprintf(r.out, "there  %s\n", s.what)
	}
}

// remove undoes what is there of steps.
func (r *runner) remove(ctx context.Context, steps []step) error {
	for _, s := range steps {
		text, err := r.ask(ctx, *s.ask)
		if err != nil && !contains(err.Error(), absent) {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		if err != nil {
			continue
		}
		if there, err := s.there(text); err != nil || !there {
			if err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
			continue
		}
		for _, c := range s.do {
			if _, err := r.call(ctx, c); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
		r.made++
		fmt.Fprintf(r.out, "removed  %s\n", s.what)
	}
	fmt.Fprintf(r.out, "%d removed\n", r.made)
	return nil
}

// ask runs a command that changes nothing, once: what this run changes afterwards
// no later step asks about.
func (r *runner) ask(ctx context.Context, c command) ([]byte, error) {
	key := c.String()
	if a, ok := r.answers[key]; ok {
		return a.text, a.err
	}
	text, err := r.call(ctx, c)
	r.answers[key] = answer{text, err}
	return text, err
}

// insist runs a command until it succeeds, as long as its failure is one that
// passes.
func (r *runner) insist(ctx context.Context, c command) error {
	for _, wait := range waits {
		_, err := r.call(ctx, c)
		if err == nil || !contains(err.Error(), notYet) {
			return err
		}
		fmt.Fprintf(r.out, "       refused, again in %s: %s\n", wait, lastLine(err.Error()))
		if err := r.pause(ctx, wait); err != nil {
			return err
		}
	}
	_, err := r.call(ctx, c)
	return err
}

// call runs a command, those within it first.
func (r *runner) call(ctx context.Context, c command) ([]byte, error) {
	args := strings.Fields(c.head)
	for _, w := range c.words {
		text := w.text
		if w.of != nil {
			printed, err := r.call(ctx, *w.of)
			if err != nil {
				return nil, err
			}
			text = strings.TrimSpace(string(printed))
		}
		args = append(args, text)
	}
	text, err := r.exec(ctx, c.program, append(args, "--quiet"))
	if err != nil {
		return nil, fmt.Errorf("%s\n%w", c, err)
	}
	return text, nil
}

// execute runs a program. What it complains of is in the error.
func execute(ctx context.Context, program string, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s is not installed; see https://cloud.google.com/sdk/docs/install", program)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return text, nil
}

func contains(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// fingerprint is a short hash that can stand in a label.
func fingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
