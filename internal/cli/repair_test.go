package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/embedded"
)

// broken is a folder with an index that somebody breaks by hand.
type broken struct {
	*testing.T
	dir   string
	store *embedded.Store
	paths hippo.Paths
	gen   hippo.Generation
}

const brokenTenant = "acme"

// newBroken fills a folder with 40 memories and their index.
func newBroken(t *testing.T) *broken {
	b := &broken{T: t, dir: filepath.Join(t.TempDir(), "data"), paths: hippo.DefaultPaths()}
	b.open()
	for i := range 40 {
		name := fmt.Sprintf("pages/%02d", i)
		b.must(b.store.SaveMemory(t.Context(), brokenTenant, hippo.Memory{ID: b.id(name), Name: name}))
	}
	nobody := repairmsg.Nobody{}
	r := repair.New(b.store, hippo.Base64URL, reconcile.New(b.store, hippo.Base64URL, repairmsg.NewAsker(nobody, nil)), nobody, slog.New(slog.DiscardHandler), repair.Options{})
	b.must(r.Handle(t.Context(), repairmsg.Message{Tenant: brokenTenant, Cause: repairmsg.NoIndex}))
	meta, err := b.store.Meta(t.Context(), brokenTenant)
	b.must(err)
	b.gen = meta.Current
	return b
}

func (b *broken) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *broken) open() {
	var err error
	b.store, err = embedded.Open(b.dir, hippo.DefaultLayout(), nil)
	b.must(err)
}

func (b *broken) id(name string) hippo.MemoryID {
	id, err := hippo.Base64URL.ID(name)
	b.must(err)
	return id
}

func (b *broken) indexPath(id string) string { return hippo.Fill(b.paths.Index, brokenTenant, id) }

// home is the shard of a memory, and other one that is not.
func (b *broken) home(name string) string { return b.gen.ShardOf(b.id(name)).String() }

func (b *broken) other(name string) string {
	s := b.gen.ShardOf(b.id(name))
	s.N = (s.N + 1) % b.gen.Shards
	return s.String()
}

// edit changes a document of the index.
func (b *broken) edit(id string, change func(map[string]any)) {
	b.Helper()
	f, ok, err := b.store.Document(b.Context(), b.indexPath(id))
	b.must(err)
	if !ok {
		b.Fatalf("%s is not there", id)
	}
	change(f)
	b.must(b.store.PutDocument(b.Context(), b.indexPath(id), f))
}

func (b *broken) setEntry(shard string, id hippo.MemoryID, at any) {
	b.edit(shard, func(f map[string]any) { f["e"].(map[string]any)[string(id)] = at })
}

func (b *broken) dropEntry(shard, name string) {
	b.edit(shard, func(f map[string]any) { delete(f["e"].(map[string]any), string(b.id(name))) })
}

func (b *broken) remove(id string) {
	b.must(b.store.DeleteDocument(b.Context(), b.indexPath(id)))
}

// inHome counts the memories that share a shard with one.
func (b *broken) inHome(name string) int {
	n := 0
	for i := range 40 {
		if b.home(fmt.Sprintf("pages/%02d", i)) == b.home(name) {
			n++
		}
	}
	return n
}

type counts = map[hippo.FindingType]int

// handBreaks are ways to break an index by hand, each with what has to be found.
var handBreaks = []struct {
	name  string
	do    func(b *broken)
	found func(b *broken) counts
}{
	{"an entry with a wrong time", func(b *broken) { b.setEntry(b.home("pages/07"), b.id("pages/07"), int64(7)) },
		func(*broken) counts { return counts{hippo.Stale: 1} }},
	{"an entry that is gone", func(b *broken) { b.dropEntry(b.home("pages/07"), "pages/07") },
		func(*broken) counts { return counts{hippo.Missing: 1} }},
	{"an entry that is no time", func(b *broken) { b.setEntry(b.home("pages/07"), b.id("pages/07"), "yesterday") },
		func(*broken) counts { return counts{hippo.Missing: 1} }},
	{"an entry of a memory that never existed", func(b *broken) { b.setEntry(b.home("pages/ghost"), b.id("pages/ghost"), int64(1)) },
		func(*broken) counts { return counts{hippo.Orphan: 1} }},
	{"an entry in the wrong shard", func(b *broken) {
		b.dropEntry(b.home("pages/07"), "pages/07")
		b.setEntry(b.other("pages/07"), b.id("pages/07"), int64(1))
	}, func(*broken) counts { return counts{hippo.Misplaced: 1} }},
	{"an entry in two shards", func(b *broken) { b.setEntry(b.other("pages/07"), b.id("pages/07"), int64(1)) },
		func(*broken) counts { return counts{hippo.Duplicate: 1} }},
	{"an entry of no memory in the wrong shard", func(b *broken) { b.setEntry(b.other("pages/ghost"), b.id("pages/ghost"), int64(1)) },
		func(*broken) counts { return counts{hippo.Misplaced: 1} }},
	{"an entry that stands for no name", func(b *broken) {
		b.setEntry(b.gen.ShardOf("no name!").String(), "no name!", int64(1))
	}, func(*broken) counts { return counts{hippo.Orphan: 1} }},
	{"an entry under a key that cannot be written", func(b *broken) {
		b.setEntry(b.gen.ShardOf("a/b").String(), "a/b", int64(1))
		b.dropEntry(b.home("pages/07"), "pages/07")
	}, func(*broken) counts { return counts{hippo.Missing: 1} }},
	{"a shard without its map", func(b *broken) { b.edit(b.home("pages/07"), func(f map[string]any) { f["e"] = "x" }) },
		func(b *broken) counts { return counts{hippo.Missing: b.inHome("pages/07")} }},
	{"a shard that is gone", func(b *broken) { b.remove(b.home("pages/07")) },
		func(*broken) counts { return counts{hippo.Absent: 1} }},
	{"a shard that no query finds", func(b *broken) { b.edit(b.home("pages/07"), func(f map[string]any) { f["shard"] = "x" }) },
		func(*broken) counts { return counts{hippo.Absent: 1} }},
	{"a shard without its revision", func(b *broken) { b.edit(b.home("pages/07"), func(f map[string]any) { delete(f, "rev") }) },
		func(*broken) counts { return counts{hippo.Absent: 1} }},
	{"every shard is gone", func(b *broken) {
		for _, s := range b.gen.ShardIDs() {
			b.remove(s.String())
		}
	}, func(b *broken) counts { return counts{hippo.Absent: b.gen.Shards} }},
	{"meta is gone", func(b *broken) { b.remove("meta") },
		func(*broken) counts { return counts{hippo.Absent: 1} }},
	{"meta that names another generation", func(b *broken) { b.edit("meta", func(f map[string]any) { f["gen"] = "nonesuch" }) },
		func(b *broken) counts { return counts{hippo.Absent: b.gen.Shards} }},
	{"meta of more shards", func(b *broken) { b.edit("meta", func(f map[string]any) { f["shards"] = int64(b.gen.Shards + 1) }) }, nil},
	{"meta of fewer shards", func(b *broken) { b.edit("meta", func(f map[string]any) { f["shards"] = int64(b.gen.Shards - 1) }) }, nil},
	{"meta of shards without end", func(b *broken) { b.edit("meta", func(f map[string]any) { f["shards"] = int64(1) << 60 }) },
		func(*broken) counts { return counts{hippo.Absent: 1} }},
	{"meta that is empty", func(b *broken) { b.must(b.store.PutDocument(b.Context(), b.indexPath("meta"), map[string]any{})) },
		func(*broken) counts { return counts{hippo.Absent: 1} }},
	{"meta of an older format", func(b *broken) { b.edit("meta", func(f map[string]any) { f["version"] = int64(0) }) },
		func(*broken) counts { return counts{hippo.Absent: 1} }},
	{"meta that names what nobody is filling", func(b *broken) {
		b.edit("meta", func(f map[string]any) {
			f["next"] = map[string]any{"gen": "nonesuch", "shards": int64(8), "version": int64(hippo.IndexVersion)}
		})
		b.dropEntry(b.home("pages/07"), "pages/07")
	}, func(*broken) counts { return counts{hippo.Missing: 1} }},
	{"a shard that is too large", func(b *broken) {
		b.edit(b.gen.ShardIDs()[0].String(), func(f map[string]any) {
			for i := range 500 {
				f["e"].(map[string]any)[fmt.Sprintf("%01400d", i)] = int64(1)
			}
		})
	}, nil},
}

func TestAnIndexBrokenByHandIsFoundAndMended(t *testing.T) {
	for _, c := range handBreaks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroken(t)
			c.do(b)
			var want counts
			if c.found != nil {
				want = c.found(b)
			}
			b.must(b.store.Close())
			command := newCommand(t)
			check := func(wantCode int) repair.Check {
				t.Helper()
				code, out, errs := command.run("check", "--data", b.dir, "--json")
				var checks []repair.Check
				if err := json.Unmarshal([]byte(out), &checks); err != nil || len(checks) != 1 || code != wantCode {
					t.Fatalf("check: exit code %d, want %d; %v\n%s%s", code, wantCode, err, out, errs)
				}
				return checks[0]
			}
			found := check(1)
			if diff := cmp.Diff(want, found.Counts); want != nil && diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if len(found.Findings) == 0 {
				t.Error("the check lists no finding")
			}
			command.ok("repair", "--data", b.dir)
			if mended := check(0); len(mended.Counts) > 0 {
				t.Errorf("after the repair there is still %v", mended.Counts)
			}
			report := command.ok("check", "--data", b.dir, "--report")
			if !strings.Contains(report, brokenTenant) || !strings.Contains(report, string(repairmsg.Operator)) {
				t.Errorf("the report says %q", report)
			}
		})
	}
}

func TestTheReportOfTheLastRepairIsPrinted(t *testing.T) {
	b := newBroken(t)
	b.dropEntry(b.home("pages/07"), "pages/07")
	b.setEntry(b.home("pages/ghost"), b.id("pages/ghost"), int64(1))
	b.must(b.store.Close())
	command := newCommand(t)
	command.ok("repair", "--data", b.dir)
	var reports []hippo.Report
	if err := json.Unmarshal([]byte(command.ok("check", "--data", b.dir, "--report", "--json")), &reports); err != nil || len(reports) != 1 {
		t.Fatalf("%v, %v", reports, err)
	}
	r := reports[0]
	if !maps.Equal(r.Findings, counts{hippo.Missing: 1, hippo.Orphan: 1}) || r.Memories != 40 || r.Writes == 0 || r.Reads < 40 {
		t.Errorf("report %+v", r)
	}
	if age := time.Since(r.FinishedAt.Time()); age < -time.Hour || age > time.Hour {
		t.Errorf("the report is of %v", r.FinishedAt.Time())
	}
	text := command.ok("check", "--data", b.dir, "--report")
	for _, part := range []string{"acme", "repaired", "40 memories", "1 missing", "1 orphan", "reads", "writes"} {
		if !strings.Contains(text, part) {
			t.Errorf("the report does not say %q:\n%s", part, text)
		}
	}
}

func TestANewerIndexIsLeftAloneAndSaidSo(t *testing.T) {
	b := newBroken(t)
	b.edit("meta", func(f map[string]any) { f["version"] = int64(hippo.IndexVersion + 1) })
	before, _, err := b.store.Document(context.Background(), b.indexPath("meta"))
	b.must(err)
	b.must(b.store.Close())
	command := newCommand(t)
	if code, _, errs := command.run("repair", "--data", b.dir); code != 2 || !strings.Contains(errs, "newer version") {
		t.Errorf("repair: exit code %d, %q", code, errs)
	}
	if code, _, errs := command.run("check", "--data", b.dir); code != 2 || !strings.Contains(errs, "newer version") {
		t.Errorf("check: exit code %d, %q", code, errs)
	}
	b.open()
	defer b.store.Close()
	after, _, err := b.store.Document(context.Background(), b.indexPath("meta"))
	b.must(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("meta was changed: %s", diff)
	}
}
