package emulatortests

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/forget"
	"github.com/hippofire/hippofire/internal/planted"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// forgetting is a database in which secrets are planted.
type forgetting struct {
	rulesProject
	store *firestoredb.Store
}

func newForgetting(t *testing.T) forgetting {
	t.Helper()
	f := forgetting{rulesProject: newRulesProject(t, ourRules(t))}
	store, err := firestoredb.Open(t.Context(), firestoredb.Config{ProjectID: f.id, EmulatorHost: emulatortest.Firestore(t)}, hippo.DefaultLayout())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	f.store = store
	config, err := functions.ConfigFromEnv(t.Context(), planted.Env)
	if err != nil {
		t.Fatal(err)
	}
	app, err := functions.New(config, functions.Parts{Store: store, Publisher: nobody{}, Log: functions.NewLog(t.Output())})
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"acme", "globex"} {
		if err := planted.Plant(t.Context(), app, store, tenant); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

type nobody struct{}

func (nobody) Publish(context.Context, repairmsg.Message) error { return nil }

// everything is the text of all documents of the database.
func (f forgetting) everything() string {
	f.Helper()
	status, answer := f.query(admin, f.documents(), map[string]any{"allDescendants": true})
	if status != http.StatusOK {
		f.Fatalf("%d: %s", status, answer)
	}
	return answer
}

// left lists the secrets of a tenant that are still somewhere.
func (f forgetting) left(tenant string) []string {
	f.Helper()
	text := f.everything()
	var found []string
	for _, s := range planted.Secrets(tenant) {
		if strings.Contains(text, s) {
			found = append(found, s)
		}
	}
	return found
}

func TestAForgottenTenantIsNowhere(t *testing.T) {
	f := newForgetting(t)
	if diff := cmp.Diff(planted.Secrets("acme"), f.left("acme")); diff != "" {
		t.Fatalf("planted (-want +got):\n%s", diff)
	}
	n, err := forget.Tenant(t.Context(), f.store, "acme")
	if err != nil || n < 10 {
		t.Fatalf("%d documents, %v", n, err)
	}
	if left := f.left("acme"); len(left) > 0 || strings.Contains(f.everything(), "tenants/acme/") {
		t.Errorf("still there: %q", left)
	}
	if diff := cmp.Diff(planted.Secrets("globex"), f.left("globex")); diff != "" {
		t.Errorf("of the other tenant (-want +got):\n%s", diff)
	}
}

func TestOfAForgottenThreadTheMemoriesStay(t *testing.T) {
	f := newForgetting(t)
	if _, err := forget.Thread(t.Context(), f.store, "acme", planted.Thread); err != nil {
		t.Fatal(err)
	}
	text := f.everything()
	if strings.Contains(text, "tenants/acme/threads/"+string(planted.Thread)+"/") {
		t.Error("a document of the thread is still there")
	}
	if diff := cmp.Diff(planted.OfMemories("acme"), f.left("acme")); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestOfAForgottenMemoryOnlyTheLinesThatAreListedStay(t *testing.T) {
	f := newForgetting(t)
	r := reconcile.New(f.store, hippo.Base64URL, repairmsg.NewAsker(nobody{}, nil))
	id, err := hippo.Base64URL.ID(planted.Memory("acme"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := forget.Memory(t.Context(), f.store, r.Reconcile, "acme", id)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || lines[0].Thread != planted.Thread || lines[0].Gist == "" {
		t.Errorf("lines %+v, want the two that pointed there, one under the name it had before", lines)
	}
	old, err := hippo.Base64URL.ID(planted.OldMemory("acme"))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []hippo.MemoryID{id, old} {
		if strings.Contains(f.everything(), string(gone)) {
			t.Errorf("%s is still named", gone)
		}
	}
	if again, err := forget.Memory(t.Context(), f.store, r.Reconcile, "acme", id); err != nil || len(again) > 0 {
		t.Errorf("a second time: %+v, %v", again, err)
	}
}
