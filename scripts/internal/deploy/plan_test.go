package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/store/storetest"
)

// find is the command of a plan that begins with a head and a name.
func find(t *testing.T, s Settings, head, name string) command {
	t.Helper()
	steps, err := plan(s, "source")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		for _, c := range step.do {
			if c.head == head && c.words[0].text == name {
				return c
			}
		}
	}
	t.Fatalf("no %s %s in the plan", head, name)
	return command{}
}

func (c command) has(text string) bool { return slices.Contains(c.words, word{text: text}) }

func TestDatabasesByNameAndInSeveralRegions(t *testing.T) {
	for name, c := range map[string]struct {
		more map[string]string
		want []string
	}{
		"one region": {nil, []string{"--region=europe-west1", "--trigger-location=europe-west1",
			"--trigger-event-filters=type=google.cloud.firestore.document.v1.written,database=(default)"}},
		"nam5": {map[string]string{"DEPLOY_LOCATION": "nam5"}, []string{"--region=us-central1", "--trigger-location=nam5"}},
		"eur3": {map[string]string{"DEPLOY_LOCATION": "eur3"}, []string{"--region=europe-west1", "--trigger-location=eur3"}},
		"eur3, functions elsewhere": {map[string]string{"DEPLOY_LOCATION": "eur3", "DEPLOY_REGION": "europe-west4"},
			[]string{"--region=europe-west4", "--trigger-location=eur3"}},
		"by name": {map[string]string{"HIPPOFIRE_DATABASE": "agents"},
			[]string{"--trigger-event-filters=type=google.cloud.firestore.document.v1.written,database=agents",
				"--set-env-vars=HIPPOFIRE_DATABASE=agents,HIPPOFIRE_PROJECT=my-project,HIPPOFIRE_REPAIR_TOPIC=hippofire-repair"}},
	} {
		hook := find(t, settings(t, c.more), "functions deploy", "hippofire-index-hook")
		for _, want := range append(c.want, "--retry", "--concurrency=500", "--cpu=1") {
			if !hook.has(want) {
				t.Errorf("%s: the hook is deployed without %s:\n%s", name, want, hook)
			}
		}
	}
	named := settings(t, map[string]string{"HIPPOFIRE_DATABASE": "agents"})
	steps, err := plan(named, "source")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		for _, c := range step.do {
			if strings.HasPrefix(c.head, "firestore") && !c.has("--database=agents") {
				t.Errorf("another database than the named one: %s", c)
			}
			if strings.Contains(c.String(), "datastore.") && !strings.Contains(c.String(), `resource.name=="projects/my-project/databases/agents"`) {
				t.Errorf("a role on more than the named database: %s", c)
			}
		}
	}
}

func TestEachFunctionRunsAsItsOwnAccountWithTheLeastRoles(t *testing.T) {
	p := newProject(t)
	s := settings(t, nil)
	_, err := p.deploy(s)
	p.must(err)
	got := map[string][]string{}
	for on, bindings := range p.world.Policies {
		for _, b := range bindings {
			account, _, _ := strings.Cut(strings.TrimPrefix(b.Members[0], "serviceAccount:"), "@")
			where, _, _ := strings.Cut(on, "/")
			if where == "functions" {
				where = on
			}
			got[account] = append(got[account], b.Role+" on "+where)
		}
	}
	for _, roles := range got {
		slices.Sort(roles)
	}
	reader, writer, asks := "roles/datastore.viewer on projects", "roles/datastore.user on projects", "roles/pubsub.publisher on pubsub"
	wanted := map[string][]string{
		"hippofire-index-hook": {writer, asks}, "hippofire-repair": {writer, asks}, "hippofire-record-episode": {writer, asks},
		"hippofire-turn-context": {reader, asks}, "hippofire-save-turn": {writer}, "hippofire-open-memory": {reader},
		"hippofire-list-memories": {reader, asks}, "hippofire-open-stretch": {reader}, "hippofire-search-history": {reader},
		"hippofire-scheduler": {asks},
		"hippofire-build":     {"roles/artifactregistry.writer on projects", "roles/logging.logWriter on projects", "roles/storage.objectViewer on projects"},
		"hippofire-trigger": {"roles/eventarc.eventReceiver on projects", "roles/run.invoker on functions/hippofire-index-hook",
			"roles/run.invoker on functions/hippofire-repair"},
	}
	backend := got["agent"]
	delete(got, "agent")
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	if slices.ContainsFunc(backend, func(role string) bool { return strings.Contains(role, "hook") || strings.Contains(role, "repair") }) {
		t.Errorf("the backend may call functions of events: %v", backend)
	}
	for _, account := range []string{triggerAccount, schedulerAccount, buildAccount} {
		if id := s.Prefix + "-" + account; len(id) > 30 {
			t.Errorf("the account id %s is longer than 30 characters", id)
		}
	}
	longest := strings.Repeat("p", 13)
	for _, target := range targets {
		if id := longest + "-" + target.name; len(id) > 30 {
			t.Errorf("with the longest prefix the account id %s is longer than 30 characters", id)
		}
	}
}

func TestWithEveryPathChangedTheDeploymentFollows(t *testing.T) {
	more := fixture.LayoutEnv(storetest.OtherLayout())
	more["HIPPOFIRE_TRUSTED_SPEAKERS"] = "user,assistant"
	p := newProject(t)
	s := settings(t, more)
	_, err := p.deploy(s)
	p.must(err)
	hook := find(t, s, "functions deploy", "hippofire-index-hook")
	if want := "--trigger-event-filters-path-pattern=document=" + more["HIPPOFIRE_MEMORY_PATH"]; !hook.has(want) {
		t.Errorf("the hook is deployed without %s:\n%s", want, hook)
	}
	for name, value := range more {
		if !strings.Contains(hook.String(), name+"="+value) {
			t.Errorf("the hook is not told %s=%s:\n%s", name, value, hook)
		}
	}
	if !strings.Contains(hook.String(), "--set-env-vars=^|^") {
		t.Errorf("a value with a comma ends at it:\n%s", hook)
	}
	want := map[string]bool{}
	for _, e := range firestoreconf.Indexes(s.layout).Exempt {
		want["(default) "+e.Collection+"."+e.Field] = true
	}
	if diff := cmp.Diff(want, p.world.Exempt); diff != "" {
		t.Errorf("exemptions (-want +got):\n%s", diff)
	}
	if !want["(default) derived.e"] || !want["(default) pages.body"] {
		t.Errorf("the entries of this store's index are not exempted: %v", want)
	}
}

func TestADryRunPrintsThePlanAndCallsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deploy.env")
	var text strings.Builder
	for name, value := range someValues {
		fmt.Fprintf(&text, "%s=%s\n", name, value)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../..")
	for _, name := range []string{"deploy", "undeploy"} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{name, "--settings", file, "--dry-run"}, strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%s ended with %d: %s", name, code, &errs)
		}
		if n := strings.Count(out.String(), "\ngcloud "); n < 20 {
			t.Errorf("%s printed %d commands:\n%s", name, n, &out)
		}
		if code := run(t.Context(), []string{name, "--help"}, strings.NewReader(""), &out, &errs); code != 0 {
			t.Errorf("%s --help ended with %d", name, code)
		}
		if code := run(t.Context(), []string{name, "--nonsense"}, strings.NewReader(""), &out, &errs); code != 2 {
			t.Errorf("%s --nonsense ended with %d", name, code)
		}
	}
}

func TestEveryFunctionOfTheTreeHasATarget(t *testing.T) {
	list, err := deployed()
	if err != nil {
		t.Fatal(err)
	}
	http, event := functions.HTTPNames(), functions.EventNames()
	if len(list) != len(http)+len(event) || len(http) < 4 {
		t.Errorf("%d targets for %v and %v", len(list), http, event)
	}
}
