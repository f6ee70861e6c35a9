package functions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tokens"
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
	TokenAudience string        `env:"HIPPOFIRE_TOKEN_AUDIENCE"`
	TokenIssuer   string        `env:"HIPPOFIRE_TOKEN_ISSUER"`
	TokenKeys     string        `env:"HIPPOFIRE_TOKEN_KEYS"`
	TokenClaim    string        `env:"HIPPOFIRE_TOKEN_CLAIM, default=tenant"`
	Tokenizer     string        `env:"HIPPOFIRE_TOKENIZER, default=chars4"`
	TurnDeadline  time.Duration `env:"HIPPOFIRE_TURN_DEADLINE, default=5s"`
	Contracts     string        `env:"HIPPOFIRE_CONTRACTS"`

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
	if _, err := newCallers(c); err != nil {
		return c, err
	}
	switch {
	case c.Window < 1 || c.Window > maxWindow:
		return c, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_WINDOW", "%d lies outside 1 to %d", c.Window, maxWindow)
	case c.CacheBytes < 0:
		return c, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_CACHE_BYTES", "%d is negative", c.CacheBytes)
	case c.TurnDeadline <= 0:
		return c, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_TURN_DEADLINE", "%s is no time to wait", c.TurnDeadline)
	}
	if _, err := c.counter(); err != nil {
		return c, err
	}
	return c, nil
}

// counter is the configured tokenizer.
func (c Config) counter() (tokens.Counter, error) {
	if c.Tokenizer == "" {
		return tokens.FourChars, nil
	}
	count, err := tokens.ByName(c.Tokenizer)
	return count, hippo.InField(err, "HIPPOFIRE_TOKENIZER")
}

// deployedDir is where the Go buildpack leaves the source that was deployed.
const deployedDir = "serverless_function_source_code"

// contracts reads the configured file of contracts, which can be a part of the
// deployed source. Its errors are of kind Invalid and name the variable.
func (c Config) contracts() (contract.Set, error) {
	if c.Contracts == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.Contracts)
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(c.Contracts) {
		text, err = os.ReadFile(filepath.Join(deployedDir, c.Contracts))
	}
	if err != nil {
		return nil, hippo.InField(hippo.Wrap(hippo.Invalid, err, "reading the contracts"), "HIPPOFIRE_CONTRACTS")
	}
	set, err := contract.ParseSet(text)
	return set, hippo.Under(err, "HIPPOFIRE_CONTRACTS")
}

// CheckContracts reads the configured file of contracts as a function does when it
// begins. Its errors are of kind Invalid and name the variable.
func (c Config) CheckContracts() error {
	_, err := c.contracts()
	return err
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
	var e *hippo.Error
	if !errors.As(err, &e) {
		return err
	}
	return hippo.InField(err, fmt.Sprintf(format, strings.ToUpper(e.Field)))
}
