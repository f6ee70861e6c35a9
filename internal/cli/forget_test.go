package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/planted"
	"github.com/hippofire/hippofire/store/embedded"
)

// plantedIn makes a folder of an embedded store with secrets of two tenants.
func plantedIn(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	store, err := embedded.Open(dir, hippo.DefaultLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := functions.ConfigFromEnv(t.Context(), planted.Env)
	if err != nil {
		t.Fatal(err)
	}
	app, err := functions.New(config, functions.Parts{Store: store, Log: functions.NewLog(t.Output())})
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "globex"} {
		if err := planted.Plant(t.Context(), app, store, tenant); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// filesSay says whether a text stands in a file of a folder.
func filesSay(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || strings.Contains(string(content), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestForgetDeletesNothingWhereTheEnvironmentAloneNamesTheStore(t *testing.T) {
	dir, c := plantedIn(t), newCommand(t)
	for _, set := range []string{"HIPPOFIRE_DATA=" + dir, "GOOGLE_CLOUD_PROJECT=somebodys-project"} {
		c.env = append(c.env[:len(c.env):len(c.env)], set)
		_, where, _ := strings.Cut(set, "=")
		if code, out, stderr := c.run("forget", "--tenant", "acme", "--yes"); code != 2 || !strings.Contains(stderr, where) || !strings.Contains(stderr, "--project") {
			t.Errorf("with %s: exit code %d, %q %q", set, code, out, stderr)
		}
		c.env = c.env[:len(c.env)-1]
	}
	if !filesSay(t, dir, planted.OfMemories("acme")[0]) {
		t.Error("it was deleted all the same")
	}
}

func TestForgetLeavesNothingInTheFiles(t *testing.T) {
	dir, c := plantedIn(t), newCommand(t)
	if code, out, stderr := c.run("forget", "--data", dir, "--tenant", "acme"); code != 2 || !strings.Contains(out, `"memories"`) || !strings.Contains(stderr, "--yes") || !strings.Contains(stderr, dir) {
		t.Errorf("without --yes: exit code %d, %q %q", code, out, stderr)
	}
	out := c.ok("forget", "--data", dir, "--tenant", "acme", "--memory", planted.Memory("acme"), "--yes")
	if strings.Count(out, "pointed at it") != 2 || !strings.Contains(out, string(planted.Thread)) {
		t.Errorf("forget --memory: %s", out)
	}
	if filesSay(t, dir, planted.OfMemories("acme")[0]) {
		t.Error("the text of the memory is still in a file")
	}
	for _, s := range planted.Secrets("globex") {
		if !filesSay(t, dir, s) {
			t.Fatalf("%q was not planted", s)
		}
	}
	c.ok("forget", "--data", dir, "--tenant", "acme", "--thread", string(planted.Thread), "--yes")
	if out := c.ok("forget", "--data", dir, "--tenant", "acme", "--yes"); !strings.Contains(out, "none is left") {
		t.Errorf("forget --tenant: %s", out)
	}
	for _, s := range append(planted.Secrets("acme"), "tenants/acme/") {
		if filesSay(t, dir, s) {
			t.Errorf("%q is still in a file", s)
		}
	}
	for _, s := range planted.Secrets("globex") {
		if !filesSay(t, dir, s) {
			t.Errorf("%q of another tenant is gone", s)
		}
	}
}
