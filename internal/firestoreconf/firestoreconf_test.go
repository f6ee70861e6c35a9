package firestoreconf_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/store/storetest"
)

func TestTheFilesOfTheTreeAreThoseOfTheDefaultLayout(t *testing.T) {
	file := read(t, "../../firestore.indexes.json")
	var got firestoreconf.IndexFile
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	byName := cmpopts.SortSlices(func(a, b firestoreconf.Exemption) bool { return a.Collection+a.Field < b.Collection+b.Field })
	if diff := cmp.Diff(firestoreconf.Indexes(hippo.DefaultLayout()), got, byName); diff != "" {
		t.Errorf("firestore.indexes.json (-of the layout +of the file):\n%s", diff)
	}
	if diff := cmp.Diff(firestoreconf.ExampleRules(hippo.DefaultLayout()), string(read(t, "../../examples/rules/firestore.rules"))); diff != "" {
		t.Errorf("examples/rules/firestore.rules (-of the layout +of the file):\n%s", diff)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOfAStoreWithEveryPathChangedNothingIsLeftBehind reads the settings as the
// functions do, and looks for anything of the default layout in what is made of
// them.
func TestOfAStoreWithEveryPathChangedNothingIsLeftBehind(t *testing.T) {
	other := storetest.OtherLayout()
	config, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(fixture.LayoutEnv(other)))
	if err != nil {
		t.Fatal(err)
	}
	layout, err := config.Layout()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other, layout); diff != "" {
		t.Fatalf("the functions read another layout (-want +got):\n%s", diff)
	}
	got, usual := firestoreconf.Indexes(layout), firestoreconf.Indexes(hippo.DefaultLayout())
	for i, c := range got.Composite {
		if c.Collection == usual.Composite[i].Collection {
			t.Errorf("an index of %s, which this layout does not have", c.Collection)
		}
	}
	if lacks := usual.Lacks(got); len(lacks) != len(got.Composite)+len(got.Exempt) {
		t.Errorf("the default file lacks only %v of what this layout needs", lacks)
	}
	if lacks := got.Lacks(got); lacks != nil {
		t.Errorf("the file of the layout lacks %v", lacks)
	}
	for what, want := range map[string]string{"index": "derived", "messages": "lines", "memories": "pages", "episodes": "stretches"} {
		if !slices.ContainsFunc(got.Exempt, func(e firestoreconf.Exemption) bool { return e.Collection == want }) {
			t.Errorf("no exemption for the %s of this layout, in %q", what, want)
		}
	}
	if pattern := firestoreconf.TriggerPattern(layout.Paths); pattern != other.Paths.Memory {
		t.Errorf("the trigger watches %q", pattern)
	}
	rules := firestoreconf.ExampleRules(layout)
	if !strings.Contains(rules, "match /"+other.Paths.Memory+" {") || strings.Contains(rules, "'content'") || strings.Contains(rules, ".updated_at") {
		t.Errorf("the rules are not of this layout:\n%s", rules)
	}
}

func TestACollectionSharedByTwoKindsIsExemptedOnce(t *testing.T) {
	layout := hippo.DefaultLayout()
	layout.Paths.Memory = "a/{tenant}/messages/{memory}"
	seen := map[string]bool{}
	for _, e := range firestoreconf.Indexes(layout).Exempt {
		if key := e.Collection + "." + e.Field; seen[key] {
			t.Errorf("%s is exempted twice", key)
		} else {
			seen[key] = true
		}
	}
}
