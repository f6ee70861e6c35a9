package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
)

// Settings are what deploy.example.env describes.
type Settings struct {
	// Location is where the database lies, Region where the functions run.
	Location string `env:"DEPLOY_LOCATION"`
	Region   string `env:"DEPLOY_REGION"`
	// Prefix begins the names of everything that is made.
	Prefix   string   `env:"DEPLOY_PREFIX, default=hippofire"`
	Runtime  string   `env:"DEPLOY_RUNTIME, default=go126"`
	Invokers []string `env:"DEPLOY_INVOKERS"`
	Schedule string   `env:"DEPLOY_SCHEDULE, default=17 3 * * *"`
	TimeZone string   `env:"DEPLOY_TIME_ZONE, default=Etc/UTC"`
	// Rules is the file that is released, or keep.
	Rules            string `env:"DEPLOY_RULES, default=firestore.rules"`
	HookConcurrency  int    `env:"DEPLOY_HOOK_CONCURRENCY, default=500"`
	HookMaxInstances int    `env:"DEPLOY_HOOK_MAX_INSTANCES, default=3"`
	MinInstances     int    `env:"DEPLOY_MIN_INSTANCES, default=0"`
	MaxInstances     int    `env:"DEPLOY_MAX_INSTANCES, default=20"`

	// What the functions read themselves.
	project, database, topic string
	contracts                string
	layout                   hippo.Layout
	env                      map[string]string
}

// keepRules leaves the rules that the database has.
const keepRules = "keep"

// regionOf is where functions run for a database in several regions, unless the
// settings say otherwise: in one that holds its data.
var regionOf = map[string]string{"nam5": "us-central1", "nam7": "us-central1", "eur3": "europe-west1"}

var (
	projectID  = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	databaseID = regexp.MustCompile(`^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$`)
	location   = regexp.MustCompile(`^[a-z]+[a-z0-9-]*[0-9]$`)
	// prefix leaves room for the longest name of an account, 30 characters.
	prefix    = regexp.MustCompile(`^[a-z][a-z0-9-]{2,12}$`)
	topicName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._~-]{2,254}$`)
	member    = regexp.MustCompile(`^(serviceAccount|user|group):[^\s,]+@[^\s,]+$`)
)

// readSettings reads a file of settings. Database, where given, takes the place of
// the file's.
func readSettings(ctx context.Context, file, database string) (Settings, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Settings{}, fmt.Errorf("no settings: copy deploy.example.env to %s and fill it in (%w)", file, err)
	}
	values, err := parseEnv(string(text))
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, err)
	}
	if database != "" {
		values["HIPPOFIRE_DATABASE"] = database
	}
	s, err := newSettings(ctx, values)
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// parseEnv reads lines of NAME=VALUE; the value may stand in quotes.
func parseEnv(text string) (map[string]string, error) {
	values := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d is not of the form NAME=VALUE", i+1)
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("line %d sets %s a second time", i+1, name)
		}
		values[name] = value
	}
	return values, nil
}

func newSettings(ctx context.Context, values map[string]string) (Settings, error) {
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	if err := known(values); err != nil {
		return Settings{}, err
	}
	lookup := envconfig.MapLookuper(values)
	config, err := functions.ConfigFromEnv(ctx, lookup)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{project: config.Project, database: config.Database, topic: config.RepairTopic, env: map[string]string{}}
	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: &s, Lookuper: lookup}); err != nil {
		return Settings{}, err
	}
	if s.layout, err = config.Layout(); err != nil {
		return Settings{}, err
	}
	if s.topic == "" {
		s.topic = s.Prefix + "-repair"
	}
	if s.Region == "" {
		if s.Region = regionOf[s.Location]; s.Region == "" {
			s.Region = s.Location
		}
	}
	for name, value := range values {
		if strings.HasPrefix(name, "HIPPOFIRE_") {
			s.env[name] = value
		}
	}
	if s.contracts = config.Contracts; !filepath.IsAbs(s.contracts) { // one that is absolute lies where the functions run
		if err := config.CheckContracts(); err != nil {
			return Settings{}, err
		}
	}
	s.env["HIPPOFIRE_PROJECT"], s.env["HIPPOFIRE_DATABASE"], s.env["HIPPOFIRE_REPAIR_TOPIC"] = s.project, s.database, s.topic
	return s, s.check()
}

// known refuses a name that nobody reads, which is most likely misspelt.
func known(values map[string]string) error {
	names := append(envNames[functions.Config](), envNames[Settings]()...)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) || strings.HasPrefix(name, "HIPPOFIRE_TEST_") {
			return fmt.Errorf("%s is no setting of a deployment", name)
		}
	}
	return nil
}

func (s Settings) check() error {
	for _, c := range []struct {
		name, value string
		form        *regexp.Regexp
	}{
		{"HIPPOFIRE_PROJECT", s.project, projectID}, {"HIPPOFIRE_DATABASE", s.database, databaseID},
		{"HIPPOFIRE_REPAIR_TOPIC", s.topic, topicName},
		{"DEPLOY_LOCATION", s.Location, location}, {"DEPLOY_REGION", s.Region, location}, {"DEPLOY_PREFIX", s.Prefix, prefix},
	} {
		if c.value == "" {
			return fmt.Errorf("%s is missing", c.name)
		}
		if !c.form.MatchString(c.value) {
			return fmt.Errorf("%s: %q does not have the form %s", c.name, c.value, c.form)
		}
	}
	if regionOf[s.Region] != "" {
		return fmt.Errorf("DEPLOY_REGION: %s is several regions, and a function runs in one, such as %s", s.Region, regionOf[s.Region])
	}
	for _, m := range s.Invokers {
		if !member.MatchString(m) && (m != "allUsers" || s.env["HIPPOFIRE_TOKEN_AUDIENCE"] == "") {
			return fmt.Errorf("DEPLOY_INVOKERS: %q is not of the form serviceAccount:EMAIL, user:EMAIL or group:EMAIL; allUsers needs HIPPOFIRE_TOKEN_AUDIENCE", m)
		}
	}
	for _, c := range []struct {
		name            string
		value, min, max int
	}{
		{"DEPLOY_HOOK_CONCURRENCY", s.HookConcurrency, 1, 1000}, {"DEPLOY_HOOK_MAX_INSTANCES", s.HookMaxInstances, 1, 100},
		{"DEPLOY_MIN_INSTANCES", s.MinInstances, 0, 100}, {"DEPLOY_MAX_INSTANCES", s.MaxInstances, max(1, s.MinInstances), 1000},
	} {
		if c.value < c.min || c.value > c.max {
			return fmt.Errorf("%s: %d lies outside %d to %d", c.name, c.value, c.min, c.max)
		}
	}
	return nil
}

// databaseName is the database's resource name.
func (s Settings) databaseName() string {
	return path.Join("projects", s.project, "databases", s.database)
}

// email is the address of one of the accounts.
func (s Settings) email(account string) string {
	return s.Prefix + "-" + account + "@" + s.project + ".iam.gserviceaccount.com"
}
