// Package repair compares the index with the store, mends what differs, and
// builds what is missing. It is driven by the messages of the repair topic; each
// step can be done again, so that a message may come twice, late or beside
// another.
package repair

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// Reconciler makes entries equal to their memories.
type Reconciler interface {
	// Reconcile does so in every generation that meta names.
	Reconcile(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error
	// ReconcileInto does so in one generation; it is hippo.ErrShardMissing where
	// that has lost a shard, and hippo.ErrShardFull where one has no room.
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
	// atLeast is how many shards the next generation needs, as one that was too
	// small has shown by the error full.
	atLeast int
	full    error
}

// maxLooks bounds how often one message looks at an index that changes under it.
const maxLooks = 6

// Handle carries out a message. Without a tenant it sends one message for each
// tenant. For a tenant it looks at the index and builds it where it is missing,
// incomplete, of an older format or due to grow; else, where the message asks for
// more than that, it compares the whole index with the store and mends what
// differs. What does not fit the time goes into a message of its own.
//
// An error asks for the message to be delivered again, but for two. Conflict: a
// newer version of this program writes the index, and this one leaves it alone.
// TooLarge: the ids are such that no index can be built of them.
func (r *Repairer) Handle(ctx context.Context, m repairmsg.Message) error {
	if m.Tenant == "" {
		return r.fanOut(ctx, m)
	}
	w := &run{Repairer: r, message: m, start: r.options.Now()}
	ctx = hippo.WithMeter(ctx, &w.meter)
	for range maxLooks {
		if again, err := w.look(ctx); err != nil || !again {
			return err
		}
	}
	return hippo.Errorf(hippo.Unavailable, "", "the index of %s changed %d times while it was looked at", m.Tenant, maxLooks)
}

// look reads the index and does what it needs. It is true where the index became
// another one meanwhile, so that somebody has to look again.
func (w *run) look(ctx context.Context) (again bool, err error) {
	w.report = w.begun()
	index, err := w.store.ReadIndex(ctx, w.message.Tenant)
	if err != nil {
		return false, err
	}
	if w.message.Run == nil {
		for _, f := range indexFindings(index) {
			w.report.Findings[f.Type]++
		}
	}
	switch need := w.inspect(index); {
	case need == newerFormat:
		return false, newer(w.message.Tenant)
	case need == build:
		return w.build(ctx, index)
	case w.wholeRepair():
		return w.repair(ctx, index)
	}
	return false, w.sweep(ctx, index)
}

// begun is the report as earlier messages of the run have left it.
func (w *run) begun() hippo.Report {
	report := hippo.Report{Tenant: w.message.Tenant, Version: hippo.IndexVersion, Cause: string(w.message.Cause)}
	if w.message.Run != nil {
		report = *w.message.Run
		report.Tenant = w.message.Tenant // whatever the message says it ran for
	}
	report.Findings = maps.Clone(report.Findings)
	if report.Findings == nil {
		report.Findings = map[hippo.FindingType]int{}
	}
	return report
}

// wholeRepair says whether the run was begun for a comparison, and not only for
// an index that can be read.
func (w *run) wholeRepair() bool {
	cause := repairmsg.Cause(w.report.Cause)
	return cause == repairmsg.Nightly || cause == repairmsg.Operator
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
	case missesShard(current, index) || dueToGrow(current, index):
		return build
	}
	return nothing
}

// sweep deletes the shards that meta does not name, where there were any.
func (w *run) sweep(ctx context.Context, index hippo.IndexRead) error {
	if !slices.ContainsFunc(index.Shards, func(s hippo.Shard) bool { return !index.Meta.Names(s.ID) }) {
		return nil
	}
	_, err := w.store.SweepIndex(ctx, w.message.Tenant)
	return err
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
		"milliseconds", w.report.Duration/1000)
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
	w.report.Duration += w.options.Now().Sub(w.start).Microseconds()
}

func (w *run) outOfTime() bool { return w.options.Now().Sub(w.start) > w.options.RunFor }
