package cli_test

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/localstack"
)

// exchanges are the examples of an agent, by the program that runs them.
var exchanges = map[string][]string{
	"python3": {"../../examples/python/agent.py"},
	"node":    {"../../examples/node/agent.mjs"},
	"go":      {"run", "../../examples/go"},
}

func TestExamplesOfAnAgentRunOnBothStores(t *testing.T) {
	for _, store := range []string{"embedded", "emulator"} {
		t.Run(store, func(t *testing.T) {
			if store == "emulator" {
				emulatortest.Firestore(t) // or the reason why there is none
			}
			c := newCommand(t)
			l := startLocal(c, "--store", store)
			info, err := localstack.ReadInfo(c.dir)
			if err != nil {
				t.Fatal(err)
			}
			for program, args := range exchanges {
				t.Run(program, func(t *testing.T) { runExchange(t, c, info, program, args) })
			}
			l.stop()
		})
	}
}

func runExchange(t *testing.T, c *command, info localstack.Info, program string, args []string) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: %v", program, err)
	}
	cmd := exec.CommandContext(t.Context(), program, append(slices.Clone(args), info.FunctionsURL, program)...)
	cmd.Env = slices.Clone(c.env)
	if info.FirestoreHost != "" {
		cmd.Env = append(cmd.Env, "FIRESTORE_EMULATOR_HOST="+info.FirestoreHost, "HIPPOFIRE_PROJECT="+info.Project)
	}
	var said []byte
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		said = exit.Stderr
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	for _, want := range []string{
		"saved 2 messages", "recorded: [Tt]rue, indexed: [Tt]rue, missing: \\[\\]", "again: repeated [Tt]rue", "behind the line: 2 messages", "found: m1",
	} {
		if !regexp.MustCompile("(?m)^" + want + "$").Match(out) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}
