package emulators

import (
	"slices"
	"strings"
	"testing"
)

func TestNamedEmulatorsAreUsedAndNotStopped(t *testing.T) {
	t.Setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1")
	t.Setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:2")
	var out strings.Builder
	r, err := Start(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.started) > 0 || !slices.Contains(r.Env, "HIPPOFIRE_REQUIRE_EMULATORS=1") {
		t.Errorf("started %d, environment %q", len(r.started), r.Env)
	}
	for _, want := range []string{"FIRESTORE_EMULATOR_HOST=127.0.0.1:1 is used", "PUBSUB_EMULATOR_HOST=127.0.0.1:2 is used"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed %q without %q", &out, want)
		}
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
}

func TestWhereNothingCanBeInstalledTheCommandIsSaid(t *testing.T) {
	t.Setenv("PATH", "")
	var out strings.Builder
	err := Install(t.Context(), &out, "a", "b")
	if err == nil || !strings.Contains(err.Error(), "sudo apt-get install a b") || out.Len() > 0 {
		t.Errorf("error %v, printed %q", err, &out)
	}
}
