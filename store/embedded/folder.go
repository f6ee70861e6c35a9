package embedded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hippofire/hippofire/hippo"
)

const (
	journalName = "journal.jsonl"
	lockName    = "lock"
)

// Open opens the store that is saved in a folder, and makes the folder where
// there is none. Only one process can have it open; a second one is refused with
// Conflict. Close it in the end.
func Open(dir string, layout hippo.Layout, options *Options) (*Store, error) {
	s, err := New(layout, options)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "make the folder of the store")
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	if s.journal, err = s.openJournal(filepath.Join(dir, journalName)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.journal.lock = lock
	return s, nil
}

// OpenReadOnly reads what a folder holds at this moment, also while another
// process writes to it. Every write to the store is Denied. A folder without a
// store is NotFound.
func OpenReadOnly(dir string, layout hippo.Layout) (*Store, error) {
	s, err := New(layout, nil)
	if err != nil {
		return nil, err
	}
	s.readOnly = true
	file, err := os.Open(filepath.Join(dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hippo.Errorf(hippo.NotFound, "", "no store is saved in %s", dir)
	} else if err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "open the journal")
	}
	if err := errors.Join(s.load(file), file.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

// openJournal loads a journal, compacts it, and opens it for appending.
func (s *Store) openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "open the journal")
	}
	if err := errors.Join(s.load(file), file.Close()); err != nil {
		return nil, err
	}
	j, err := s.compact(path)
	if err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "compact the journal")
	}
	return j, nil
}
