package emulatortests

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
)

// rulesProject is a project of its own, in which security rules hold.
type rulesProject struct {
	*testing.T
	base string
	id   string
}

func newRulesProject(t *testing.T, rules string) rulesProject {
	t.Helper()
	p := rulesProject{t, "http://" + emulatortest.Firestore(t), "p-" + strings.ToLower(rand.Text())}
	body := map[string]any{"rules": map[string]any{"files": []any{map[string]any{"name": "security.rules", "content": rules}}}}
	if status, answer := p.send(admin, http.MethodPut, p.base+"/emulator/v1/projects/"+p.id+":securityRules", body); status != http.StatusOK {
		t.Fatalf("the rules were answered with %d: %s", status, answer)
	}
	return p
}

func ourRules(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile("../firestore.rules")
	if err != nil {
		t.Fatal(err)
	}
	return string(rules)
}

// caller is who sends a request, as the Authorization header tells it.
type caller struct{ name, authorization string }

var (
	admin   = caller{"the admin", "Bearer owner"}
	clients = []caller{
		{"an anonymous client", ""},
		{"a client signed in as the tenant", "Bearer " + unsignedToken("acme")},
		{"a client signed in as another tenant", "Bearer " + unsignedToken("globex")},
	}
)

// unsignedToken is a sign-in of a tenant's user.
func unsignedToken(user string) string {
	return unsignedTokenOf(map[string]any{
		"sub": user, "user_id": user, "tenant": user,
		"firebase": map[string]any{"sign_in_provider": "custom", "tenant": user},
	})
}

// unsignedTokenOf is a sign-in as the emulator takes it: a JWT without signature.
func unsignedTokenOf(claims map[string]any) string {
	part := func(v map[string]any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // a map of strings and numbers can always be written
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	claims["iat"], claims["exp"] = 0, 1<<40
	return part(map[string]any{"alg": "none", "typ": "JWT"}) + "." + part(claims) + "."
}

func (p rulesProject) send(by caller, method, url string, body any) (int, string) {
	p.Helper()
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			p.Fatal(err)
		}
		payload = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(p.Context(), method, url, payload)
	if err != nil {
		p.Fatal(err)
	}
	if by.authorization != "" {
		req.Header.Set("Authorization", by.authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// operations are what a client can do to a document that exists, and to the
// collection in which it lies.
var operations = []struct {
	name string
	do   func(p rulesProject, by caller, path string) (int, string)
}{
	{"read", func(p rulesProject, by caller, path string) (int, string) {
		return p.send(by, http.MethodGet, p.documents()+"/"+path, nil)
	}},
	{"list", func(p rulesProject, by caller, path string) (int, string) {
		collection, _ := parted(path)
		return p.send(by, http.MethodGet, p.documents()+"/"+collection, nil)
	}},
	{"query", func(p rulesProject, by caller, path string) (int, string) {
		collection, _ := parted(path)
		above, id := parted(collection)
		return p.query(by, strings.TrimSuffix(p.documents()+"/"+above, "/"), map[string]any{"collectionId": id})
	}},
	{"query a group of collections", func(p rulesProject, by caller, path string) (int, string) {
		collection, _ := parted(path)
		_, id := parted(collection)
		return p.query(by, p.documents(), map[string]any{"collectionId": id, "allDescendants": true})
	}},
	{"create", func(p rulesProject, by caller, path string) (int, string) {
		collection, _ := parted(path)
		return p.send(by, http.MethodPost, p.documents()+"/"+collection+"?documentId="+strings.ToLower(rand.Text()), someFields)
	}},
	{"update", func(p rulesProject, by caller, path string) (int, string) {
		return p.send(by, http.MethodPatch, p.documents()+"/"+path, someFields)
	}},
	{"delete", func(p rulesProject, by caller, path string) (int, string) {
		return p.send(by, http.MethodDelete, p.documents()+"/"+path, nil)
	}},
}

var someFields = map[string]any{"fields": map[string]any{"name": map[string]any{"stringValue": "x"}}}

func (p rulesProject) documents() string {
	return p.base + "/v1/projects/" + p.id + "/databases/(default)/documents"
}

func (p rulesProject) query(by caller, parent string, from map[string]any) (int, string) {
	p.Helper()
	return p.send(by, http.MethodPost, parent+":runQuery", map[string]any{"structuredQuery": map[string]any{"from": []any{from}}})
}

func parted(path string) (before, last string) {
	at := strings.LastIndex(path, "/")
	return path[:max(at, 0)], path[at+1:]
}

// documentPaths is a document of each kind that we store, the tenant and the
// thread themselves, and one that is none of ours.
func documentPaths() map[string]string {
	p := hippo.DefaultPaths()
	return map[string]string{
		"memory":     hippo.Fill(p.Memory, "acme", "bWVtb3J5"),
		"meta":       hippo.Fill(p.Index, "acme", "meta"),
		"shard":      hippo.Fill(p.Index, "acme", "k3v9q2m7xa-000"),
		"move":       hippo.Fill(p.Move, "acme", "bWVtb3J5"),
		"message":    hippo.Fill(p.Message, "acme", "main", "m1"),
		"episode":    hippo.Fill(p.Episode, "acme", "main", "2026-10-11T09:30:00.000000Z_m1"),
		"pass":       hippo.Fill(p.Pass, "acme", "main", "2026-10-11T09:30:00.000000Z_m1"),
		"report":     hippo.Fill(p.Report, "acme", "repair"),
		"tenant":     "tenants/acme",
		"below one":  hippo.Fill(p.Memory, "acme", "bWVtb3J5") + "/more/x",
		"thread":     "tenants/acme/threads/main",
		"none of us": "else/where",
	}
}

func TestClientsAreDeniedEverywhere(t *testing.T) {
	p := newRulesProject(t, ourRules(t))
	for kind, path := range documentPaths() {
		p.mustPut(path)
		for _, by := range clients {
			for _, op := range operations {
				if status, answer := op.do(p, by, path); status != http.StatusForbidden {
					t.Errorf("%s: %s by %s was answered with %d, want 403: %.200s", kind, op.name, by.name, status, answer)
				}
			}
		}
	}
}

func TestTheAdminIsNotDenied(t *testing.T) {
	p := newRulesProject(t, ourRules(t))
	for kind, path := range documentPaths() {
		p.mustPut(path)
		for _, op := range operations {
			if status, answer := op.do(p, admin, path); status != http.StatusOK {
				t.Errorf("%s: %s by the admin was answered with %d: %.200s", kind, op.name, status, answer)
			}
		}
	}
}

// TestOtherRulesWouldLetClientsIn shows that what the first test denies is denied
// by the rules: every operation of it succeeds where they allow it.
func TestOtherRulesWouldLetClientsIn(t *testing.T) {
	p := newRulesProject(t, strings.ReplaceAll(ourRules(t), "if false", "if true"))
	path := documentPaths()["memory"]
	for _, by := range clients {
		for _, op := range operations {
			p.mustPut(path)
			if status, answer := op.do(p, by, path); status != http.StatusOK {
				t.Errorf("%s by %s was answered with %d where it is allowed: %.200s", op.name, by.name, status, answer)
			}
		}
	}
}

func TestSignedInClientsAreKnownToTheRules(t *testing.T) {
	rule := "if request.auth != null && request.auth.uid == 'acme'"
	p := newRulesProject(t, strings.ReplaceAll(ourRules(t), "if false", rule))
	path := documentPaths()["memory"]
	p.mustPut(path)
	want := []int{http.StatusForbidden, http.StatusOK, http.StatusForbidden}
	for i, by := range clients {
		if status, answer := operations[0].do(p, by, path); status != want[i] {
			t.Errorf("read by %s was answered with %d, want %d: %.200s", by.name, status, want[i], answer)
		}
	}
}

func (p rulesProject) mustPut(path string) {
	p.Helper()
	if status, answer := p.send(admin, http.MethodPatch, p.documents()+"/"+path, someFields); status != http.StatusOK {
		p.Fatalf("put %s was answered with %d: %s", path, status, answer)
	}
}
