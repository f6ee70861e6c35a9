package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// journal is the file that a store's commits are appended to. A nil journal
// belongs to a store that is not saved.
type journal struct {
	file *os.File
	lock *os.File
	// end is where the last whole line ends.
	end int64
	// broken says that what lies behind end could not be cut off.
	broken error
}

// append saves a commit. Where that fails, nothing of it is left in the file.
func (j *journal) append(at time.Time, effects []effect) error {
	if j == nil {
		return nil
	}
	if j.broken != nil {
		return j.broken
	}
	r := record{At: hippo.MicrosOf(at)}
	for _, e := range effects {
		r.Ops = append(r.Ops, opOf(e))
	}
	text, err := line(r)
	if err != nil {
		return err
	}
	if _, err := j.file.WriteAt(text, j.end); err != nil {
		j.broken = j.cut()
		return err
	}
	j.end += int64(len(text))
	return nil
}

// cut takes off what lies behind the last whole line.
func (j *journal) cut() error { return j.file.Truncate(j.end) }

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return errors.Join(j.file.Sync(), j.file.Close(), j.lock.Close())
}

// load replays a journal. A last line that is torn is left out: its commit was
// never acknowledged.
func (s *Store) load(file *os.File) error {
	lines := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return hippo.Wrap(hippo.Unavailable, err, "read "+file.Name())
		}
		r, err := parseLine(text)
		if err != nil {
			if _, more := lines.Peek(1); errors.Is(more, io.EOF) {
				return nil
			}
		} else {
			err = s.replay(r)
		}
		if err != nil {
			return hippo.Wrap(hippo.Invalid, err, fmt.Sprintf("%s, line %d is no line of a journal", file.Name(), n))
		}
	}
}

// compact writes a journal with one line for each document and puts it in place
// of the one at path.
func (s *Store) compact(path string) (*journal, error) {
	file, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file}
	if j.end, err = s.snapshot(file); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// snapshot writes a line for each document and tells how many bytes that took.
func (s *Store) snapshot(file *os.File) (int64, error) {
	out := bufio.NewWriterSize(file, 1<<20)
	var end int64
	for _, name := range slices.Sorted(maps.Keys(s.collections)) {
		c := s.collections[name]
		for x := range c.byID.from(item{}) {
			text, err := snapshotLine(name+"/"+x.id, c.docs[x.id])
			if err != nil {
				return end, err
			}
			if _, err := out.Write(text); err != nil {
				return end, err
			}
			end += int64(len(text))
		}
	}
	return end, out.Flush()
}
