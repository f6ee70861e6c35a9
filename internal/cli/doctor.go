package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/internal/forget"
)

// maxRepairAge is how old the last repair of a tenant may be: a night, and some
// hours more.
const maxRepairAge = 36 * time.Hour

// probeWithin bounds the wait for the trigger.
const probeWithin = 30 * time.Second

// probeTenant is the tenant whose memory is written to see the trigger work.
const probeTenant = hippo.TenantID("hippofire-doctor-probe")

type doctorCmd struct {
	target
	Indexes string   `help:"The firestore.indexes.json that was deployed; the one in this folder unless given." placeholder:"FILE"`
	Tenant  []string `help:"Tenants to look at; all of them where none is named." placeholder:"ID"`
	Probe   bool     `help:"Also write a memory of a tenant of its own, wait until the trigger has indexed it, and delete it."`
	JSON    bool     `help:"Print JSON."`

	now func() time.Time
}

// diagnosis is one thing that was looked at.
type diagnosis struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
	// Fix is what to do where it is not well.
	Fix string `json:"fix,omitempty"`
}

// Run looks at everything that can be seen from here.
func (c *doctorCmd) Run(ctx context.Context, to console) error {
	if c.now == nil {
		c.now = time.Now
	}
	found := []diagnosis{version()}
	store, err := c.open(ctx, reads)
	found = append(found, said("settings and database", err, "opened", "set what is named, or start \"hippofire local\""))
	if err == nil {
		defer store.close()
		found = append(found, c.examine(ctx, store)...)
	}
	return c.print(to, found)
}

func (c *doctorCmd) print(to console, found []diagnosis) error {
	if c.JSON {
		if err := to.printJSON(found); err != nil {
			return err
		}
	}
	var failed error
	for _, d := range found {
		sign := "ok  "
		if !d.OK {
			sign, failed = "BAD ", errDifferent
		}
		if c.JSON {
			continue
		}
		to.say("%s %s: %s", sign, d.Check, d.Says)
		if !d.OK {
			to.say("     %s", d.Fix)
		}
	}
	return failed
}

// said is the diagnosis of something that may have failed.
func said(check string, err error, well, fix string) diagnosis {
	if err != nil {
		return diagnosis{Check: check, Says: err.Error(), Fix: fix}
	}
	return diagnosis{Check: check, OK: true, Says: well}
}

func version() diagnosis {
	v := builtAs()
	return diagnosis{Check: "version", OK: true, Says: fmt.Sprintf("%s, index format %d", v, hippo.IndexVersion)}
}

func (c *doctorCmd) examine(ctx context.Context, store *opened) []diagnosis {
	tenants, err := chosen(ctx, store, c.Tenant)
	found := []diagnosis{
		said("reachable", err, fmt.Sprintf("%d tenants", len(tenants)), "see that the database exists and that this account may read it (roles/datastore.viewer)"),
		said("contracts", store.config.CheckContracts(), cmp.Or(store.config.Contracts, "none configured"),
			"without the file every function answers 500; its path is one in the deployed source, or absolute"),
		c.topic(), c.indexes(store.layout),
	}
	for _, tenant := range tenants {
		found = append(found, c.repaired(ctx, store, tenant), indexed(ctx, store, tenant))
	}
	if c.Probe {
		found = append(found, c.probe(ctx))
	}
	return found
}

func (c *doctorCmd) topic() diagnosis {
	if c.Topic == "" && c.Data == "" {
		return diagnosis{Check: "repair topic", Says: "none is set, so that nothing is built before the nightly message",
			Fix: "set HIPPOFIRE_REPAIR_TOPIC to the topic that scripts/deploy made"}
	}
	return diagnosis{Check: "repair topic", OK: true, Says: c.Topic}
}

// indexes compares the file with what the layout needs. Which indexes the database
// has, only an administrator's call can tell; scripts/deploy makes it. The file of
// a clone is that of the default layout and says nothing about another.
func (c *doctorCmd) indexes(layout hippo.Layout) diagnosis {
	name := cmp.Or(c.Indexes, "firestore.indexes.json")
	d := diagnosis{Check: "indexes in " + name, Fix: "scripts/deploy makes the indexes of these settings; its --files writes the file"}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		d.OK, d.Says = true, "there is no such file here to look into"
		return d
	}
	var file firestoreconf.IndexFile
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		d.Says = err.Error()
		return d
	}
	lacks := file.Lacks(firestoreconf.Indexes(layout))
	d.OK, d.Says = len(lacks) == 0, "all that this layout needs"
	switch {
	case d.OK:
	case c.Indexes == "" && len(file.Lacks(firestoreconf.Indexes(hippo.DefaultLayout()))) == 0:
		d.OK, d.Says = true, "that is the default layout's; scripts/deploy --files writes one of these settings, for --indexes"
	default:
		d.Says = "missing: " + strings.Join(lacks, "; ")
	}
	return d
}

// repaired looks at the age of the last repair.
func (c *doctorCmd) repaired(ctx context.Context, store hippo.Store, tenant hippo.TenantID) diagnosis {
	d := diagnosis{Check: "last repair of " + string(tenant),
		Fix: "see that the nightly job is there and runs (gcloud scheduler jobs describe), and that Repair is deployed; \"hippofire nightly\" publishes its message now"}
	report, err := store.Report(ctx, tenant)
	switch age := c.now().Sub(report.FinishedAt.Time()); {
	case hippo.IsKind(err, hippo.NotFound):
		d.Says = "none yet"
	case err != nil:
		d.Says = err.Error()
	default:
		d.OK, d.Says = age <= maxRepairAge, age.Round(time.Minute).String()+" ago"
		if found := findingList(report.Findings); found != "" {
			d.Says += ", found " + found
		}
	}
	return d
}

// indexed looks at what meta says.
func indexed(ctx context.Context, store hippo.Store, tenant hippo.TenantID) diagnosis {
	d := diagnosis{Check: "index of " + string(tenant), Fix: "\"hippofire repair --tenant " + string(tenant) + "\" builds it now"}
	meta, err := store.Meta(ctx, tenant)
	switch {
	case err != nil:
		d.Says = err.Error()
	case meta.Current.IsZero():
		d.Says = "there is none"
	case meta.Current.Version > hippo.IndexVersion:
		d.Says, d.Fix = fmt.Sprintf("format %d is newer than this program's", meta.Current.Version), "deploy the newer program everywhere"
	case meta.Current.Version < hippo.IndexVersion:
		d.Says = fmt.Sprintf("format %d is older than this program's", meta.Current.Version)
	default:
		d.OK, d.Says = true, fmt.Sprintf("%d shards, built %s", meta.Current.Shards, meta.BuiltAt.Time().Format(time.RFC3339))
	}
	return d
}

// probe writes a memory behind the functions' back and waits for its entry. That is
// the only sign of the trigger that can be seen from everywhere.
func (c *doctorCmd) probe(ctx context.Context) diagnosis {
	store, err := c.open(ctx, writes)
	if err == nil {
		defer store.close()
		err = probe(ctx, store)
	}
	return said("trigger", err, "a memory that was written was indexed",
		"see that IndexHook is deployed with a trigger in the database's location and on the path "+c.memoryPath(ctx)+" (gcloud functions describe), and what its log says")
}

func (c *doctorCmd) memoryPath(ctx context.Context) string {
	_, layout, err := c.config(ctx)
	if err != nil {
		return "of memories"
	}
	return layout.Paths.Memory
}

func probe(ctx context.Context, store *opened) error {
	defer forget.Tenant(context.WithoutCancel(ctx), store, probeTenant)
	if _, err := forget.Tenant(ctx, store, probeTenant); err != nil {
		return err
	}
	gen := hippo.Generation{ID: hippo.NewGenerationID(), Shards: hippo.MinShards, Version: hippo.IndexVersion}
	meta, err := store.AnnounceGeneration(ctx, probeTenant, hippo.Meta{}, gen)
	if err != nil {
		return err
	}
	if _, err := store.PromoteGeneration(ctx, probeTenant, meta); err != nil {
		return err
	}
	id, err := store.layout.Naming.ID("probe")
	if err != nil {
		return err
	}
	if err := store.SaveMemory(ctx, probeTenant, hippo.Memory{ID: id, Name: "probe"}); err != nil {
		return err
	}
	if err := waitForEntry(ctx, store, gen, true); err != nil {
		return err
	}
	// The deletion is waited for too. Its event, coming after the index went, would
	// ask for another one.
	if err := store.DeleteMemory(ctx, probeTenant, id); err != nil {
		return err
	}
	return waitForEntry(ctx, store, gen, false)
}

// waitForEntry waits until the probe's index has an entry, or has none.
func waitForEntry(ctx context.Context, store *opened, gen hippo.Generation, want bool) error {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	for {
		index, err := store.ReadIndex(ctx, probeTenant)
		if err != nil {
			return err
		}
		has := slices.ContainsFunc(index.Of(gen), func(s *hippo.Shard) bool { return s != nil && len(s.Entries) > 0 })
		if has == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return hippo.Errorf(hippo.Unavailable, "", "a memory that was written or deleted did not show in the index within %s", probeWithin)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
