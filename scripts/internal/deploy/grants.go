package main

import (
	"encoding/json"
	"slices"
)

// grant lets a member do what a role says.
type grant struct {
	member, role string
	// condition, where given, is an expression that limits the role.
	condition string
}

// grants are what the accounts may do, and no more: the functions read or write
// this one database, some publish to the topic, the trigger's account receives
// events. Who calls a function is granted on the function.
func (s Settings) grants(list []target) []step {
	var steps []step
	for _, g := range s.projectGrants(list) {
		steps = append(steps, s.onProject(g))
	}
	for _, t := range list {
		if t.asks {
			steps = append(steps, s.onTopic(grant{s.memberOf(t.name), "roles/pubsub.publisher", ""}))
		}
	}
	return append(steps, s.onTopic(grant{s.memberOf(schedulerAccount), "roles/pubsub.publisher", ""}))
}

// projectGrants are those that stand in the project's policy.
func (s Settings) projectGrants(list []target) []grant {
	var grants []grant
	for _, t := range list {
		role := "roles/datastore.viewer"
		if t.writes {
			role = "roles/datastore.user"
		}
		grants = append(grants, grant{s.memberOf(t.name), role, `resource.name=="` + s.databaseName() + `"`})
	}
	grants = append(grants, grant{s.memberOf(triggerAccount), "roles/eventarc.eventReceiver", ""})
	for _, role := range buildRoles {
		grants = append(grants, grant{s.memberOf(buildAccount), role, ""})
	}
	return grants
}

func (s Settings) memberOf(account string) string { return "serviceAccount:" + s.email(account) }

// invokers lets the trigger's account call a function of events, and those whom
// the settings name one of HTTP.
func (s Settings) invokers(t target) []step {
	members := s.Invokers
	if t.triggered() {
		members = []string{s.memberOf(triggerAccount)}
	}
	name := s.Prefix + "-" + t.name
	var steps []step
	for _, m := range members {
		ask := gcloud("run services get-iam-policy", name, s.inProject(), "--region="+s.Region, "--format=json")
		steps = append(steps, step{what: m + " may call " + name, ask: &ask, there: grant{m, "roles/run.invoker", ""}.in,
			do: []command{gcloud("functions add-invoker-policy-binding", name, s.inProject(), "--region="+s.Region, "--member="+m)}})
	}
	return steps
}

func (s Settings) onProject(g grant) step {
	ask := gcloud("projects get-iam-policy", s.project, "--format=json")
	return step{what: g.String(), ask: &ask, there: g.in, do: []command{gcloud("projects add-iam-policy-binding", s.project).with(g.flags()...)}}
}

func (s Settings) onTopic(g grant) step {
	ask := gcloud("pubsub topics get-iam-policy", s.topic, s.inProject(), "--format=json")
	add := gcloud("pubsub topics add-iam-policy-binding", s.topic, s.inProject(), "--member="+g.member, "--role="+g.role)
	return step{what: g.String() + " on " + s.topic, ask: &ask, there: g.in, do: []command{add}}
}

func (g grant) flags() []any {
	condition := "--condition=None"
	if g.condition != "" {
		condition = "--condition=title=" + conditionTitle + ",expression=" + g.condition
	}
	return []any{"--member=" + g.member, "--role=" + g.role, condition}
}

const conditionTitle = "hippofire-database"

func (g grant) String() string { return g.role + " for " + g.member }

// in says whether a policy holds the grant.
func (g grant) in(answer []byte) (bool, error) {
	var policy struct {
		Bindings []struct {
			Role      string
			Members   []string
			Condition struct{ Expression string }
		}
	}
	err := json.Unmarshal(answer, &policy)
	for _, b := range policy.Bindings {
		if b.Role == g.role && b.Condition.Expression == g.condition && slices.Contains(b.Members, g.member) {
			return true, nil
		}
	}
	return false, err
}
