package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/store/embedded"
	"github.com/hippofire/hippofire/store/storetest"
)

func TestDoctorNamesEachProblemWithItsFix(t *testing.T) {
	c := newCommand(t)
	code, out, _ := c.run("doctor")
	if code != 1 || !strings.Contains(out, "BAD  settings and database") {
		t.Errorf("without a target: exit code %d\n%s", code, out)
	}
	dir := plantedIn(t) // its reports are as old as they can be
	file := filepath.Join(c.dir, "firestore.indexes.json")
	if err := os.WriteFile(file, []byte(`{"indexes":[],"fieldOverrides":[{"collectionGroup":"memories","fieldPath":"content","indexes":[]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := c.run("doctor", "--data", dir)
	for _, want := range []string{"BAD  indexes", "the exemption of memory_index.e", "scripts/deploy", "BAD  last repair of acme", "hippofire nightly", "ok   index of acme"} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, nothing about %q:\n%s%s", code, want, out, stderr)
		}
	}
	if strings.Contains(out, "memories.content") {
		t.Errorf("it misses what is there:\n%s", out)
	}
	if err := os.WriteFile(file, firestoreconf.Indexes(hippo.DefaultLayout()).JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "globex"} {
		c.ok("repair", "--data", dir, "--tenant", tenant)
	}
	if code, out, _ := c.run("doctor", "--data", dir); code != 0 || strings.Contains(out, "BAD") {
		t.Errorf("after the repairs: exit code %d\n%s", code, out)
	}
	c.env = append(c.env, "HIPPOFIRE_CONTRACTS=nowhere.yaml")
	if code, out, _ := c.run("doctor", "--data", dir); code != 1 || !strings.Contains(out, "BAD  contracts: HIPPOFIRE_CONTRACTS") {
		t.Errorf("without the file of contracts: exit code %d\n%s", code, out)
	}
	if code, out, _ := c.run("doctor", "--data", dir, "--json", "--tenant", "nobody"); code != 1 || !strings.Contains(out, `"fix"`) {
		t.Errorf("as JSON: exit code %d\n%s", code, out)
	}
}

func TestDoctorDoesNotHoldTheDefaultLayoutsFileAgainstAnAdoptedStore(t *testing.T) {
	c := newAdopting(t)
	dir, file := filepath.Join(c.dir, "data"), filepath.Join(c.dir, "firestore.indexes.json")
	store, err := embedded.Open(dir, storetest.OtherLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	usual := firestoreconf.Indexes(hippo.DefaultLayout())
	if err := os.WriteFile(file, usual.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := c.run("doctor", "--data", dir); code != 0 || !strings.Contains(out, "that is the default layout's") {
		t.Errorf("beside the file of a clone: exit code %d\n%s%s", code, out, stderr)
	}
	if code, out, _ := c.run("doctor", "--data", dir, "--indexes", file); code != 1 || !strings.Contains(out, "BAD  indexes") {
		t.Errorf("with that file named: exit code %d\n%s", code, out)
	}
	usual.Exempt = usual.Exempt[1:]
	if err := os.WriteFile(file, usual.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := c.run("doctor", "--data", dir); code != 1 || !strings.Contains(out, "BAD  indexes") {
		t.Errorf("beside a file of neither layout: exit code %d\n%s", code, out)
	}
}

func TestDoctorSeesTheTriggerWork(t *testing.T) {
	emulatortest.Firestore(t) // or the reason why there is none
	c := newCommand(t)
	l := startLocal(c, "--store", "emulator")
	if out := c.ok("doctor", "--probe"); !strings.Contains(out, "ok   trigger") {
		t.Errorf("doctor --probe: %s", out)
	}
	if out := c.ok("ls"); strings.Contains(out, "probe  ") {
		t.Errorf("the probe left something: %s", out)
	}
	l.stop()
}
