package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// helpWithin bounds one call of gcloud for its help. It takes seconds.
const helpWithin = 2 * time.Minute

// TestEveryFlagIsOneOfTheInstalledCLIs asks gcloud itself, and curl. The answers
// are kept by the version of the CLI, as asking takes a minute or two.
func TestEveryFlagIsOneOfTheInstalledCLIs(t *testing.T) {
	commands := allCommands(t)
	for _, program := range []string{"gcloud", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed, and only its own help says which flags it has", program)
		}
	}
	help := askHelp(t, commands)
	checked := 0
	for _, c := range commands {
		said := help[c.program+" "+c.head]
		for _, flag := range append(c.flags(), "--quiet") {
			if c.program == "curl" && flag == "--quiet" {
				continue
			}
			checked++
			if !knows(said, flag) {
				t.Errorf("%s %s has no flag %s", c.program, c.head, flag)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d flags were looked up", checked)
	}
	if knows(help["gcloud functions deploy"], "--nonsense") {
		t.Error("any flag would pass")
	}
}

// knows says whether a help text describes a flag. One to switch off is described
// together with the one to switch on.
func knows(help, flag string) bool {
	name := regexp.QuoteMeta(strings.TrimPrefix(flag, "--"))
	if on, ok := strings.CutPrefix(name, "no-"); ok {
		name = `(no-` + on + `|\[no-\]` + on + `)`
	}
	return regexp.MustCompile(`(?m)(^|[\s\[(,|])--` + name + `([\s=,\]);]|$)`).MatchString(help)
}

// allCommands are all that a deployment, a removal and a dry run can print.
func allCommands(t *testing.T) []command {
	t.Helper()
	var all []command
	add := func(c command) { all = append(append(all, c), c.within()...) }
	for _, more := range []map[string]string{nil, {"DEPLOY_LOCATION": "nam5", "HIPPOFIRE_DATABASE": "agents"}} {
		s := settings(t, more)
		steps, err := plan(s, "source")
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range slices.Concat(steps, removal(s)) {
			if step.ask != nil {
				add(*step.ask)
			}
			for _, c := range slices.Concat(step.do, step.mend) {
				add(c)
			}
		}
	}
	for _, c := range (rulesAPI{}).commands() {
		add(c)
	}
	return all
}

// askHelp asks each command once, two at a time.
func askHelp(t *testing.T, commands []command) map[string]string {
	t.Helper()
	help := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	kept := keptIn(t)
	for _, c := range commands {
		key := c.program + " " + c.head
		mu.Lock()
		_, asked := help[key]
		help[key] += ""
		mu.Unlock()
		if asked {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			said, err := helpOf(t.Context(), c, kept)
			mu.Lock()
			defer mu.Unlock()
			if help[key] = said; err != nil {
				t.Errorf("%s --help: %v", key, err)
			}
		})
	}
	wg.Wait()
	return help
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func helpOf(ctx context.Context, c command, kept string) (string, error) {
	file := filepath.Join(kept, strings.ReplaceAll(c.program+" "+c.head, " ", "_")+".txt")
	if text, err := os.ReadFile(file); err == nil {
		return string(text), nil
	}
	ctx, cancel := context.WithTimeout(ctx, helpWithin)
	defer cancel()
	args := append(strings.Fields(c.head), "--help")
	if c.program == "curl" {
		args = []string{"--help", "all"}
	}
	text, err := exec.CommandContext(ctx, c.program, args...).Output()
	if err != nil {
		return "", err
	}
	said := escapes.ReplaceAllString(string(text), "")
	return said, os.WriteFile(file, []byte(said), 0o600)
}

// keptIn is a folder for the help of the installed version.
func keptIn(t *testing.T) string {
	t.Helper()
	version := "unknown"
	if gcloud, err := exec.LookPath("gcloud"); err == nil {
		if real, err := filepath.EvalSymlinks(gcloud); err == nil {
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(real), "..", "VERSION")); err == nil {
				version = strings.TrimSpace(string(text))
			}
		}
	}
	if version == "unknown" {
		return t.TempDir()
	}
	dir := filepath.Join("..", "..", "..", ".cache", "cli-help", version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// flags are the names of the flags that the command is given, those of commands
// within it not included.
func (c command) flags() []string {
	var names []string
	for _, w := range c.words {
		if w.of == nil && strings.HasPrefix(w.text, "-") {
			name, _, _ := strings.Cut(w.text, "=")
			names = append(names, name)
		}
	}
	return names
}

// within lists the commands whose output is an argument, at any depth.
func (c command) within() []command {
	var all []command
	for _, w := range c.words {
		if w.of != nil {
			all = append(append(all, *w.of), w.of.within()...)
		}
	}
	return all
}
