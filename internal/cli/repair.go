package cli

import (
	"context"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/client"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
)

type checkCmd struct {
	target
	Tenant []string `help:"Tenants to check; all of them where none is named." placeholder:"ID"`
	Report bool     `help:"Print the report of each tenant's last repair instead."`
	JSON   bool     `help:"Print JSON."`
}

func (c *checkCmd) Run(ctx context.Context, to console) error {
	store, err := c.open(ctx, reads)
	if err != nil {
		return err
	}
	defer store.close()
	tenants, err := chosen(ctx, store, c.Tenant)
	if err != nil {
		return err
	}
	if c.Report {
		return c.reports(ctx, to, store, tenants)
	}
	checks := []repair.Check{}
	equal := true
	for _, tenant := range tenants {
		progress := newProgress(to.err, string(tenant))
		r := repairer(store, &queue{}, repair.Options{Progress: progress.at})
		check, err := r.Check(ctx, tenant)
		progress.end()
		if err != nil {
			return err
		}
		equal = equal && check.Equal
		checks = append(checks, check)
		if !c.JSON {
			printCheck(to, check)
		}
	}
	if c.JSON {
		if err := to.printJSON(checks); err != nil {
			return err
		}
	}
	if !equal {
		return errDifferent
	}
	return nil
}

func printCheck(to console, c repair.Check) {
	verdict := "equal"
	if !c.Equal {
		verdict = "DIFFERENT"
	}
	if found := findingList(c.Counts); found != "" {
		verdict += ": " + found
	}
	to.say("%s  %d memories  %s", c.Tenant, c.Memories, verdict)
}

func (c *checkCmd) reports(ctx context.Context, to console, store hippo.Store, tenants []hippo.TenantID) error {
	reports := []hippo.Report{}
	for _, tenant := range tenants {
		report, err := store.Report(ctx, tenant)
		if hippo.IsKind(err, hippo.NotFound) {
			if !c.JSON {
				to.say("%s  never repaired", tenant)
			}
			continue
		}
		if err != nil {
			return err
		}
		reports = append(reports, report)
		if !c.JSON {
			printReport(to, report)
		}
	}
	if c.JSON {
		return to.printJSON(reports)
	}
	return nil
}

func printReport(to console, r hippo.Report) {
	did := "repaired"
	if r.Rebuilt {
		did = "built"
	}
	found := findingList(r.Findings)
	if found == "" {
		found = "nothing wrong"
	}
	took := time.Duration(r.Duration) * time.Microsecond
	to.say("%s  %s at %s (%s)  %d memories  %s  %d reads, %d writes, %s", r.Tenant, did, r.FinishedAt.Time().Format(time.RFC3339), r.Cause, r.Memories, found, r.Reads, r.Writes, took.Round(time.Millisecond))
}

type repairCmd struct {
	target
	Tenant []string `help:"Tenants to repair; all of them where none is named." placeholder:"ID"`
	JSON   bool     `help:"Print JSON."`
}

// Run repairs here, or, where a local stack has the embedded store open, lets its
// Repair function do it.
func (c *repairCmd) Run(ctx context.Context, to console) error {
	if err := c.resolve(); err != nil {
		return err
	}
	if c.running && c.Data != "" {
		return c.repairThere(ctx, to)
	}
	store, err := c.open(ctx, writes)
	if err != nil {
		return err
	}
	defer store.close()
	return c.each(ctx, to, store, func(tenant hippo.TenantID) error {
		progress := newProgress(to.err, string(tenant))
		defer progress.end()
		q := &queue{}
		r := repairer(store, q, repair.Options{Progress: progress.at})
		q.messages = append(q.messages, repairmsg.Message{Tenant: tenant, Cause: repairmsg.Operator})
		return q.drain(ctx, r)
	})
}

func (c *repairCmd) repairThere(ctx context.Context, to console) error {
	store, err := c.open(ctx, reads)
	if err != nil {
		return err
	}
	defer store.close()
	there := client.New(c.Functions)
	return c.each(ctx, to, store, func(tenant hippo.TenantID) error {
		return there.Push(ctx, repairmsg.Message{Tenant: tenant, Cause: repairmsg.Operator})
	})
}

// each repairs tenants and prints the reports that were left.
func (c *repairCmd) each(ctx context.Context, to console, store *opened, do func(hippo.TenantID) error) error {
	tenants, err := chosen(ctx, store, c.Tenant)
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		if err := do(tenant); err != nil {
			return err
		}
	}
	if c.running && c.Data != "" { // what was read before does not show what was done there
		fresh, err := c.open(ctx, reads)
		if err != nil {
			return err
		}
		defer fresh.close()
		store = fresh
	}
	return (&checkCmd{JSON: c.JSON}).reports(ctx, to, store, tenants)
}

func repairer(store *opened, publisher repairmsg.Publisher, options repair.Options) *repair.Repairer {
	asker := repairmsg.NewAsker(publisher, nil)
	return repair.New(store, store.layout.Naming, reconcile.New(store, store.layout.Naming, asker), publisher, quiet(), options)
}

// queue is a topic whose messages are carried out by whoever drains it.
type queue struct {
	messages []repairmsg.Message
}

func (q *queue) Publish(_ context.Context, m repairmsg.Message) error {
	q.messages = append(q.messages, m)
	return nil
}

// maxMessages bounds a drain; a repair of a million memories leaves far fewer.
const maxMessages = 100_000

func (q *queue) drain(ctx context.Context, r *repair.Repairer) error {
	for range maxMessages {
		if len(q.messages) == 0 {
			return nil
		}
		m := q.messages[0]
		q.messages = q.messages[1:]
		if err := r.Handle(ctx, m); err != nil {
			return err
		}
	}
	return hippo.Errorf(hippo.Internal, "", "the repair did not end after %d messages", maxMessages)
}

type nightlyCmd struct {
	target
}

// Run publishes the scheduler's message, or hands it to the local Repair function
// where there is no topic.
func (c *nightlyCmd) Run(ctx context.Context, to console) error {
	if err := c.resolve(); err != nil {
		return err
	}
	message := repairmsg.Message{Cause: repairmsg.Nightly}
	if c.Topic == "" && c.Functions != "" {
		if err := client.New(c.Functions).Push(ctx, message); err != nil {
			return err
		}
		to.say("Repair has the nightly message, and sends one for each tenant.")
		return nil
	}
	if c.Topic == "" {
		return hippo.Errorf(hippo.Invalid, "--topic", "is missing")
	}
	id, err := publish(ctx, c.target, message)
	if err != nil {
		return err
	}
	to.say("Published to %s as %s.", c.Topic, id)
	return nil
}

func publish(ctx context.Context, t target, message repairmsg.Message) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	var options []option.ClientOption
	if t.Pubsub != "" {
		options = append(options, option.WithEndpoint(t.Pubsub), option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	}
	topics, err := pubsub.NewClient(ctx, t.Project, options...)
	if err != nil {
		return "", hippo.Wrap(hippo.Unavailable, err, "connecting to Pub/Sub")
	}
	defer topics.Close()
	id, err := topics.Publisher(t.Topic).Publish(ctx, &pubsub.Message{Data: message.Encode()}).Get(ctx)
	if err != nil {
		return "", hippo.Wrap(hippo.Unavailable, err, "publishing to "+t.Topic)
	}
	return id, nil
}
