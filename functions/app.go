// Package functions wires the parts together behind the functions that are
// deployed: it reads the configuration, makes the clients, and turns requests
// and events into calls. Beside that it decides what SaveTurn takes and how
// OpenMemory pages, which are a call of the store each.
package functions

import (
	"errors"
	"log/slog"
	"time"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/history"
	"github.com/hippofire/hippofire/indexhook"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

// App is the functions of one process.
type App struct {
	config  Config
	layout  hippo.Layout
	store   hippo.Store
	log     *slog.Logger
	callers *callers

	contracts contract.Set

	hook     *indexhook.Hook
	index    *turnreader.Index
	reader   *turnreader.Reader
	writer   *episodewriter.Writer
	history  *history.Reader
	repairer *repair.Repairer

	closers []func() error
}

// Parts are what an App stands on. Close, where given, is called by the App's.
type Parts struct {
	Store     hippo.Store
	Publisher repairmsg.Publisher
	Log       *slog.Logger
	// Now is the host's clock, which decides how long a run of the repair lasts
	// and how often one is asked for; nil is time.Now.
	Now   func() time.Time
	Close []func() error
}

// New makes an App. Its error is of kind Invalid.
func New(config Config, parts Parts) (*App, error) {
	layout, err := config.Layout()
	if err != nil {
		return nil, err
	}
	callers, err := newCallers(config)
	if err != nil {
		return nil, err
	}
	count, err := config.counter()
	if err != nil {
		return nil, err
	}
	contracts, err := config.contracts()
	if err != nil {
		return nil, err
	}
	if parts.Publisher == nil {
		parts.Publisher = repairmsg.Nobody{}
	}
	asker := repairmsg.NewAsker(parts.Publisher, parts.Now)
	reconciler := reconcile.New(parts.Store, layout.Naming, asker).LogTo(parts.Log)
	recordReconcile := reconciler.Reconcile
	if config.TestNoReconcile {
		recordReconcile = nil
	}
	index := turnreader.NewIndex(parts.Store, layout.Naming, asker, config.CacheBytes, parts.Log)
	return &App{
		config:    config,
		layout:    layout,
		store:     parts.Store,
		log:       parts.Log,
		callers:   callers,
		contracts: contracts,
		hook:      indexhook.New(layout, config.Database, logBatches(reconciler.Reconcile, parts.Log), parts.Log),
		index:     index,
		reader:    turnreader.New(parts.Store, layout, index, turnreader.Options{Window: config.Window, Tokens: count, Deadline: config.TurnDeadline}),
		writer:    episodewriter.New(parts.Store, layout.Naming, config.Trusted, recordReconcile, parts.Log),
		history:   history.New(parts.Store),
		repairer:  repair.New(parts.Store, layout.Naming, reconciler, parts.Publisher, parts.Log, repair.Options{Now: parts.Now}),
		closers:   parts.Close,
	}, nil
}

// Close ends what the App was given to close.
func (a *App) Close() error {
	var errs []error
	for _, c := range a.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
