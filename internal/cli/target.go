package cli

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/store/embedded"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// target says which store and functions a command works on: flags, then the
// environment, then the local stack that runs for this folder.
type target struct {
	Project   string `help:"Project of the Firestore database." env:"HIPPOFIRE_PROJECT,GOOGLE_CLOUD_PROJECT" placeholder:"ID"`
	Database  string `help:"Firestore database." env:"HIPPOFIRE_DATABASE" default:"(default)" placeholder:"ID"`
	Firestore string `help:"Firestore emulator to use in place of the service." env:"FIRESTORE_EMULATOR_HOST" placeholder:"HOST:PORT"`
	Pubsub    string `help:"Pub/Sub emulator to use in place of the service." env:"PUBSUB_EMULATOR_HOST" placeholder:"HOST:PORT"`
	Topic     string `help:"Topic of the repair messages." env:"HIPPOFIRE_REPAIR_TOPIC" placeholder:"NAME"`
	Functions string `help:"Address of the running functions." env:"HIPPOFIRE_FUNCTIONS_URL" placeholder:"URL"`
	Data      string `help:"Folder of an embedded store." env:"HIPPOFIRE_DATA" placeholder:"DIR"`

	// running says that the target is the local stack of this folder.
	running bool
}

// resolve fills in what neither flags nor the environment say.
func (t *target) resolve() error {
	if t.Project != "" || t.Data != "" {
		return nil
	}
	info, err := localstack.ReadInfo(".")
	if err != nil && t.Functions != "" {
		return nil
	}
	if err != nil {
		return hippo.Wrap(hippo.ErrorKindOf(err), err, "which store? name --project or --data, or run this where a local stack runs")
	}
	t.running = true
	t.Project, t.Database = info.Project, info.Database
	for _, f := range []struct {
		field *string
		value string
	}{{&t.Firestore, info.FirestoreHost}, {&t.Pubsub, info.PubSubHost}, {&t.Topic, info.Topic}, {&t.Functions, info.FunctionsURL}} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	if info.Store == localstack.Embedded {
		t.Data = info.DataDir
	}
	return nil
}

// where names the store of a resolved target.
func (t *target) where() string {
	switch {
	case t.Data != "":
		return "the embedded store in " + t.Data
	case t.Firestore != "":
		return "the project " + t.Project + " of the emulator at " + t.Firestore
	}
	return "the project " + t.Project + ", database " + t.Database
}

// config is the functions' configuration from the environment, for this target.
func (t *target) config(ctx context.Context) (functions.Config, hippo.Layout, error) {
	config, err := functions.ConfigFromEnv(ctx, envconfig.OsLookuper())
	if err != nil {
		return config, hippo.Layout{}, err
	}
	config.Project, config.Database = t.Project, t.Database
	layout, err := config.Layout()
	return config, layout, err
}

// access says what a command wants to do with the store.
type access int

const (
	reads access = iota
	writes
)

// opened is a store that a command works on.
type opened struct {
	hippo.Store
	config functions.Config
	layout hippo.Layout
	close  func() error
}

// open opens the target's store. An embedded store that a local stack has open
// can only be read.
func (t *target) open(ctx context.Context, want access) (*opened, error) {
	if err := t.resolve(); err != nil {
		return nil, err
	}
	config, layout, err := t.config(ctx)
	if err != nil {
		return nil, err
	}
	o := &opened{config: config, layout: layout}
	switch {
	case t.Data != "" && want == reads:
		store, err := embedded.OpenReadOnly(t.Data, layout)
		if err != nil {
			return nil, err
		}
		o.Store, o.close = store, store.Close
	case t.Data != "":
		store, err := embedded.Open(t.Data, layout, nil)
		if err != nil {
			return nil, err
		}
		o.Store, o.close = store, store.Close
	default:
		if err := t.reachable(ctx); err != nil {
			return nil, err
		}
		store, err := firestoredb.Open(ctx, firestoredb.Config{ProjectID: t.Project, DatabaseID: t.Database, EmulatorHost: t.Firestore}, layout)
		if err != nil {
			return nil, err
		}
		o.Store, o.close = store, store.Close
	}
	return o, nil
}

// reachable refuses an emulator that does not answer, before anything waits for
// it.
func (t *target) reachable(ctx context.Context) error {
	if t.Firestore == "" {
		return nil
	}
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", t.Firestore)
	if err != nil {
		return hippo.Errorf(hippo.Unavailable, "", "no Firestore emulator answers at %s: start one with \"hippofire local\"", t.Firestore)
	}
	return conn.Close()
}

// functionsURL is where the functions answer.
func (t *target) functionsURL() (string, error) {
	if err := t.resolve(); err != nil && t.Functions == "" {
		return "", err
	}
	if t.Functions == "" {
		return "", hippo.Errorf(hippo.Invalid, "--functions", "is missing: give the functions' address, or start them with \"hippofire local\"")
	}
	return t.Functions, nil
}

// quiet is the log of a command that prints what matters by itself.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// allTenants lists the tenants of a store.
func allTenants(ctx context.Context, store hippo.Store) ([]hippo.TenantID, error) {
	const page = 300
	var all []hippo.TenantID
	for from := (hippo.Cursor{}); ; {
		tenants, next, err := store.Tenants(ctx, from, page)
		all = append(all, tenants...)
		if err != nil || next.IsZero() {
			return all, err
		}
		from = next
	}
}
