package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/store/storetest"
)

// project is a stand-in for gcloud and the Rules API.
type project struct {
	*testing.T
	world  world
	rules  *rulesServer
	paused []time.Duration
	out    bytes.Buffer
}

func newProject(t *testing.T) *project {
	t.Helper()
	return &project{T: t, world: newWorld(), rules: newRulesServer(t)}
}

func (p *project) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *project) runner(s Settings) *runner {
	api := rulesAPI{url: p.rules.URL, project: s.project, database: s.database, file: s.Rules, text: ourRules}
	r := newRunner(&p.out, api)
	r.exec = func(_ context.Context, _ string, args []string) ([]byte, error) {
		printed, refusal := p.world.answer(args)
		if refusal != "" {
			return nil, errors.New(refusal)
		}
		return []byte(printed), nil
	}
	r.pause = func(_ context.Context, d time.Duration) error {
		p.paused = append(p.paused, d)
		return nil
	}
	return r
}

func (p *project) deploy(s Settings) (*runner, error) {
	p.Helper()
	steps, err := plan(s, "source")
	p.must(err)
	r := p.runner(s)
	return r, r.deploy(p.Context(), steps)
}

const ourRules = "match /{document=**} {\n allow read, write: if false;\n}"

var someValues = map[string]string{
	"HIPPOFIRE_PROJECT": "my-project", "DEPLOY_LOCATION": "europe-west1", "DEPLOY_INVOKERS": "serviceAccount:agent@x.iam.gserviceaccount.com",
}

func settings(t *testing.T, more map[string]string) Settings {
	t.Helper()
	values := maps.Clone(someValues)
	maps.Copy(values, more)
	s, err := newSettings(t.Context(), values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mutating lists the calls that change something.
func mutating(calls []string) []string {
	var list []string
	for _, c := range calls {
		head := parseCall(strings.Fields(c)).head
		reads := strings.Contains(head, "describe") || strings.Contains(head, "list") || strings.Contains(head, "get-iam-policy") || strings.HasPrefix(head, "auth")
		if !reads {
			list = append(list, c)
		}
	}
	return list
}

func TestAFirstDeploymentMakesEverythingAndASecondChangesNothing(t *testing.T) {
	p := newProject(t)
	s := settings(t, nil)
	first, err := p.deploy(s)
	p.must(err)
	steps, err := plan(s, "source")
	p.must(err)
	if first.made != len(steps)-1 || first.was != 1 { // the database was there
		t.Errorf("%d made and %d there, want %d and 1\n%s", first.made, first.was, len(steps)-1, &p.out)
	}
	w := p.world
	list, err := deployed()
	p.must(err)
	if len(w.Functions) != len(list) || len(w.Accounts) != len(list)+3 || !w.Topics["hippofire-repair"] || w.Deadline != ackDeadline || len(w.Jobs) != 1 {
		t.Errorf("the project afterwards: %+v", w)
	}
	if p.rules.releases["projects/my-project/releases/cloud.firestore"] == "" {
		t.Error("no rules were released")
	}
	p.world.Calls = nil
	second, err := p.deploy(s)
	p.must(err)
	if calls := mutating(p.world.Calls); len(calls) > 0 || second.made > 0 || p.rules.writes != 2 {
		t.Errorf("the second deployment made %d changes, %d releases in all: %q", second.made, p.rules.writes, calls)
	}
	if len(p.paused) > 0 {
		t.Errorf("it waited %v where nothing was refused", p.paused)
	}
}

func TestOtherSourcesOrSettingsDeployAgainWhatTheyTouch(t *testing.T) {
	p := newProject(t)
	_, err := p.deploy(settings(t, nil))
	p.must(err)
	for _, c := range []struct {
		name   string
		more   map[string]string
		source string
		want   []string
	}{
		{"other source", nil, "changed", []string{"functions deploy"}},
		{"other schedule", map[string]string{"DEPLOY_SCHEDULE": "0 4 * * *"}, "changed", []string{"scheduler jobs update http"}},
	} {
		p.world.Calls = nil
		s := settings(t, c.more)
		steps, err := plan(s, c.source)
		p.must(err)
		p.must(p.runner(s).deploy(t.Context(), steps))
		var got []string
		for _, call := range mutating(p.world.Calls) {
			got = append(got, parseCall(strings.Fields(call)).head)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, slices.Compact(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestARefusalThatPassesIsTriedAgain(t *testing.T) {
	p := newProject(t)
	for _, head := range heads {
		if len(mutating([]string{head})) > 0 {
			p.world.Refuse[head] = "PERMISSION_DENIED: it may take a few minutes before all necessary permissions are propagated to the Service Agent."
		}
	}
	r, err := p.deploy(settings(t, nil))
	p.must(err)
	if refused := len(p.world.Failed); len(p.paused) != refused || refused < 30 || r.made < refused {
		t.Errorf("%d pauses where %d calls were refused once, %d changes", len(p.paused), refused, r.made)
	}
}

func TestARefusalThatDoesNotPassEndsAfterBoundedAttemptsAndTheNextRunGoesOn(t *testing.T) {
	p := newProject(t)
	s := settings(t, nil)
	for why, pauses := range map[string]int{"INVALID_ARGUMENT: no such runtime": 0, "PERMISSION_DENIED": len(waits)} {
		p.paused = nil
		p.world.RefuseAlways["functions deploy"] = why
		_, err := p.deploy(s)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "goes on from here") {
			t.Errorf("%s: %v", why, err)
		}
		if len(p.paused) != pauses {
			t.Errorf("%s: %d pauses, want %d", why, len(p.paused), pauses)
		}
	}
	p.world.Calls, p.world.RefuseAlways = nil, nil
	_, err := p.deploy(s)
	p.must(err)
	for _, c := range mutating(p.world.Calls) {
		if strings.HasPrefix(c, "iam") || strings.HasPrefix(c, "projects") || strings.HasPrefix(c, "services") {
			t.Errorf("the run that went on did %q again", c)
		}
	}
}

func TestADatabaseElsewhereThanTheSettingsSayStopsTheDeployment(t *testing.T) {
	p := newProject(t)
	p.world.Location = "nam5"
	if _, err := p.deploy(settings(t, nil)); err == nil || !strings.Contains(err.Error(), "lies in nam5") {
		t.Errorf("error %v, want one that names the location", err)
	}
	if w := p.world; len(w.Functions)+len(w.Accounts) > 0 {
		t.Error("something was made before it was noticed")
	}
}

// TestTheProgramThatIsOnThePathIsCalled puts the stand-in there.
func TestTheProgramThatIsOnThePathIsCalled(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s='%s' exec '%s' \"$@\"\n", standInEnv, dir, self)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "gcloud"), []byte(script), 0o755), newWorld().save(dir)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	s := settings(t, nil)
	r := newRunner(io.Discard, rulesAPI{})
	for _, want := range []int{1, 1} { // made by the first, found by the second
		r.answers = map[string]answer{}
		if err := r.carryOut(t.Context(), s.makeTopic()); err != nil || r.made != want {
			t.Errorf("%d made, %v", r.made, err)
		}
	}
	w, err := loadWorld(dir)
	want := []string{
		"pubsub topics describe hippofire-repair --project=my-project --format=json --quiet",
		"pubsub topics create hippofire-repair --project=my-project --quiet",
		"pubsub topics describe hippofire-repair --project=my-project --format=json --quiet",
	}
	if diff := cmp.Diff(want, w.Calls); err != nil || diff != "" {
		t.Errorf("calls, %v (-want +got):\n%s", err, diff)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := r.call(t.Context(), gcloud("version")); err == nil || !strings.Contains(err.Error(), "is not installed") {
		t.Errorf("without gcloud: %v", err)
	}
}

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
	more := functions.LayoutEnv(storetest.OtherLayout())
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

func TestUndeployRemovesWhatWasMadeAndNoData(t *testing.T) {
	p := newProject(t)
	s := settings(t, nil)
	_, err := p.deploy(s)
	p.must(err)
	composites, exempt := len(p.world.Composite), len(p.world.Exempt)
	p.world.Calls = nil
	p.must(p.runner(s).remove(t.Context(), removal(s)))
	w := p.world
	if len(w.Functions)+len(w.Accounts)+len(w.Topics)+len(w.Jobs) > 0 || len(w.Policies["projects/my-project"]) > 0 {
		t.Errorf("left: %+v", w)
	}
	if len(w.Composite) != composites || len(w.Exempt) != exempt {
		t.Error("indexes were removed, and the documents that they are for are still there")
	}
	for _, c := range mutating(w.Calls) {
		if strings.HasPrefix(c, "firestore") || strings.HasPrefix(c, "services") {
			t.Errorf("undeploy did %q", c)
		}
	}
	p.world.Calls = nil
	p.must(p.runner(s).remove(t.Context(), removal(s)))
	if calls := mutating(p.world.Calls); len(calls) > 0 {
		t.Errorf("a second undeploy did %q", calls)
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

func TestContractsThatAreNotUploadedStopTheDeployment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deploy.env")
	text := "HIPPOFIRE_PROJECT=my-project\nDEPLOY_LOCATION=nam5\nHIPPOFIRE_CONTRACTS=docs/contracts.example.yaml\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../..")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"deploy", "--settings", file, "--dry-run"}, strings.NewReader(""), &out, &errs)
	if code != 1 || !strings.Contains(errs.String(), "HIPPOFIRE_CONTRACTS: docs/contracts.example.yaml is not uploaded") {
		t.Errorf("it ended with %d: %s", code, &errs)
	}
}

func TestSettingsThatWouldNotDoAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		more map[string]string
		says string
	}{
		"no project":              {map[string]string{"HIPPOFIRE_PROJECT": ""}, "HIPPOFIRE_PROJECT"},
		"no location":             {map[string]string{"DEPLOY_LOCATION": ""}, "DEPLOY_LOCATION"},
		"a misspelt name":         {map[string]string{"DEPLOY_REGON": "x"}, "DEPLOY_REGON"},
		"a setting for tests":     {map[string]string{"HIPPOFIRE_TEST_NO_RECONCILE": "true"}, "HIPPOFIRE_TEST_NO_RECONCILE"},
		"a function in regions":   {map[string]string{"DEPLOY_REGION": "eur3"}, "one, such as europe-west1"},
		"everybody may call":      {map[string]string{"DEPLOY_INVOKERS": "allUsers"}, "allUsers"},
		"a path of no memory":     {map[string]string{"HIPPOFIRE_MEMORY_PATH": "x/{memory}"}, "HIPPOFIRE_MEMORY_PATH"},
		"a long prefix":           {map[string]string{"DEPLOY_PREFIX": "hippofire-production"}, "DEPLOY_PREFIX"},
		"an injection":            {map[string]string{"HIPPOFIRE_DATABASE": "x; rm -rf /"}, "HIPPOFIRE_DATABASE"},
		"no file of contracts":    {map[string]string{"HIPPOFIRE_CONTRACTS": "nowhere.yaml"}, "HIPPOFIRE_CONTRACTS"},
		"a file of no contracts":  {map[string]string{"HIPPOFIRE_CONTRACTS": "deploy_test.go"}, "HIPPOFIRE_CONTRACTS"},
		"no instance of the hook": {map[string]string{"DEPLOY_HOOK_MAX_INSTANCES": "0"}, "DEPLOY_HOOK_MAX_INSTANCES"},
	} {
		values := maps.Clone(someValues)
		maps.Copy(values, c.more)
		if _, err := newSettings(t.Context(), values); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.says)
		}
	}
}

func TestTheExampleDescribesEverySettingWithItsDefault(t *testing.T) {
	file, err := os.ReadFile("../../../deploy.example.env")
	if err != nil {
		t.Fatal(err)
	}
	values, err := parseEnv(string(file))
	if err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[Settings]()
	for i := range of.NumField() {
		tag := of.Field(i).Tag.Get("env")
		if tag == "" {
			continue
		}
		name, rest, _ := strings.Cut(tag, ",")
		value, ok := values[name]
		if _, standard, _ := strings.Cut(rest, "default="); !ok || value != standard {
			t.Errorf("deploy.example.env gives %s as %q (there: %t), the default is %q", name, value, ok, standard)
		}
	}
	values["HIPPOFIRE_PROJECT"], values["DEPLOY_LOCATION"] = "my-project", "nam5"
	if _, err := newSettings(t.Context(), values); err != nil {
		t.Errorf("filled in, it is refused: %v", err)
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

func TestExampleRulesAreNotWrittenOverThoseThatAreReleased(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"firestore.rules", "merged/firestore.rules"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(ourRules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := settings(t, map[string]string{"DEPLOY_RULES": "merged/firestore.rules"})
	for _, dir := range []string{".", "merged/"} {
		err := writeFiles(s, dir)
		text, _ := os.ReadFile(filepath.Join(dir, "firestore.rules"))
		if err == nil || string(text) != ourRules {
			t.Errorf("--files %s: %v, and the rules are %q", dir, err, text)
		}
	}
	if err := writeFiles(s, "new/folder"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"firestore.rules": "An example to opt into", "firestore.indexes.json": "fieldOverrides"} {
		if text, err := os.ReadFile(filepath.Join("new/folder", file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
}

// rulesServer is the Firebase Rules API.
type rulesServer struct {
	*httptest.Server
	rulesets map[string]ruleset
	releases map[string]string
	writes   int
}

func newRulesServer(t *testing.T) *rulesServer {
	s := &rulesServer{rulesets: map[string]ruleset{}, releases: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *rulesServer) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Authorization") != "Bearer a-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var answer any
	switch {
	case r.Method == http.MethodGet && strings.Contains(name, "/releases/"):
		if s.releases[name] == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer = release{name, s.releases[name]}
	case r.Method == http.MethodGet:
		answer = s.rulesets[name]
	case strings.HasSuffix(name, "/rulesets"):
		var made ruleset
		json.Unmarshal(body, &made)
		made.Name = fmt.Sprintf("%s/%d", name, len(s.rulesets))
		s.rulesets[made.Name] = made
		s.writes++
		answer = made
	case strings.HasSuffix(name, "/releases"):
		var made release
		json.Unmarshal(body, &made)
		s.releases[made.Name] = made.Ruleset
		s.writes++
		answer = made
	case r.Method == http.MethodPatch:
		var in struct{ Release release }
		json.Unmarshal(body, &in)
		s.releases[name] = in.Release.Ruleset
		s.writes++
		answer = in.Release
	}
	json.NewEncoder(w).Encode(answer)
}

func TestRulesThatLetClientsInAreNotReplacedUnasked(t *testing.T) {
	ofTheTree, err := os.ReadFile("../../../firestore.rules")
	if err != nil {
		t.Fatal(err)
	}
	server := newRulesServer(t)
	api := rulesAPI{url: server.URL, project: "p", database: "agents", file: "firestore.rules", text: ourRules,
		token: func(context.Context) (string, error) { return "a-token", nil }}
	for _, c := range []struct {
		name, there string
		replace     bool
		changed     bool
		fails       bool
	}{
		{"none are there", "", false, true, false},
		{"the same", ourRules, false, false, false},
		{"those of this tree", string(ofTheTree), false, true, false},
		{"an example of ours, which lets clients in", firestoreconf.ExampleRules(hippo.DefaultLayout()), false, false, true},
		{"locked", "match /{d=**} {\n allow read, write:   if false;\n}", false, true, false},
		{"somebody's", "allow read: if request.auth != null;", false, false, true},
		{"somebody's, without a condition", "allow read;", false, false, true},
		{"somebody's, to be replaced", "allow read: if true;", true, true, false},
	} {
		if c.there != "" {
			var set ruleset
			set.Source.Files = []rulesFile{{"x", c.there}}
			server.rulesets["there"] = set
			server.releases["projects/p/releases/cloud.firestore/agents"] = "there"
		}
		api.replace = c.replace
		changed, err := api.release(t.Context())
		if changed != c.changed || (err != nil) != c.fails {
			t.Errorf("%s: changed %t, %v", c.name, changed, err)
		}
		released := server.rulesets[server.releases["projects/p/releases/cloud.firestore/agents"]]
		if want := map[bool]string{true: c.there, false: ourRules}[c.fails || !c.changed]; released.Source.Files[0].Content != want {
			t.Errorf("%s: released are %q, want %q", c.name, released.Source.Files[0].Content, want)
		}
	}
}
