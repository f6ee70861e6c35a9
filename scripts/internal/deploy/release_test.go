package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/firestoreconf"
)

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
