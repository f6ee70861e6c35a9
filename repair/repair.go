// Package repair compares the index with the store, mends what differs, and
// builds what is missing. It is driven by the messages of the repair topic; each
// step can be done again, so that a message may come twice, late or beside
// another.
package repair

import (
	"context"
	"log/slog"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// Reconciler makes entries equal to their memories.
type Reconciler interface {
	// Reconcile does so in every generation that meta names.
	Reconcile(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error
	// ReconcileInto does so in one generation; it is hippo.ErrShardMissing where
	// that has lost a shard.
	ReconcileInto(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, ids []hippo.MemoryID) error
}

// Options are what a Repairer can be told; zero values are the defaults.
type Options struct {
	// PageSize is how many memories are compared at a time; 5,000 by default.
	PageSize int
	// RunFor is how long one message may keep a Repairer busy before it leaves
	// the rest to another message; 4 minutes by default, which ends well within
	// the 9 that the platform gives an event function and the 10 of a push.
	RunFor time.Duration
	// Now is the clock by which RunFor is kept; the host's by default. It decides
	// nothing about the index.
	Now func() time.Time
	// Progress is told how many memories have been compared or filed so far.
	Progress func(memories int)
}

// Repairer carries out repair messages.
type Repairer struct {
	store      hippo.Store
	naming     hippo.Naming
	reconciler Reconciler
	publisher  repairmsg.Publisher
	log        *slog.Logger
	options    Options
}

// New makes a Repairer that publishes what it leaves for later.
func New(store hippo.Store, naming hippo.Naming, reconciler Reconciler, publisher repairmsg.Publisher, log *slog.Logger, options Options) *Repairer {
	if options.PageSize == 0 {
		options.PageSize = 5000
	}
	if options.RunFor == 0 {
		options.RunFor = 4 * time.Minute
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Progress == nil {
		options.Progress = func(int) {}
	}
	return &Repairer{store: store, naming: naming, reconciler: reconciler, publisher: publisher, log: log, options: options}
}

// run is one message being carried out.
type run struct {
	*Repairer
	message repairmsg.Message
	meter   hippo.Meter
	report  hippo.Report
	start   time.Time
}

// Handle carries out a message. Without a tenant it sends one message for each
// tenant. For a tenant it looks at the index and builds it where it is missing,
// incomplete, of an older format or due to grow; else, where the message asks for
// more than that, it compares the whole index with the store and mends what
// differs. What does not fit the time goes into a message of its own.
//
// Any error asks for the message to be delivered again.
func (r *Repairer) Handle(ctx context.Context, m repairmsg.Message) error {
	if m.Tenant == "" {
		return r.fanOut(ctx, m)
	}
	w := &run{Repairer: r, message: m, start: r.options.Now()}
	if m.Run != nil {
		w.report = *m.Run
	} else {
		w.report = hippo.Report{Tenant: m.Tenant, Version: hippo.IndexVersion, Cause: string(m.Cause)}
	}
	if w.report.Findings == nil {
		w.report.Findings = map[hippo.FindingType]int{}
	}
	return w.handle(hippo.WithMeter(ctx, &w.meter))
}

func (w *run) handle(ctx context.Context) error {
	index, err := w.store.ReadIndex(ctx, w.message.Tenant)
	if err != nil {
		return err
	}
	switch need := w.inspect(index); {
	case need == newerFormat:
		w.log.InfoContext(ctx, "index left alone: a newer version of this program writes it", "tenant", w.message.Tenant)
		return nil
	case need == build:
		return w.build(ctx, index)
	case w.wholeRepair():
		return w.repair(ctx, index)
	}
	return nil
}

// wholeRepair says whether the message asks for a comparison, and not only for
// an index that can be read.
func (w *run) wholeRepair() bool {
	switch w.message.Cause {
	case repairmsg.Nightly, repairmsg.Operator:
		return true
	case repairmsg.Continue:
		return w.message.Gen == ""
	}
	return false
}

// need is what an index was found to need.
type need int

const (
	nothing need = iota
	build
	newerFormat
)

// inspect decides what an index needs before it can be trusted to be whole.
func (w *run) inspect(index hippo.IndexRead) need {
	current, next := index.Meta.Current, index.Meta.Next
	switch {
	case current.Version > hippo.IndexVersion || next.Version > hippo.IndexVersion:
		return newerFormat
	case !next.IsZero() || current.IsZero() || current.Version < hippo.IndexVersion:
		return build
	case len(hippo.ShardFindings(current, index)) > 0:
		return build
	}
	return nothing
}

// finish saves the report of a tenant's repair and logs it.
func (w *run) finish(ctx context.Context) error {
	w.add()
	w.report.FinishedAt = hippo.MicrosOf(w.options.Now())
	if err := w.store.SaveReport(ctx, w.report); err != nil {
		return err
	}
	w.log.InfoContext(ctx, "repaired", "tenant", w.report.Tenant, "cause", w.report.Cause, "rebuilt", w.report.Rebuilt,
		"memories", w.report.Memories, "findings", w.report.Findings, "reads", w.report.Reads, "writes", w.report.Writes,
		"milliseconds", int64(w.report.Duration)/1000)
	return nil
}

// later leaves the rest of the tenant to another message.
func (w *run) later(ctx context.Context, gen hippo.GenerationID, after hippo.MemoryID) error {
	w.add()
	return w.publisher.Publish(ctx, repairmsg.Message{
		Tenant: w.message.Tenant, Cause: repairmsg.Continue, Gen: gen, After: string(after), Run: &w.report,
	})
}

// add puts what this run cost so far into the report.
func (w *run) add() {
	cost := w.meter.Total()
	w.report.Reads += cost.Documents
	w.report.Writes += cost.Writes
	w.report.Duration += hippo.Micros(w.options.Now().Sub(w.start).Microseconds())
}

func (w *run) outOfTime() bool { return w.options.Now().Sub(w.start) > w.options.RunFor }

// tenantsPage is how many tenants are listed at a time.
const tenantsPage = 300

// fanOut sends one message for each tenant.
func (r *Repairer) fanOut(ctx context.Context, m repairmsg.Message) error {
	start := r.options.Now()
	after := hippo.TenantID(m.After)
	for {
		tenants, err := r.store.Tenants(ctx, after, tenantsPage)
		if err != nil {
			return err
		}
		for _, tenant := range tenants {
			if err := r.publisher.Publish(ctx, repairmsg.Message{Tenant: tenant, Cause: repairmsg.Nightly}); err != nil {
				return hippo.Wrap(hippo.Unavailable, err, "sending a tenant's repair message")
			}
			after = tenant
		}
		if len(tenants) < tenantsPage {
			return nil
		}
		if r.options.Now().Sub(start) > r.options.RunFor {
			return r.publisher.Publish(ctx, repairmsg.Message{Cause: repairmsg.Continue, After: string(after)})
		}
	}
}
