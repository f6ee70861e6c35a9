package functions

import (
	"context"
	"fmt"
	"strings"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/hippo"
)

// Config is what the environment can set. docs/configuration.md describes each
// variable.
type Config struct {
	Project     string `env:"HIPPOFIRE_PROJECT"`
	Database    string `env:"HIPPOFIRE_DATABASE, default=(default)"`
	RepairTopic string `env:"HIPPOFIRE_REPAIR_TOPIC"`

	Naming      string `env:"HIPPOFIRE_NAMING, default=base64url"`
	MemoryPath  string `env:"HIPPOFIRE_MEMORY_PATH"`
	IndexPath   string `env:"HIPPOFIRE_INDEX_PATH"`
	MovePath    string `env:"HIPPOFIRE_MOVE_PATH"`
	MessagePath string `env:"HIPPOFIRE_MESSAGE_PATH"`
	EpisodePath string `env:"HIPPOFIRE_EPISODE_PATH"`
	PassPath    string `env:"HIPPOFIRE_PASS_PATH"`
	ReportPath  string `env:"HIPPOFIRE_REPORT_PATH"`

	MemoryNameField       string `env:"HIPPOFIRE_MEMORY_NAME_FIELD"`
	MemoryContentField    string `env:"HIPPOFIRE_MEMORY_CONTENT_FIELD"`
	MemoryUpdatedAtField  string `env:"HIPPOFIRE_MEMORY_UPDATED_AT_FIELD"`
	MessageRoleField      string `env:"HIPPOFIRE_MESSAGE_ROLE_FIELD"`
	MessageContentField   string `env:"HIPPOFIRE_MESSAGE_CONTENT_FIELD"`
	MessageCreatedAtField string `env:"HIPPOFIRE_MESSAGE_CREATED_AT_FIELD"`

	Window     int      `env:"HIPPOFIRE_WINDOW, default=30"`
	Trusted    []string `env:"HIPPOFIRE_TRUSTED_SPEAKERS, default=user,assistant"`
	CacheBytes int64    `env:"HIPPOFIRE_CACHE_BYTES, default=67108864"`

	// With an audience, callers of the HTTP functions show a token that is for it.
	TokenAudience string `env:"HIPPOFIRE_TOKEN_AUDIENCE"`
	TokenIssuer   string `env:"HIPPOFIRE_TOKEN_ISSUER"`
	TokenKeys     string `env:"HIPPOFIRE_TOKEN_KEYS"`
	TokenClaim    string `env:"HIPPOFIRE_TOKEN_CLAIM, default=tenant"`

	// TestNoReconcile leaves the index to the document trigger alone. It is for
	// tests that want to see the trigger work.
	TestNoReconcile bool `env:"HIPPOFIRE_TEST_NO_RECONCILE"`
}

// maxWindow bounds the window: a turn reads all of it.
const maxWindow = 500

// ConfigFromEnv reads the configuration. Its errors are of kind Invalid and name
// the variable.
func ConfigFromEnv(ctx context.Context, lookup envconfig.Lookuper) (Config, error) {
	var c Config
	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: &c, Lookuper: lookup}); err != nil {
		return c, hippo.Wrap(hippo.Invalid, err, "the environment cannot be read")
	}
	if c.Project == "" {
		c.Project, _ = lookup.Lookup("GOOGLE_CLOUD_PROJECT")
	}
	if _, err := c.Layout(); err != nil {
		return c, err
	}
	if _, err := newTokens(c); err != nil {
		return c, err
	}
	switch {
	case c.Window < 1 || c.Window > maxWindow:
		return c, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_WINDOW", "%d lies outside 1 to %d", c.Window, maxWindow)
	case c.CacheBytes < 0:
		return c, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_CACHE_BYTES", "%d is negative", c.CacheBytes)
	}
	return c, nil
}

// Layout is the layout that the configuration describes. Its errors are of kind
// Invalid and name the variable.
func (c Config) Layout() (hippo.Layout, error) {
	layout := hippo.DefaultLayout()
	paths, fields := &layout.Paths, &layout.Fields
	for _, setting := range []struct {
		of  *string
		set string
	}{
		{&paths.Memory, c.MemoryPath},
		{&paths.Index, c.IndexPath},
		{&paths.Move, c.MovePath},
		{&paths.Message, c.MessagePath},
		{&paths.Episode, c.EpisodePath},
		{&paths.Pass, c.PassPath},
		{&paths.Report, c.ReportPath},
		{&fields.MemoryName, c.MemoryNameField},
		{&fields.MemoryContent, c.MemoryContentField},
		{&fields.MemoryUpdatedAt, c.MemoryUpdatedAtField},
		{&fields.MessageRole, c.MessageRoleField},
		{&fields.MessageContent, c.MessageContentField},
		{&fields.MessageCreatedAt, c.MessageCreatedAtField},
	} {
		if setting.set != "" {
			*setting.of = setting.set
		}
	}
	if err := paths.Check(); err != nil {
		return layout, variable(err, "HIPPOFIRE_%s_PATH")
	}
	if err := fields.Check(); err != nil {
		return layout, variable(err, "HIPPOFIRE_%s_FIELD")
	}
	naming, err := hippo.ParseNaming(c.Naming)
	layout.Naming = naming
	return layout, hippo.InField(err, "HIPPOFIRE_NAMING")
}

// variable says which variable a template's error is about.
func variable(err error, format string) error {
	field, _, _ := strings.Cut(err.Error(), ":")
	return hippo.InField(err, fmt.Sprintf(format, strings.ToUpper(field)))
}
