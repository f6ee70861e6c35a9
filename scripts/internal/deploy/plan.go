package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/repairmsg"
)

// step is one thing that is made to be there. Ask tells whether it is; where
// there says no, do makes it, and mend, where given, does so for one that is there
// but not as it should be. A step without ask is always done. Where wait is set,
// nothing is made, and ask is repeated until there says yes.
type step struct {
	what  string
	ask   *command
	there func(answer []byte) (bool, error)
	do    []command
	mend  []command
	wait  bool
	// rules marks the step that releases security rules, which takes answers of
	// one call into the next.
	rules bool
}

var apis = []string{
	"artifactregistry.googleapis.com", "cloudbuild.googleapis.com", "cloudfunctions.googleapis.com", "cloudscheduler.googleapis.com",
	"eventarc.googleapis.com", "firebaserules.googleapis.com", "firestore.googleapis.com", "iam.googleapis.com",
	"logging.googleapis.com", "pubsub.googleapis.com", "run.googleapis.com",
}

// Accounts that are no function's. The trigger's calls the two functions of
// events, the scheduler's publishes the nightly message, the build's builds.
const (
	triggerAccount   = "trigger"
	schedulerAccount = "scheduler"
	buildAccount     = "build"
)

var buildRoles = []string{"roles/artifactregistry.writer", "roles/logging.logWriter", "roles/storage.objectViewer"}

// ackDeadline is how long the topic waits for the Repair function, which may run
// for 540 s. It is the longest there is.
const ackDeadline = 600

// plan lists what a deployment makes, in order. Source is the fingerprint of what
// is uploaded.
func plan(s Settings, source string) ([]step, error) {
	list, err := deployed()
	if err != nil {
		return nil, err
	}
	steps := []step{s.enableAPIs(), s.checkDatabase()}
	accounts := []string{triggerAccount, schedulerAccount, buildAccount}
	for _, t := range list {
		accounts = append(accounts, t.name)
	}
	for _, a := range accounts {
		steps = append(steps, s.account(a))
	}
	steps = append(steps, s.makeTopic())
	steps = append(steps, s.grants(list)...)
	steps = append(steps, s.indexes()...)
	for _, t := range list {
		steps = append(steps, s.function(t, source))
		steps = append(steps, s.invokers(t)...)
	}
	steps = append(steps, s.deadline(), s.job())
	if s.Rules != keepRules {
		steps = append(steps, step{what: "security rules from " + s.Rules, rules: true})
	}
	steps = append(steps, s.built())
	return steps, nil
}

func (s Settings) inProject() string { return "--project=" + s.project }

func (s Settings) enableAPIs() step {
	ask := gcloud("services list", "--enabled", s.inProject(), "--format=json")
	return step{what: "the APIs", ask: &ask, there: allEnabled,
		do: []command{gcloud("services enable", toAny(apis)...).with(s.inProject())}}
}

func allEnabled(answer []byte) (bool, error) {
	var services []struct {
		Config struct{ Name string }
	}
	err := json.Unmarshal(answer, &services)
	for _, api := range apis {
		if !slices.ContainsFunc(services, func(e struct{ Config struct{ Name string } }) bool { return e.Config.Name == api }) {
			return false, err
		}
	}
	return true, err
}

func toAny(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// checkDatabase demands that the database is there and where the settings say: a
// trigger of another location would never fire.
func (s Settings) checkDatabase() step {
	ask := gcloud("firestore databases describe", "--database="+s.database, s.inProject(), "--format=json")
	return step{what: "the database " + s.database + " in " + s.Location, ask: &ask, there: func(answer []byte) (bool, error) {
		var d struct{ LocationID, Type string }
		if err := json.Unmarshal(answer, &d); err != nil {
			return false, err
		}
		if d.LocationID != s.Location {
			return false, fmt.Errorf("the database lies in %s, and DEPLOY_LOCATION says %s", d.LocationID, s.Location)
		}
		if d.Type != "FIRESTORE_NATIVE" {
			return false, fmt.Errorf("the database is in %s mode, and triggers need native mode", d.Type)
		}
		return true, nil
	}}
}

func (s Settings) account(name string) step {
	ask := gcloud("iam service-accounts describe", s.email(name), s.inProject(), "--format=json")
	return step{what: "the account " + s.Prefix + "-" + name, ask: &ask, there: exists,
		do: []command{gcloud("iam service-accounts create", s.Prefix+"-"+name, s.inProject(), "--display-name=Hippofire: "+name)}}
}

// exists is enough for what has no properties that matter.
func exists([]byte) (bool, error) { return true, nil }

func (s Settings) makeTopic() step {
	ask := gcloud("pubsub topics describe", s.topic, s.inProject(), "--format=json")
	return step{what: "the topic " + s.topic, ask: &ask, there: exists,
		do: []command{gcloud("pubsub topics create", s.topic, s.inProject())}}
}

// indexes come before the functions: the first shard written without its exemption
// would be one that has to be rewritten.
func (s Settings) indexes() []step {
	var steps []step
	file := firestoreconf.Indexes(s.layout)
	for _, e := range file.Exempt {
		of := []any{e.Field, "--collection-group=" + e.Collection, "--database=" + s.database, s.inProject()}
		ask := gcloud("firestore indexes fields describe", of...).with("--format=json")
		steps = append(steps, step{what: "no index of " + e.Collection + "." + e.Field, ask: &ask, there: exempted,
			do: []command{gcloud("firestore indexes fields update", of...).with("--disable-indexes")}})
	}
	for _, c := range file.Composite {
		ask := s.listComposite()
		create := gcloud("firestore indexes composite create", "--collection-group="+c.Collection, "--query-scope="+strings.ToLower(c.Scope),
			"--database="+s.database, s.inProject(), "--async")
		for _, f := range c.Fields {
			create = create.with("--field-config=" + fieldConfig(f))
		}
		steps = append(steps, step{what: "the index of " + c.Collection + " (" + c.String() + ")", ask: &ask,
			there: func(answer []byte) (bool, error) { state, err := stateOf(answer, c); return state != "", err }, do: []command{create}})
	}
	return steps
}

func fieldConfig(f firestoreconf.Field) string {
	if f.Array != "" {
		return "field-path=" + f.Path + ",array-config=" + strings.ToLower(f.Array)
	}
	return "field-path=" + f.Path + ",order=" + strings.ToLower(f.Order)
}

// exempted says whether a field has a configuration of its own without indexes.
func exempted(answer []byte) (bool, error) {
	var f struct {
		IndexConfig struct {
			Indexes            []any
			UsesAncestorConfig bool
		}
	}
	err := json.Unmarshal(answer, &f)
	return err == nil && !f.IndexConfig.UsesAncestorConfig && len(f.IndexConfig.Indexes) == 0, err
}

// listComposite lists the composite indexes of the database.
func (s Settings) listComposite() command {
	return gcloud("firestore indexes composite list", "--database="+s.database, s.inProject(), "--format=json")
}

// built waits for the indexes that Firestore makes meanwhile: until one is ready, its
// query is refused.
func (s Settings) built() step {
	ask := s.listComposite()
	return step{what: "the composite indexes are built", ask: &ask, wait: true, there: func(answer []byte) (bool, error) {
		for _, c := range firestoreconf.Indexes(s.layout).Composite {
			switch state, err := stateOf(answer, c); {
			case err != nil:
				return false, err
			case state == "NEEDS_REPAIR":
				return false, fmt.Errorf("the index of %s (%s) could not be built: delete it, and deploy again", c.Collection, c)
			case state != "READY":
				return false, nil
			}
		}
		return true, nil
	}}
}

// stateOf is the state of a composite index; empty where there is none.
func stateOf(answer []byte, want firestoreconf.Composite) (string, error) {
	var list []struct {
		Name, QueryScope, State string
		Fields                  []struct{ FieldPath, Order, ArrayConfig string }
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return "", err
	}
	for _, x := range list {
		has := firestoreconf.Composite{Scope: x.QueryScope}
		if _, rest, ok := strings.Cut(x.Name, "/collectionGroups/"); ok {
			has.Collection, _, _ = strings.Cut(rest, "/")
		}
		for _, f := range x.Fields {
			if f.FieldPath != "__name__" {
				has.Fields = append(has.Fields, firestoreconf.Field{Path: f.FieldPath, Order: f.Order, Array: f.ArrayConfig})
			}
		}
		if has.Equal(want) {
			return x.State, nil
		}
	}
	return "", nil
}

// sourceLabel holds the fingerprint of what a function was deployed from and how.
const sourceLabel = "hippofire-deploy"

func (s Settings) function(t target, source string) step {
	name := s.Prefix + "-" + t.name
	do := gcloud("functions deploy", name, "--gen2", s.inProject(), "--region="+s.Region, "--runtime="+s.Runtime, "--source=.", "--entry-point="+t.entryPoint,
		"--run-service-account="+s.email(t.name), "--build-service-account=projects/"+s.project+"/serviceAccounts/"+s.email(buildAccount),
		"--set-env-vars="+pairs(s.env, slices.Sorted(maps.Keys(s.env))))
	do = do.with(t.size(s)...).with(s.trigger(t)...)
	print := fingerprint(source, do.String())
	ask := gcloud("functions describe", name, s.inProject(), "--region="+s.Region, "--format=json")
	return step{what: "the function " + name + " (" + t.entryPoint + ")", ask: &ask, there: func(answer []byte) (bool, error) {
		var f struct {
			State  string
			Labels map[string]string
		}
		err := json.Unmarshal(answer, &f)
		return f.State == "ACTIVE" && f.Labels[sourceLabel] == print, err
	}, do: []command{do.with("--update-labels=" + sourceLabel + "=" + print)}}
}

// trigger is what calls the function. The document trigger lies where the database
// does, also where that is several regions and the function runs in one of them.
// Without --retry a failed event would be dropped.
func (s Settings) trigger(t target) []any {
	account := "--trigger-service-account=" + s.email(triggerAccount)
	switch t.entryPoint {
	case "IndexHook":
		return []any{"--retry", account, "--trigger-location=" + s.Location,
			"--trigger-event-filters=type=google.cloud.firestore.document.v1.written,database=" + s.database,
			"--trigger-event-filters-path-pattern=document=" + firestoreconf.TriggerPattern(s.layout.Paths)}
	case "Repair":
		return []any{"--retry", account, "--trigger-topic=" + s.topic}
	}
	return []any{"--trigger-http", "--no-allow-unauthenticated"}
}

// deadline gives the Repair function's messages the time that it may take.
func (s Settings) deadline() step {
	trigger := gcloud("functions describe", s.Prefix+"-repair", s.inProject(), "--region="+s.Region, "--format=value(eventTrigger.trigger)")
	subscription := gcloud("eventarc triggers describe", trigger, "--format=value(transport.pubsub.subscription)")
	ask := gcloud("pubsub subscriptions describe", subscription, "--format=json")
	return step{what: fmt.Sprintf("%d s for each repair message", ackDeadline), ask: &ask, there: func(answer []byte) (bool, error) {
		var sub struct{ AckDeadlineSeconds int }
		err := json.Unmarshal(answer, &sub)
		return sub.AckDeadlineSeconds == ackDeadline, err
	}, do: []command{gcloud("pubsub subscriptions update", subscription, fmt.Sprintf("--ack-deadline=%d", ackDeadline))}}
}

// job publishes the nightly message. It calls Pub/Sub as the scheduler's own
// account: a job with a topic as its target would publish as an account that the
// whole project shares.
func (s Settings) job() step {
	name := s.Prefix + "-nightly"
	data := base64.StdEncoding.EncodeToString(repairmsg.Message{Cause: repairmsg.Nightly}.Encode())
	args := []any{name, s.inProject(), "--location=" + s.Region, "--schedule=" + s.Schedule, "--time-zone=" + s.TimeZone,
		"--uri=https://pubsub.googleapis.com/v1/projects/" + s.project + "/topics/" + s.topic + ":publish", "--http-method=post",
		`--message-body={"messages":[{"data":"` + data + `"}]}`,
		"--oauth-service-account-email=" + s.email(schedulerAccount)}
	print := fingerprint(fmt.Sprint(args...))
	args = append(args, "--description=Publishes the message of Hippofire's nightly repair ("+print+")")
	ask := gcloud("scheduler jobs describe", name, s.inProject(), "--location="+s.Region, "--format=json")
	return step{what: "the job " + name + " at " + s.Schedule + " " + s.TimeZone, ask: &ask, there: func(answer []byte) (bool, error) {
		var j struct{ Description, State string }
		err := json.Unmarshal(answer, &j)
		return strings.Contains(j.Description, "("+print+")"), err
	}, do: []command{gcloud("scheduler jobs create http", args...).with("--headers=Content-Type=application/json")},
		mend: []command{gcloud("scheduler jobs update http", args...).with("--update-headers=Content-Type=application/json")}}
}
