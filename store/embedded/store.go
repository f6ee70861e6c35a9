package embedded

import (
	"context"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// Options are what New and Open need not be told.
type Options struct {
	// Clock is the time; time.Now where it is nil. The store's own times never
	// stand still or run backwards, whatever the clock does.
	Clock func() time.Time
	// OnChange is told of every document that a commit really changed, in the
	// order of the commits, by one call at a time. It may itself use the store.
	// A write by one goroutine alone returns after its changes were reported;
	// of several at once, one reports for all.
	OnChange func(Change)
}

// Change is what a trigger on a document would be told.
type Change struct {
	// Path is the document's path relative to the database.
	Path            string
	Existed, Exists bool
	// UpdatedAt is the time of the commit.
	UpdatedAt time.Time
}

// Store is an embedded store. Make it with New, Open or OpenReadOnly.
type Store struct {
	layout   hippo.Layout
	clock    func() time.Time
	onChange func(Change)
	// rerun makes every transaction lose its first attempt. Tests set it.
	rerun bool

	mu          sync.Mutex
	collections map[string]*collection
	tenants     owners
	threads     owners
	last        time.Time
	journal     *journal // nil for a store in memory alone
	readOnly    bool
	closed      bool
	changes     []Change
	reporting   bool
}

var _ hippo.Store = (*Store)(nil)

// New makes an empty store in memory. Its error is of kind Invalid.
func New(layout hippo.Layout, options *Options) (*Store, error) {
	if err := layout.Check(); err != nil {
		return nil, err
	}
	if options == nil {
		options = &Options{}
	}
	s := &Store{
		layout:      layout,
		clock:       options.Clock,
		onChange:    options.OnChange,
		collections: map[string]*collection{},
		tenants:     newOwners(layout.Paths, "{tenant}"),
		threads:     newOwners(layout.Paths, "{thread}"),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	return s, nil
}

// Close ends the store's use: later calls are Unavailable. What was written to a
// folder is forced onto the disk, and the folder is free for another writer.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.journal.close()
}

// tick is the next moment of the store's clock, later than any it gave before.
func (s *Store) tick() time.Time {
	now := s.clock().UTC().Truncate(time.Microsecond)
	if !now.After(s.last) {
		now = s.last.Add(time.Microsecond)
	}
	s.last = now
	return now
}

// view runs a read of one snapshot.
func (s *Store) view(ctx context.Context, method string, read func(r *reader) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx, method); err != nil {
		return err
	}
	r := &reader{store: s}
	err := read(r)
	r.charge(ctx, method)
	return err
}

// transact runs a transaction: body reads and collects writes, which are
// committed together where it returns no error.
func (s *Store) transact(ctx context.Context, method string, body func(t *tx) error) error {
	err := s.commit(ctx, method, body)
	s.report()
	return err
}

func (s *Store) commit(ctx context.Context, method string, body func(t *tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx, method); err != nil {
		return err
	}
	if s.readOnly {
		return hippo.Errorf(hippo.Denied, "", "%s: the folder was opened for reading only", method)
	}
	if s.rerun {
		if err := body(newTx(s)); err != nil {
			return err
		}
	}
	t := newTx(s)
	err := body(t)
	t.charge(ctx, method)
	if err != nil {
		return err
	}
	if err := t.commit(); err != nil {
		return err
	}
	if n := len(t.writes); n > 0 {
		hippo.CountWrites(ctx, method, n)
	}
	return nil
}

func (s *Store) usable(ctx context.Context, method string) error {
	if err := ctx.Err(); err != nil {
		return hippo.Wrap(hippo.Unavailable, err, method)
	}
	if s.closed {
		return hippo.Errorf(hippo.Unavailable, "", "%s: the store is closed", method)
	}
	return nil
}

// report tells OnChange what is waiting, unless somebody does so already.
func (s *Store) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reporting {
		return
	}
	s.reporting = true
	for len(s.changes) > 0 {
		batch := s.changes
		s.changes = nil
		s.mu.Unlock()
		for _, c := range batch {
			s.onChange(c)
		}
		s.mu.Lock()
	}
	s.reporting = false
}
