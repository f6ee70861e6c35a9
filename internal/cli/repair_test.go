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
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/embedded"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// handStore is a store in which somebody can write what he likes.
type handStore interface {
	hippo.Store
	Document(ctx context.Context, path string) (map[string]any, bool, error)
	PutDocument(ctx context.Context, path string, fields map[string]any) error
	DeleteDocument(ctx context.Context, path string) error
}

// broken is an index that somebody breaks by hand.
type broken struct {
	*testing.T
	store  handStore
	tenant hippo.TenantID
	paths  hippo.Paths
	gen    hippo.Generation
}

const brokenTenant = "acme"

// newBroken fills a tenant with 40 memories and their index.
func newBroken(t *testing.T, store handStore, tenant hippo.TenantID) *broken {
	b := &broken{T: t, store: store, tenant: tenant, paths: hippo.DefaultPaths()}
	for i := range 40 {
		name := fmt.Sprintf("pages/%02d", i)
		b.must(b.store.SaveMemory(t.Context(), tenant, hippo.Memory{ID: b.id(name), Name: name}))
	}
	nobody := repairmsg.Nobody{}
	r := repair.New(b.store, hippo.Base64URL, reconcile.New(b.store, hippo.Base64URL, repairmsg.NewAsker(nobody, nil)), nobody, slog.New(slog.DiscardHandler), repair.Options{})
	b.must(r.Handle(t.Context(), repairmsg.Message{Tenant: tenant, Cause: repairmsg.NoIndex}))
	meta, err := b.store.Meta(t.Context(), tenant)
	b.must(err)
	b.gen = meta.Current
	return b
}

// folder is a fresh folder with an embedded store.
func folder(t *testing.T) (string, *embedded.Store) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	return dir, openFolder(t, dir)
}

func openFolder(t *testing.T, dir string) *embedded.Store {
	t.Helper()
	store, err := embedded.Open(dir, hippo.DefaultLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (b *broken) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *broken) id(name string) hippo.MemoryID {
	id, err := hippo.Base64URL.ID(name)
	b.must(err)
	return id
}

func (b *broken) indexPath(id string) string { return hippo.Fill(b.paths.Index, string(b.tenant), id) }

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

// inShards counts what is wrong where meta says that there are so many shards.
func (b *broken) inShards(shards int) counts {
	c := counts{}
	if more := shards - b.gen.Shards; more > 0 {
		c[hippo.Absent] = more
	}
	for i := range 40 {
		id := b.id(fmt.Sprintf("pages/%02d", i))
		stands, sought := b.gen.ShardOf(id).N, hippo.Generation{Shards: shards}.ShardOf(id).N
		switch {
		case stands >= shards:
			c[hippo.Missing]++
		case stands != sought:
			c[hippo.Misplaced]++
		}
	}
	return c
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
	{"meta of more shards", func(b *broken) { b.edit("meta", func(f map[string]any) { f["shards"] = int64(b.gen.Shards + 1) }) },
		func(b *broken) counts { return b.inShards(b.gen.Shards + 1) }},
	{"meta of fewer shards", func(b *broken) { b.edit("meta", func(f map[string]any) { f["shards"] = int64(b.gen.Shards - 1) }) },
		func(b *broken) counts { return b.inShards(b.gen.Shards - 1) }},
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
			for i := range tooMany {
				f["e"].(map[string]any)[string(longGhost(i))] = int64(1)
			}
		})
	}, func(b *broken) counts {
		c := counts{hippo.Oversize: 1}
		for i := range tooMany {
			if b.gen.ShardOf(longGhost(i)).N == 0 {
				c[hippo.Orphan]++
			} else {
				c[hippo.Misplaced]++
			}
		}
		return c
	}},
}

// tooMany are more of the longest ids than half a shard holds.
const tooMany = 400

// longGhost is such an id, which stands for no name.
func longGhost(i int) hippo.MemoryID { return hippo.MemoryID(fmt.Sprintf("%01400d", i)) }

func TestAnIndexBrokenByHandIsFoundAndMended(t *testing.T) {
	for _, c := range handBreaks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, store := folder(t)
			b := newBroken(t, store, brokenTenant)
			c.do(b)
			want := c.found(b)
			b.must(store.Close())
			foundAndMended(newCommand(t), []string{"--data", dir}, map[hippo.TenantID]counts{brokenTenant: want})
		})
	}
}

func TestAnIndexBrokenByHandIsFoundAndMendedOnTheEmulator(t *testing.T) {
	host := emulatortest.Firestore(t)
	project := fmt.Sprintf("broken-%d", time.Now().UnixNano())
	store, err := firestoredb.Open(t.Context(), firestoredb.Config{ProjectID: project, EmulatorHost: host}, hippo.DefaultLayout())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	want := map[hippo.TenantID]counts{}
	for i, c := range handBreaks { // a tenant for each
		b := newBroken(t, store, hippo.TenantID(fmt.Sprintf("%02d %s", i, c.name)))
		c.do(b)
		want[b.tenant] = c.found(b)
	}
	foundAndMended(newCommand(t), []string{"--project", project, "--firestore", host}, want)
}

// foundAndMended demands that the check finds what is wrong with each tenant, that
// one repair mends it, and that the report of it tells of the same documents.
func foundAndMended(command *command, target []string, want map[hippo.TenantID]counts) {
	t := command.t
	t.Helper()
	check := func(wantCode int) map[hippo.TenantID]counts {
		t.Helper()
		code, out, errs := command.run(append([]string{"check", "--json"}, target...)...)
		var checks []repair.Check
		if err := json.Unmarshal([]byte(out), &checks); err != nil || code != wantCode {
			t.Fatalf("check: exit code %d, want %d; %v\n%s%s", code, wantCode, err, out, errs)
		}
		found := map[hippo.TenantID]counts{}
		for _, c := range checks {
			found[c.Tenant] = c.Counts
			if len(c.Findings) == 0 && len(c.Counts) > 0 {
				t.Errorf("%s: the check lists no finding", c.Tenant)
			}
		}
		return found
	}
	found := check(1)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	command.ok(append([]string{"repair"}, target...)...)
	for tenant, left := range check(0) {
		if len(left) > 0 {
			t.Errorf("%s: after the repair there is still %v", tenant, left)
		}
	}
	var reports []hippo.Report
	if err := json.Unmarshal([]byte(command.ok(append([]string{"check", "--report", "--json"}, target...)...)), &reports); err != nil || len(reports) != len(want) {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, r := range reports {
		found := found[r.Tenant]
		if r.Cause != string(repairmsg.Operator) || r.Findings[hippo.Absent] != found[hippo.Absent] || r.Findings[hippo.Oversize] != found[hippo.Oversize] {
			t.Errorf("the report says %+v, the check found %v", r, found)
		}
	}
}

func TestTheReportOfTheLastRepairIsPrinted(t *testing.T) {
	dir, store := folder(t)
	b := newBroken(t, store, brokenTenant)
	b.dropEntry(b.home("pages/07"), "pages/07")
	b.setEntry(b.home("pages/ghost"), b.id("pages/ghost"), int64(1))
	b.must(store.Close())
	command := newCommand(t)
	command.ok("repair", "--data", dir)
	var reports []hippo.Report
	if err := json.Unmarshal([]byte(command.ok("check", "--data", dir, "--report", "--json")), &reports); err != nil || len(reports) != 1 {
		t.Fatalf("%v, %v", reports, err)
	}
	r := reports[0]
	if !maps.Equal(r.Findings, counts{hippo.Missing: 1, hippo.Orphan: 1}) || r.Memories != 40 || r.Writes == 0 || r.Reads < 40 {
		t.Errorf("report %+v", r)
	}
	if age := time.Since(r.FinishedAt.Time()); age < -time.Hour || age > time.Hour {
		t.Errorf("the report is of %v", r.FinishedAt.Time())
	}
	text := command.ok("check", "--data", dir, "--report")
	for _, part := range []string{"acme", "repaired", "40 memories", "1 missing", "1 orphan", "reads", "writes"} {
		if !strings.Contains(text, part) {
			t.Errorf("the report does not say %q:\n%s", part, text)
		}
	}
}

func TestANewerIndexIsLeftAloneAndSaidSo(t *testing.T) {
	dir, store := folder(t)
	b := newBroken(t, store, brokenTenant)
	b.edit("meta", func(f map[string]any) { f["version"] = int64(hippo.IndexVersion + 1) })
	before, _, err := b.store.Document(context.Background(), b.indexPath("meta"))
	b.must(err)
	b.must(store.Close())
	command := newCommand(t)
	if code, _, errs := command.run("repair", "--data", dir); code != 2 || !strings.Contains(errs, "newer version") {
		t.Errorf("repair: exit code %d, %q", code, errs)
	}
	if code, _, errs := command.run("check", "--data", dir); code != 2 || !strings.Contains(errs, "newer version") {
		t.Errorf("check: exit code %d, %q", code, errs)
	}
	store = openFolder(t, dir)
	defer store.Close()
	after, _, err := store.Document(context.Background(), b.indexPath("meta"))
	b.must(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("meta was changed: %s", diff)
	}
}
