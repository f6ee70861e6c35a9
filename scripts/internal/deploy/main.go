// Command deploy is scripts/deploy and scripts/undeploy: it makes everything that
// the functions need in a Google Cloud project, or removes it again.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/scripts/internal/worktree"
)

const deployUsage = `usage: scripts/deploy [--settings FILE] [--database ID] [--dry-run] [--replace-rules]
       scripts/deploy [--settings FILE] --files DIR

Deploys the functions to a Google Cloud project, with everything they need: APIs,
accounts, roles, topic, indexes, triggers, the nightly job and security rules.
What is there already stays as it is, so the same command carries on where an
earlier one failed, and changes nothing where nothing changed.

  --settings FILE  the settings; deploy.env unless given. deploy.example.env
                   describes each
  --database ID    the database, in place of the settings' one
  --dry-run        print every command, and run none. It needs no account
  --replace-rules  release the rules also over rules that let clients in
  --files DIR      write the firestore.indexes.json of these settings, and the
                   example rules, which let clients in, into a folder other than
                   this one, for those who use firebase-tools
`

const undeployUsage = `usage: scripts/undeploy [--settings FILE] [--database ID] [--dry-run] [--yes]

Removes what scripts/deploy made: functions with their triggers, the nightly job,
the topic, roles and accounts. The database stays with all that is in it, and so
do its indexes and rules.

  --settings FILE  the settings of the deployment; deploy.env unless given
  --database ID    the database, in place of the settings' one
  --dry-run        print every command, and run none
  --yes            do not ask
`

type options struct {
	settings, database, files string
	dry, replaceRules, yes    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program; its first argument says which of the two scripts it is.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	usage, name := deployUsage, "deploy"
	if len(args) > 0 && args[0] == "undeploy" {
		usage, name = undeployUsage, "undeploy"
	}
	if len(args) > 0 {
		args = args[1:]
	}
	o, err := parse(args, name)
	switch {
	case err == flag.ErrHelp:
		fmt.Fprint(out, usage)
		return 0
	case err != nil:
		fmt.Fprintf(errs, "scripts/%s: %v\n%s", name, err, usage)
		return 2
	}
	act := deploy
	if name == "undeploy" {
		act = undeploy
	}
	if err := act(ctx, o, in, out); err != nil {
		fmt.Fprintf(errs, "scripts/%s: %v\n", name, err)
		return 1
	}
	return 0
}

func parse(args []string, name string) (options, error) {
	var o options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.settings, "settings", "deploy.env", "")
	flags.StringVar(&o.database, "database", "", "")
	flags.BoolVar(&o.dry, "dry-run", false, "")
	if name == "deploy" {
		flags.StringVar(&o.files, "files", "", "")
		flags.BoolVar(&o.replaceRules, "replace-rules", false, "")
	} else {
		flags.BoolVar(&o.yes, "yes", false, "")
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not understood", flags.Arg(0))
	}
	return o, nil
}

func deploy(ctx context.Context, o options, _ io.Reader, out io.Writer) error {
	s, err := readSettings(ctx, o.settings, o.database)
	if err != nil {
		return err
	}
	if o.files != "" {
		return writeFiles(s, o.files)
	}
	files, err := uploaded(ctx, ".")
	if err != nil {
		return err
	}
	if c := s.contracts; c != "" && !filepath.IsAbs(c) && !slices.Contains(files, filepath.Clean(c)) {
		return fmt.Errorf("HIPPOFIRE_CONTRACTS: %s is not uploaded: .gitignore or .gcloudignore leaves it out", c)
	}
	source, err := sourceHash(".", files)
	if err != nil {
		return err
	}
	steps, err := plan(s, source)
	if err != nil {
		return err
	}
	rules, err := s.rulesAPI(o.replaceRules)
	if err != nil {
		return err
	}
	if o.dry {
		print(out, steps, rules)
		return nil
	}
	return newRunner(out, rules).deploy(ctx, steps)
}

func undeploy(ctx context.Context, o options, in io.Reader, out io.Writer) error {
	s, err := readSettings(ctx, o.settings, o.database)
	if err != nil {
		return err
	}
	steps := removal(s)
	if o.dry {
		print(out, steps, rulesAPI{})
		return nil
	}
	if !o.yes {
		fmt.Fprintf(out, "This removes the functions %s-* from the project %s. Type the project's id to go on: ", s.Prefix, s.project)
		var typed string
		if fmt.Fscanln(in, &typed); typed != s.project {
			return fmt.Errorf("nothing was removed")
		}
	}
	return newRunner(out, rulesAPI{}).remove(ctx, steps)
}

func newRunner(out io.Writer, rules rulesAPI) *runner {
	r := &runner{out: out, exec: execute, pause: sleep, answers: map[string]answer{}, rules: rules}
	r.rules.token = func(ctx context.Context) (string, error) {
		token, err := r.call(ctx, gcloud("auth print-access-token"))
		return strings.TrimSpace(string(token)), err
	}
	return r
}

func sleep(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// print writes the steps as a shell takes them. What only tells whether something
// is there already stands in a comment.
func print(out io.Writer, steps []step, rules rulesAPI) {
	asked := map[string]bool{}
	for _, s := range steps {
		fmt.Fprintf(out, "\n# %s\n", s.what)
		if s.ask != nil && !asked[s.ask.String()] {
			asked[s.ask.String()] = true
			fmt.Fprintf(out, "# whether it is there: %s\n", s.ask)
		}
		do := s.do
		if s.rules {
			do = rules.commands()
		}
		for _, c := range do {
			fmt.Fprintln(out, c)
		}
		for _, c := range s.mend {
			fmt.Fprintf(out, "# or, where it is another: %s\n", c)
		}
	}
}

// rulesAPI is how the settings' rules are released.
func (s Settings) rulesAPI(replace bool) (rulesAPI, error) {
	api := rulesAPI{url: rulesURL, project: s.project, database: s.database, file: s.Rules, replace: replace}
	if s.Rules == keepRules {
		return api, nil
	}
	text, err := os.ReadFile(s.Rules)
	api.text = string(text)
	return api, err
}

// uploaded lists what a deployment uploads.
func uploaded(ctx context.Context, root string) ([]string, error) {
	files, err := worktree.Files(ctx, root)
	if err != nil {
		return nil, err
	}
	return worktree.Without(ctx, root, files, ".gcloudignore")
}

// sourceHash is a fingerprint of what a deployment uploads.
func sourceHash(root string, files []string) (string, error) {
	var parts []string
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		parts = append(parts, file, string(text))
	}
	return fingerprint(parts...), nil
}

// writeFiles writes what firebase-tools deploy. The example rules never take the
// place of those that a deployment releases.
func writeFiles(s Settings, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	rules := filepath.Join(dir, "firestore.rules")
	for _, released := range []string{s.Rules, "firestore.rules"} {
		if sameFile(rules, released) {
			return fmt.Errorf("--files: %s are rules that a deployment releases, and the example would let clients in: name another folder", released)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "firestore.indexes.json"), firestoreconf.Indexes(s.layout).JSON(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(rules, []byte(firestoreconf.ExampleRules(s.layout)), 0o644)
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
