// Package functions wires the parts together behind the functions that are
// deployed: it reads the configuration, makes the clients, and turns requests
// and events into calls. It decides nothing else.
package functions

import (
	"errors"
	"log/slog"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/history"
	"github.com/hippofire/hippofire/indexhook"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	estimate "github.com/hippofire/hippofire/tokens"
	"github.com/hippofire/hippofire/turnreader"
)

// App is the functions of one process.
type App struct {
	config Config
	layout hippo.Layout
	store  hippo.Store
	log    *slog.Logger
	tokens *tokens

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
	Close     []func() error
}

// New makes an App. Its error is of kind Invalid.
func New(config Config, parts Parts) (*App, error) {
	layout, err := config.Layout()
	if err != nil {
		return nil, err
	}
	tokens, err := newTokens(config)
	if err != nil {
		return nil, err
	}
	if parts.Publisher == nil {
		parts.Publisher = repairmsg.Nobody{}
	}
	asker := repairmsg.NewAsker(parts.Publisher, nil)
	reconciler := reconcile.New(parts.Store, layout.Naming, asker)
	recordReconcile := reconciler.Reconcile
	if config.TestNoReconcile {
		recordReconcile = nil
	}
	index := turnreader.NewIndex(parts.Store, layout.Naming, asker, config.CacheBytes, parts.Log)
	return &App{
		config:   config,
		layout:   layout,
		store:    parts.Store,
		log:      parts.Log,
		tokens:   tokens,
		hook:     indexhook.New(layout, config.Database, logBatches(reconciler.Reconcile, parts.Log), parts.Log),
		index:    index,
		reader:   turnreader.New(parts.Store, layout, index, turnreader.Options{Window: config.Window, Tokens: estimate.FourChars}),
		writer:   episodewriter.New(parts.Store, layout.Naming, config.Trusted, recordReconcile, parts.Log),
		history:  history.New(parts.Store),
		repairer: repair.New(parts.Store, layout.Naming, reconciler, parts.Publisher, parts.Log, repair.Options{}),
		closers:  parts.Close,
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
