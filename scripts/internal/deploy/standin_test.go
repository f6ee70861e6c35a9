package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// standInEnv names the folder of a stand-in: where it is set, this test binary is
// gcloud.
const standInEnv = "DEPLOY_TEST_STANDIN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(standInEnv); dir != "" {
		os.Exit(standIn(dir, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// world is the project as the stand-in keeps it, and what it was asked.
type world struct {
	Calls  []string
	Failed map[string]bool
	// Refuse has, by the words of a command, what its first call is refused with.
	Refuse map[string]string
	// RefuseAlways refuses every call.
	RefuseAlways map[string]string

	Location  string
	Enabled   []string
	Accounts  map[string]bool
	Topics    map[string]bool
	Policies  map[string][]binding
	Exempt    map[string]bool
	Composite []map[string]any
	// Building is how often the composite indexes are still being built when asked.
	Building  int
	Functions map[string]map[string]string
	Jobs      map[string]string
	Deadline  int
}

type binding struct {
	Role      string            `json:"role"`
	Members   []string          `json:"members"`
	Condition map[string]string `json:"condition,omitempty"`
}

func newWorld() world {
	return world{
		Failed: map[string]bool{}, Refuse: map[string]string{}, RefuseAlways: map[string]string{}, Location: "europe-west1",
		Accounts: map[string]bool{}, Topics: map[string]bool{}, Policies: map[string][]binding{}, Exempt: map[string]bool{},
		Functions: map[string]map[string]string{}, Jobs: map[string]string{}, Deadline: 10,
	}
}

func loadWorld(dir string) (w world, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "world.json"))
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	return w, err
}

func (w world) save(dir string) error {
	text, err := json.Marshal(w)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "world.json"), text, 0o600)
	}
	return err
}

// standIn plays one call of gcloud as a process.
func standIn(dir string, args []string) int {
	w, err := loadWorld(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	answer, refusal := w.answer(args)
	if err := w.save(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	if refusal != "" {
		fmt.Fprintln(os.Stderr, refusal)
		return 1
	}
	fmt.Println(answer)
	return 0
}

// answer plays one call and returns what gcloud would print.
func (w *world) answer(args []string) (printed, refusal string) {
	w.Calls = append(w.Calls, strings.Join(args, " "))
	answer, refusal := w.play(args)
	if refusal != "" {
		return "", "ERROR: " + refusal
	}
	if s, ok := answer.(string); ok {
		return s, ""
	}
	out, err := json.Marshal(answer)
	return string(out), text(err)
}

// heads are the commands that the stand-in knows.
var heads = []string{
	"services list", "services enable", "firestore databases describe",
	"iam service-accounts describe", "iam service-accounts create", "iam service-accounts delete",
	"pubsub topics describe", "pubsub topics create", "pubsub topics delete", "pubsub topics get-iam-policy", "pubsub topics add-iam-policy-binding",
	"pubsub subscriptions describe", "pubsub subscriptions update", "eventarc triggers describe",
	"projects get-iam-policy", "projects add-iam-policy-binding", "projects remove-iam-policy-binding",
	"firestore indexes fields describe", "firestore indexes fields update", "firestore indexes composite list", "firestore indexes composite create",
	"functions describe", "functions deploy", "functions delete", "functions add-invoker-policy-binding", "run services get-iam-policy",
	"scheduler jobs describe", "scheduler jobs create http", "scheduler jobs update http", "scheduler jobs delete", "auth print-access-token",
}

// call is a call of gcloud taken apart.
type call struct {
	head, name string
	flags      map[string][]string
	names      []string
}

func parseCall(args []string) (c call) {
	line := strings.Join(args, " ")
	at := slices.IndexFunc(heads, func(h string) bool { return strings.HasPrefix(line+" ", h+" ") })
	if at < 0 {
		return c
	}
	c.head, c.flags = heads[at], map[string][]string{}
	for _, a := range args[strings.Count(c.head, " ")+1:] {
		if flag, value, _ := strings.Cut(a, "="); strings.HasPrefix(flag, "--") {
			c.flags[flag] = append(c.flags[flag], value)
		} else {
			c.names = append(c.names, a)
		}
	}
	if len(c.names) > 0 {
		c.name = c.names[0]
	}
	return c
}

func (c call) flag(name string) string { return strings.Join(c.flags[name], " ") }

const unknown = "NOT_FOUND: no such thing"

func (w *world) play(args []string) (answer any, refusal string) {
	c := parseCall(args)
	if c.head == "" {
		return nil, "the stand-in does not know this command"
	}
	once := c.head + " " + c.name
	if why := w.Refuse[c.head]; why != "" && !w.Failed[once] {
		w.Failed[once] = true
		return nil, why
	}
	if why := w.RefuseAlways[c.head]; why != "" {
		return nil, why
	}
	switch verb := c.head[strings.LastIndex(c.head, " ")+1:]; {
	case strings.HasPrefix(c.head, "services"):
		return w.services(c), ""
	case strings.HasPrefix(c.head, "firestore"):
		return w.firestore(c)
	case strings.HasSuffix(verb, "-iam-policy") || strings.HasSuffix(verb, "-binding"):
		return w.policy(c)
	case strings.HasPrefix(c.head, "iam"):
		return has(w.Accounts, c.name, verb, c.name+"@"+strings.TrimPrefix(c.flag("--project"), " ")+".iam.gserviceaccount.com")
	case strings.HasPrefix(c.head, "pubsub topics"):
		return has(w.Topics, c.name, verb, c.name)
	case strings.HasPrefix(c.head, "functions"):
		return w.functions(c)
	case strings.HasPrefix(c.head, "scheduler"):
		return w.scheduler(c)
	case c.head == "eventarc triggers describe":
		return "projects/p/subscriptions/of-repair", ""
	case c.head == "pubsub subscriptions describe":
		return map[string]int{"ackDeadlineSeconds": w.Deadline}, ""
	case c.head == "pubsub subscriptions update":
		_, err := fmt.Sscan(c.flag("--ack-deadline"), &w.Deadline)
		return nil, text(err)
	}
	return "a-token", "" // auth print-access-token
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// has plays describe, create and delete of what is only there or not; created is
// the name by which it is known afterwards.
func has(of map[string]bool, name, verb, created string) (any, string) {
	switch {
	case verb == "create":
		of[created] = true
	case !of[name]:
		return nil, unknown
	case verb == "delete":
		delete(of, name)
	}
	return map[string]string{"name": name}, ""
}

func (w *world) services(c call) any {
	if c.head == "services enable" {
		w.Enabled = append(w.Enabled, c.names...)
		return nil
	}
	var list []any
	for _, api := range w.Enabled {
		list = append(list, map[string]any{"config": map[string]string{"name": api}})
	}
	return list
}

func (w *world) firestore(c call) (any, string) {
	field := c.flag("--database") + " " + c.flag("--collection-group") + "." + c.name
	switch c.head {
	case "firestore databases describe":
		return map[string]string{"locationId": w.Location, "type": "FIRESTORE_NATIVE"}, ""
	case "firestore indexes fields describe":
		if w.Exempt[field] {
			return map[string]any{"indexConfig": map[string]any{}}, ""
		}
		return map[string]any{"indexConfig": map[string]any{"usesAncestorConfig": true, "indexes": []string{"x"}}}, ""
	case "firestore indexes fields update":
		w.Exempt[field] = true
	case "firestore indexes composite list":
		if w.Building > 0 && len(w.Composite) > 0 {
			w.Building--
			return w.Composite, ""
		}
		for _, c := range w.Composite {
			c["state"] = "READY"
		}
		return w.Composite, ""
	case "firestore indexes composite create":
		var fields []map[string]string
		for _, f := range c.flags["--field-config"] {
			m := map[string]string{}
			for _, pair := range strings.Split(f, ",") {
				name, value, _ := strings.Cut(pair, "=")
				switch name {
				case "field-path":
					m["fieldPath"] = value
				case "order":
					m["order"] = strings.ToUpper(value)
				case "array-config":
					m["arrayConfig"] = strings.ToUpper(value)
				}
			}
			fields = append(fields, m)
		}
		fields = append(fields, map[string]string{"fieldPath": "__name__", "order": "ASCENDING"})
		w.Composite = append(w.Composite, map[string]any{
			"name":       "projects/p/databases/d/collectionGroups/" + c.flag("--collection-group") + "/indexes/1",
			"queryScope": strings.ToUpper(c.flag("--query-scope")), "fields": fields, "state": "CREATING",
		})
	}
	return nil, ""
}

func (w *world) policy(c call) (any, string) {
	on := strings.Fields(c.head)[0] + "/" + c.name
	if on[:4] == "run/" {
		on = "functions/" + c.name
	}
	role := c.flag("--role")
	if c.head == "functions add-invoker-policy-binding" {
		role = "roles/run.invoker"
	}
	b := binding{Role: role, Members: []string{c.flag("--member")}}
	if _, expression, ok := strings.Cut(c.flag("--condition"), "expression="); ok {
		b.Condition = map[string]string{"expression": expression}
	}
	same := func(x binding) bool { return fmt.Sprint(x) == fmt.Sprint(b) }
	switch {
	case strings.HasSuffix(c.head, "get-iam-policy"):
		return map[string]any{"bindings": w.Policies[on]}, ""
	case strings.Contains(c.head, "remove"):
		w.Policies[on] = slices.DeleteFunc(w.Policies[on], same)
	default:
		if account, ok := strings.CutPrefix(b.Members[0], "serviceAccount:hippofire-"); ok && !w.Accounts["hippofire-"+account] {
			return nil, "INVALID_ARGUMENT: Service account " + account + " does not exist."
		}
		w.Policies[on] = append(w.Policies[on], b)
	}
	return nil, ""
}

func (w *world) functions(c call) (any, string) {
	switch {
	case c.head == "functions deploy":
		_, label, _ := strings.Cut(c.flag("--update-labels"), "=")
		w.Functions[c.name] = map[string]string{"label": label}
	case w.Functions[c.name] == nil:
		return nil, unknown
	case c.head == "functions delete":
		delete(w.Functions, c.name)
		delete(w.Policies, "functions/"+c.name)
	case strings.HasPrefix(c.flag("--format"), "value"):
		return "projects/p/locations/r/triggers/t", ""
	default:
		return map[string]any{"state": "ACTIVE", "labels": map[string]string{sourceLabel: w.Functions[c.name]["label"]}}, ""
	}
	return nil, ""
}

func (w *world) scheduler(c call) (any, string) {
	switch _, there := w.Jobs[c.name]; {
	case strings.Contains(c.head, "create"), strings.Contains(c.head, "update") && there:
		w.Jobs[c.name] = c.flag("--description")
	case !there:
		return nil, unknown
	case strings.Contains(c.head, "delete"):
		delete(w.Jobs, c.name)
	default:
		return map[string]string{"description": w.Jobs[c.name]}, ""
	}
	return nil, ""
}
