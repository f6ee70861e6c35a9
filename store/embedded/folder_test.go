package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// openFolder opens a store that is saved, to be closed with the test.
func openFolder(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, hippo.DefaultLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// stored is a document as it is kept.
type stored struct {
	Fields           schema.Fields
	Created, Updated int64
	Size             int64
}

// dump is all that a store holds.
func dump(s *Store) map[string]stored {
	all := make(map[string]stored)
	for name, c := range s.collections {
		for id, d := range c.docs {
			all[name+"/"+id] = stored{d.fields, d.created.UnixMicro(), d.updated.UnixMicro(), d.size}
		}
	}
	return all
}

func mustPut(t *testing.T, s *Store, path string, fields schema.Fields) {
	t.Helper()
	if err := s.PutDocument(t.Context(), path, fields); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasWrittenIsThereAfterARestart(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		s := reopen(t, dir, nil)
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			path := rapid.SampledFrom([]string{"c/a", "c/b", "tenants/t/memories/😀.x"}).Draw(t, "path")
			var err error
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				err = s.DeleteDocument(t.Context(), path)
			case 1, 2:
				err = s.PutDocument(t.Context(), path, fieldsGen(1).Draw(t, "fields"))
			case 3, 4:
				changes := changesGen().Draw(t, "changes")
				err = s.transact(t.Context(), "test", func(tx *tx) error {
					tx.update(path, changes)
					return nil
				})
			case 5:
				s = reopen(t, dir, s)
			}
			if err != nil && !hippo.IsKind(err, hippo.NotFound) {
				t.Fatal(err)
			}
		}
		reader, err := OpenReadOnly(dir, hippo.DefaultLayout())
		if err != nil {
			t.Fatal(err)
		}
		want := dump(s)
		if diff := cmp.Diff(want, dump(reader)); diff != "" {
			t.Fatalf("read beside the writer (-want +got):\n%s", diff)
		}
		last := s.last
		s = reopen(t, dir, s)
		defer s.Close()
		if diff := cmp.Diff(want, dump(s)); diff != "" {
			t.Fatalf("after a restart (-want +got):\n%s", diff)
		}
		for path, d := range want {
			if d.Updated > s.last.UnixMicro() {
				t.Fatalf("%s was written at %d, and the clock starts at %d", path, d.Updated, s.last.UnixMicro())
			}
		}
		if s.last.After(last) {
			t.Fatalf("the clock ran on from %v to %v by reading", last, s.last)
		}
	})
}

func reopen(t *rapid.T, dir string, s *Store) *Store {
	if s != nil {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(dir, hippo.DefaultLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASecondWriterIsRefusedUntilTheFirstIsDone(t *testing.T) {
	dir := t.TempDir()
	first := openFolder(t, dir)
	_, err := Open(dir, hippo.DefaultLayout(), nil)
	if !hippo.IsKind(err, hippo.Conflict) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second writer: error %v, want a conflict that names the folder", err)
	}
	closeStore(t, first)
	openFolder(t, dir)
}

func TestAReaderSeesWhatIsThereAndMayNotWrite(t *testing.T) {
	dir := t.TempDir()
	writer := openFolder(t, dir)
	mustPut(t, writer, "tenants/t/memories/a", schema.Fields{"name": "n"})
	reader, err := OpenReadOnly(dir, hippo.DefaultLayout())
	if err != nil {
		t.Fatal(err)
	}
	mustPut(t, writer, "tenants/t/memories/b", schema.Fields{"name": "n"})
	entries, err := reader.ScanEntries(t.Context(), "t", "", 0)
	if err != nil || len(entries) != 1 || entries[0].ID != "a" {
		t.Errorf("entries %v, error %v, want the one that was there", entries, err)
	}
	for name, err := range map[string]error{
		"PutDocument":    reader.PutDocument(t.Context(), "c/a", schema.Fields{}),
		"DeleteDocument": reader.DeleteDocument(t.Context(), "c/a"),
		"SaveMemory":     reader.SaveMemory(t.Context(), "t", hippo.Memory{ID: "a"}),
		"SaveReport":     reader.SaveReport(t.Context(), hippo.Report{Tenant: "t"}),
	} {
		if !hippo.IsKind(err, hippo.Denied) {
			t.Errorf("%s: error %v, want it denied", name, err)
		}
	}
	closeStore(t, reader)
	mustPut(t, writer, "tenants/t/memories/c", schema.Fields{"name": "n"})
}

func TestAFolderWithoutAStoreIsNotFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nothing")
	if _, err := OpenReadOnly(dir, hippo.DefaultLayout()); !hippo.IsKind(err, hippo.NotFound) {
		t.Errorf("error %v, want not found", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

// twoCommits is a journal of two documents, and what it holds.
func twoCommits(t *testing.T) (dir string, text []byte) {
	t.Helper()
	dir = t.TempDir()
	s := openFolder(t, dir)
	mustPut(t, s, "c/a", schema.Fields{"n": 1})
	mustPut(t, s, "c/b", schema.Fields{"n": 2})
	closeStore(t, s)
	text, err := os.ReadFile(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	return dir, text
}

func overwrite(t *testing.T, dir string, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, journalName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestATornLastLineIsLeftOutAndCutOff(t *testing.T) {
	for name, tail := range map[string]string{
		"half a line":            `{"at":"2026-03-01T00:00:00Z","ops":[{"set":"c/c","fi`,
		"a line without its end": `{"at":"2026-03-01T00:00:00Z","ops":[{"set":"c/c","fields":{}}]}`,
		"a line of nothing":      "\x00\x00\x00\x00\n",
		"a value without a type": `{"at":"2026-03-01T00:00:00Z","ops":[{"set":"c/c","fields":{"n":1}}]}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir, text := twoCommits(t)
			overwrite(t, dir, string(text)+tail)
			reader, err := OpenReadOnly(dir, hippo.DefaultLayout())
			if err != nil || len(dump(reader)) != 2 {
				t.Fatalf("reader: error %v, want two documents", err)
			}
			s := openFolder(t, dir)
			mustPut(t, s, "c/d", schema.Fields{"n": 4})
			closeStore(t, s)
			s = openFolder(t, dir)
			if got := dump(s); len(got) != 3 || s.document("c/d") == nil || s.document("c/c") != nil {
				t.Errorf("documents %v, want a, b and d", got)
			}
		})
	}
}

func TestABadLineBeforeTheLastIsAnErrorWithItsNumber(t *testing.T) {
	for name, bad := range map[string]string{
		"no JSON":                    "{\"at\":\"2026\n",
		"an empty line":              "\n",
		"a document that is missing": `{"at":"2026-03-01T00:00:00Z","ops":[{"update":"c/z","changes":[{"path":["n"],"do":"remove"}]}]}` + "\n",
		"a change without a path":    `{"at":"2026-03-01T00:00:00Z","ops":[{"update":"c/a","changes":[{"path":[],"do":"remove"}]}]}` + "\n",
		"an unknown type":            `{"at":"2026-03-01T00:00:00Z","ops":[{"set":"c/z","fields":{"n":{"q":"1"}}}]}` + "\n",
		"a type without text":        `{"at":"2026-03-01T00:00:00Z","ops":[{"set":"c/z","fields":{"n":{"i":1}}}]}` + "\n",
		"an integer that is none":    `{"at":"2026-03-01T00:00:00Z","ops":[{"set":"c/z","fields":{"n":{"m":{"x":{"i":"1x"}}}}}]}` + "\n",
		"a value of two types":       `{"at":"2026-03-01T00:00:00Z","ops":[{"set":"c/z","fields":{"n":[{"i":"1","d":"1"}]}}]}` + "\n",
		"no path at all":             `{"at":"2026-03-01T00:00:00Z","ops":[{}]}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir, text := twoCommits(t)
			first, second, _ := strings.Cut(string(text), "\n")
			overwrite(t, dir, first+"\n"+bad+second)
			want := filepath.Join(dir, journalName) + ", line 2"
			_, err := Open(dir, hippo.DefaultLayout(), nil)
			if !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("writer: error %v, want an invalid one that names %q", err, want)
			}
			if _, err := OpenReadOnly(dir, hippo.DefaultLayout()); !hippo.IsKind(err, hippo.Invalid) {
				t.Errorf("reader: error %v, want an invalid one", err)
			}
			overwrite(t, dir, string(text))
			openFolder(t, dir)
		})
	}
}

func TestOpeningCompactsTheJournal(t *testing.T) {
	dir := t.TempDir()
	s := openFolder(t, dir)
	for n := range 100 {
		mustPut(t, s, "c/a", schema.Fields{"n": n})
	}
	mustPut(t, s, "c/b", schema.Fields{})
	if err := s.DeleteDocument(t.Context(), "c/b"); err != nil {
		t.Fatal(err)
	}
	want := dump(s)
	closeStore(t, s)
	for range 2 {
		s = openFolder(t, dir)
		text, err := os.ReadFile(filepath.Join(dir, journalName))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n != 1 {
			t.Errorf("%d lines in the journal, want one for each document that is there", n)
		}
		if diff := cmp.Diff(want, dump(s)); diff != "" {
			t.Errorf("documents (-want +got):\n%s", diff)
		}
		closeStore(t, s)
	}
}

func TestAWriteThatCannotBeSavedIsUnavailableAndChangesNothing(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs a device that is always full: %v", err)
	}
	defer full.Close()
	dir := t.TempDir()
	var reported []Change
	s, err := Open(dir, hippo.DefaultLayout(), &Options{OnChange: func(c Change) { reported = append(reported, c) }})
	if err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "c/a", schema.Fields{"n": 1})
	want := dump(s)
	disk := s.journal.file
	s.journal.file = full
	for range 2 {
		if err := s.PutDocument(t.Context(), "c/a", schema.Fields{"n": 2}); !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("error %v, want an unavailable one", err)
		}
		if diff := cmp.Diff(want, dump(s)); diff != "" {
			t.Errorf("documents (-want +got):\n%s", diff)
		}
	}
	if len(reported) != 1 {
		t.Errorf("reported %v, want the first write alone", reported)
	}
	s.journal.file = disk
	closeStore(t, s)
	s = openFolder(t, dir)
	if diff := cmp.Diff(want, dump(s)); diff != "" {
		t.Errorf("documents after a restart (-want +got):\n%s", diff)
	}
}

func TestAHalfWrittenLineIsCutOffBeforeTheNext(t *testing.T) {
	dir := t.TempDir()
	s := openFolder(t, dir)
	mustPut(t, s, "c/a", schema.Fields{"n": 1})
	if _, err := s.journal.file.WriteAt([]byte(`{"at":"a long line that a full disk broke off`), s.journal.end); err != nil {
		t.Fatal(err)
	}
	if err := s.journal.cut(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "c/b", schema.Fields{})
	want := dump(s)
	closeStore(t, s)
	s = openFolder(t, dir)
	if diff := cmp.Diff(want, dump(s)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}
