package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	if first.made != len(steps)-2 || first.was != 2 { // the database was there, and the indexes were built by the end
		t.Errorf("%d made and %d there, want %d and 2\n%s", first.made, first.was, len(steps)-2, &p.out)
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

func TestDeploymentEndsWhenItsIndexesAreBuilt(t *testing.T) {
	p := newProject(t)
	p.world.Building = 3
	_, err := p.deploy(settings(t, nil))
	p.must(err)
	if want := []time.Duration{askAgain, askAgain, askAgain}; !slices.Equal(p.paused, want) {
		t.Errorf("it waited %v, want %v", p.paused, want)
	}
	for _, c := range p.world.Composite {
		if c["state"] != "READY" {
			t.Errorf("it ended while an index was %s", c["state"])
		}
	}
	p.world.Composite[0]["state"] = "CREATING"
	p.world.Building = 1_000
	if _, err := p.deploy(settings(t, nil)); err == nil {
		t.Error("indexes that are never built end no deployment")
	}
	p.world.Composite[0]["state"] = "NEEDS_REPAIR"
	if _, err := p.deploy(settings(t, nil)); err == nil || !strings.Contains(err.Error(), "could not be built") {
		t.Errorf("an index that could not be built: %v", err)
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
