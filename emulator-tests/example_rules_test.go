package emulatortests

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/store/storetest"
)

func exampleRules(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile("../examples/rules/firestore.rules")
	if err != nil {
		t.Fatal(err)
	}
	return string(rules)
}

// now stands for the time of the request, which only the server knows.
const now = "REQUEST_TIME"

// write sends a commit that sets a document's fields; those that are now are set
// by the server. With only, it changes just these fields.
func (p rulesProject) write(by caller, path string, fields map[string]any, only ...string) (int, string) {
	p.Helper()
	document := map[string]any{}
	var transforms []any
	for name, v := range fields {
		switch v := v.(type) {
		case string:
			if v == now {
				transforms = append(transforms, map[string]any{"fieldPath": name, "setToServerValue": now})
				continue
			}
			document[name] = map[string]any{"stringValue": v}
		case time.Time:
			document[name] = map[string]any{"timestampValue": v.Format(time.RFC3339)}
		default:
			document[name] = map[string]any{"integerValue": fmt.Sprint(v)}
		}
	}
	w := map[string]any{"update": map[string]any{"name": "projects/" + p.id + "/databases/(default)/documents/" + path, "fields": document}}
	if len(transforms) > 0 {
		w["updateTransforms"] = transforms
	}
	if len(only) > 0 {
		w["updateMask"] = map[string]any{"fieldPaths": only}
	}
	return p.send(by, http.MethodPost, p.documents()+":commit", map[string]any{"writes": []any{w}})
}

func encoded(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

var (
	anonymous, own, otherTenant = clients[0], clients[1], clients[2]
	withoutTenant               = caller{"a client signed in without a tenant", "Bearer " + unsignedTokenOf(map[string]any{"sub": "somebody", "user_id": "somebody"})}
)

func memoryFields(name, content string) map[string]any {
	return map[string]any{"name": name, "content": content, "updated_at": now}
}

func TestASignedInUserEditsTheOwnTenantsMemories(t *testing.T) {
	p := newRulesProject(t, exampleRules(t))
	long := strings.Repeat("é", firestoreconf.MaxClientContentBytes/2)
	path := func(name string) string { return "tenants/acme/memories/" + encoded(name) }
	without := func(field string) map[string]any {
		f := memoryFields("pages/Without", "text")
		delete(f, field)
		return f
	}
	with := func(field string, v any) map[string]any {
		f := memoryFields("pages/With", "text")
		f[field] = v
		return f
	}
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		path   string
		fields map[string]any
		ok     bool
	}{
		"a memory":                {path("pages/A"), memoryFields("pages/A", "text"), true},
		"without a text":          {path("pages/Empty"), memoryFields("pages/Empty", ""), true},
		"a name to be quoted":     {path("pages/?>~ß"), memoryFields("pages/?>~ß", "text"), true},
		"the longest text":        {path("pages/Long"), memoryFields("pages/Long", long), true},
		"a longer text":           {path("pages/Longer"), memoryFields("pages/Longer", long+"x"), false},
		"a longer name":           {path(strings.Repeat("n", 301)), memoryFields(strings.Repeat("n", 301), "text"), false},
		"a name of two lines":     {path("a\nb"), memoryFields("a\nb", "text"), false},
		"no name":                 {path("pages/Without"), without("name"), false},
		"no text":                 {path("pages/Without"), without("content"), false},
		"no time":                 {path("pages/Without"), without("updated_at"), false},
		"a number for a name":     {path("pages/With"), with("name", 1), false},
		"a number for a text":     {path("pages/With"), with("content", 1), false},
		"a time of its own":       {path("pages/With"), with("updated_at", old), false},
		"a field more":            {path("pages/With"), with("tags", "x"), false},
		"the id of another name":  {path("pages/Other"), memoryFields("pages/A", "text"), false},
		"an id that is no name's": {"tenants/acme/memories/plain", memoryFields("plain", "text"), false},
		"another tenant's":        {"tenants/globex/memories/" + encoded("pages/A"), memoryFields("pages/A", "text"), false},
		"deeper down":             {path("pages/A") + "/more/x", memoryFields("pages/A", "text"), false},
	} {
		status, answer := p.write(own, c.path, c.fields)
		if (status == http.StatusOK) != c.ok || !c.ok && status != http.StatusForbidden {
			t.Errorf("creating %s was answered with %d: %.200s", name, status, answer)
		}
	}

	mustWrite := func(fields map[string]any) {
		t.Helper()
		if status, answer := p.write(admin, path("pages/Edited"), fields); status != http.StatusOK {
			t.Fatalf("%d: %s", status, answer)
		}
	}
	for name, c := range map[string]struct {
		fields map[string]any
		only   []string
		ok     bool
	}{
		"the text":                    {map[string]any{"content": "new", "updated_at": now}, []string{"content"}, true},
		"the text, with an old time":  {map[string]any{"content": "new", "updated_at": old}, []string{"content", "updated_at"}, false},
		"the text, without the time":  {map[string]any{"content": "new"}, []string{"content"}, false},
		"the text, too long":          {map[string]any{"content": long + "x", "updated_at": now}, []string{"content"}, false},
		"the text, to none":           {map[string]any{"updated_at": now}, []string{"content"}, false},
		"the name":                    {map[string]any{"name": "pages/B", "updated_at": now}, []string{"name"}, false},
		"what others keep in it":      {map[string]any{"by": "me", "updated_at": now}, []string{"by"}, false},
		"all, and what others keep":   {memoryFields("pages/Edited", "new"), nil, false},
		"the text beside what others": {map[string]any{"content": "newer", "updated_at": now}, []string{"content"}, true},
	} {
		mustWrite(map[string]any{"name": "pages/Edited", "content": "old", "updated_at": now, "by": "agent"})
		status, answer := p.write(own, path("pages/Edited"), c.fields, c.only...)
		if (status == http.StatusOK) != c.ok || !c.ok && status != http.StatusForbidden {
			t.Errorf("editing %s was answered with %d: %.200s", name, status, answer)
		}
	}
	for _, by := range []caller{anonymous, otherTenant, withoutTenant} {
		mustWrite(map[string]any{"name": "pages/Edited", "content": "old", "updated_at": now})
		if status, _ := p.write(by, path("pages/Edited"), map[string]any{"content": "new", "updated_at": now}, "content"); status != http.StatusForbidden {
			t.Errorf("an edit by %s was answered with %d", by.name, status)
		}
	}
	for _, op := range []string{"read", "list", "query", "delete"} {
		if status, answer := operation(t, op)(p, own, path("pages/Edited")); status != http.StatusOK {
			t.Errorf("%s by %s was answered with %d: %.200s", op, own.name, status, answer)
		}
	}
	wantAllEvaluated(p)
}

func operation(t *testing.T, name string) func(p rulesProject, by caller, path string) (int, string) {
	t.Helper()
	for _, op := range operations {
		if op.name == name {
			return op.do
		}
	}
	t.Fatalf("no operation %q", name)
	return nil
}

// wantAllEvaluated demands of the emulator's coverage report that every condition
// was once true and once false, the last rule's excepted, which is always false.
func wantAllEvaluated(p rulesProject) {
	p.Helper()
	for what, c := range p.coverage() {
		if what == "false" {
			continue
		}
		if c.yes == 0 || c.no == 0 {
			p.Errorf("%q was true %d times and false %d times", what, c.yes, c.no)
		}
	}
}

type evaluated struct{ yes, no int }

// coverage is how often each boolean expression of the rules was what, by its
// text.
func (p rulesProject) coverage() map[string]evaluated {
	p.Helper()
	status, answer := p.send(admin, http.MethodGet, p.base+"/emulator/v1/projects/"+p.id+":ruleCoverage", nil)
	if status != http.StatusOK {
		p.Fatalf("the coverage was answered with %d: %s", status, answer)
	}
	var report struct {
		Rules struct {
			Files []struct{ Content string }
		}
		Report []node
	}
	if err := json.Unmarshal([]byte(answer), &report); err != nil {
		p.Fatal(err)
	}
	found := map[string]evaluated{}
	for _, n := range report.Report {
		n.collect(report.Rules.Files[0].Content, found)
	}
	if len(found) == 0 {
		p.Fatalf("the coverage names no condition: %.500s", answer)
	}
	return found
}

// node is an expression in the coverage report.
type node struct {
	SourcePosition struct{ CurrentOffset, EndOffset int }
	Values         []struct {
		Value map[string]any
		Count int
	}
	Children []node
}

func (n node) collect(rules string, into map[string]evaluated) {
	text := rules[min(n.SourcePosition.CurrentOffset, len(rules)):min(n.SourcePosition.EndOffset, len(rules))]
	e := into[text]
	for _, v := range n.Values {
		switch v.Value["boolValue"] {
		case true:
			e.yes += v.Count
		case false:
			e.no += v.Count
		}
	}
	if e != (evaluated{}) {
		into[text] = e
	}
	for _, child := range n.Children {
		child.collect(rules, into)
	}
}

// letsIn lists what a client can do under rules that it must not be able to: all
// of it, but for the own tenant's memories where these are opened.
func (p rulesProject) letsIn(opened bool) []string {
	p.Helper()
	var in []string
	for kind, path := range documentPaths() {
		p.mustPut(path)
		for _, by := range append(slices.Clone(clients), withoutTenant) {
			for _, op := range operations {
				mayDo := opened && kind == "memory" && by == own && op.name != "query a group of collections"
				if mayDo {
					continue
				}
				if status, _ := op.do(p, by, path); status != http.StatusForbidden {
					in = append(in, fmt.Sprintf("%s: %s by %s: %d", kind, op.name, by.name, status))
				}
			}
		}
	}
	return in
}

func TestTheExampleOpensNothingElse(t *testing.T) {
	for _, in := range newRulesProject(t, exampleRules(t)).letsIn(true) {
		t.Error(in)
	}
}

// TestABroadAllowAnywhereIsNoticed adds one wherever a rule can stand.
func TestABroadAllowAnywhereIsNoticed(t *testing.T) {
	block := regexp.MustCompile(`(?m)^ *match .*\{$`)
	for name, rules := range map[string]string{"the default": ourRules(t), "the example": exampleRules(t)} {
		if extra := otherAllows(rules); len(extra) > 0 {
			t.Errorf("%s allows more than is known: %q", name, extra)
		}
		for _, at := range block.FindAllStringIndex(rules, -1) {
			where := strings.TrimSpace(rules[at[0]:at[1]])
			add := func(rule string) string { return rules[:at[1]] + "\n" + rule + rules[at[1]:] }
			if len(otherAllows(add("allow get: if true;"))) == 0 {
				t.Errorf("%s: a rule added in %q is taken for a known one", name, where)
			}
			if strings.Contains(where, "=**}") {
				continue // nothing can stand below it
			}
			for _, access := range []string{"read: if true", "write: if request.auth != null"} {
				spoiled := add("match /{anything=**} { allow " + access + "; }")
				if len(newRulesProject(t, spoiled).letsIn(name == "the example")) == 0 {
					t.Errorf("%s: %q for all below %q lets nobody in", name, access, where)
				}
			}
		}
	}
}

// otherAllows lists the rules of a text beside the known ones.
func otherAllows(rules string) []string {
	known := []string{
		"allow read, write: if false;",
		"allow read: if isMember(tenant);",
		"allow create: if isMember(tenant) && isNew(memory, request.resource.data);",
		"allow update: if isMember(tenant) && isEdit(resource.data, request.resource.data);",
		"allow delete: if isMember(tenant);",
	}
	var other []string
	for _, rule := range regexp.MustCompile(`allow[^;]*;`).FindAllString(rules, -1) {
		if !slices.Contains(known, rule) {
			other = append(other, rule)
		}
	}
	return other
}

// TestTheExampleOfAnotherLayoutIsTaken holds the generated rules of a store with
// other paths, fields and naming.
func TestTheExampleOfAnotherLayoutIsTaken(t *testing.T) {
	layout := storetest.OtherLayout()
	p := newRulesProject(t, firestoreconf.ExampleRules(layout))
	path := hippo.Fill(layout.Paths.Memory, "acme", "Plain Name")
	fields := map[string]any{"title": "Plain Name", "body": "text", "edited_at": now}
	if status, answer := p.write(own, path, fields); status != http.StatusOK {
		t.Errorf("creating was answered with %d: %.300s", status, answer)
	}
	wrong := maps.Clone(fields)
	wrong["title"] = "Another"
	if status, _ := p.write(own, path+"2", wrong); status != http.StatusForbidden {
		t.Errorf("a name that is not the id was answered with %d", status)
	}
	if status, _ := p.write(otherTenant, path+"3", fields); status != http.StatusForbidden {
		t.Errorf("another tenant's create was answered with %d", status)
	}
}
