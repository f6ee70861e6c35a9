package main

// removal lists what undeploy removes: everything that a deployment makes but what
// belongs to the data. The database, its indexes and its rules stay.
func removal(s Settings) []step {
	steps := []step{s.removing(s.job(), gcloud("scheduler jobs delete", s.Prefix+"-nightly", s.inProject(), "--location="+s.Region))}
	accounts := []string{triggerAccount, schedulerAccount, buildAccount}
	for _, t := range targets {
		f := s.function(t, "")
		steps = append(steps, s.removing(f, gcloud("functions delete", s.Prefix+"-"+t.name, s.inProject(), "--region="+s.Region)))
		accounts = append(accounts, t.name)
	}
	steps = append(steps, s.removing(s.makeTopic(), gcloud("pubsub topics delete", s.topic, s.inProject())))
	for _, g := range s.projectGrants(targets) {
		grant := s.onProject(g)
		grant.do = []command{gcloud("projects remove-iam-policy-binding", s.project).with(g.flags()...)}
		steps = append(steps, grant)
	}
	for _, a := range accounts {
		steps = append(steps, s.removing(s.account(a), gcloud("iam service-accounts delete", s.email(a), s.inProject())))
	}
	return steps
}

// removing turns a step into its opposite; whether the thing is as it should be
// does not matter then.
func (s Settings) removing(made step, do command) step {
	made.there, made.do, made.mend = exists, []command{do}, nil
	return made
}
