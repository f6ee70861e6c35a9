package turnreader_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/reconcile"
	"github.com/hippofire/hippofire/tokens"
	"github.com/hippofire/hippofire/turnreader"
)

type reading struct {
	*fixture.Fixture
	*turnreader.Reader
	index *turnreader.Index
}

func newReader(f *fixture.Fixture) *reading { return newReaderAsking(f, f.Asked) }

func newReaderAsking(f *fixture.Fixture, asker turnreader.Asker) *reading {
	index := turnreader.NewIndex(f.Fault, f.Layout.Naming, asker, 64<<20, f.Log())
	options := turnreader.Options{Tokens: tokens.FourChars}
	if f.Wire != nil { // an emulator on a busy machine answers late
		options.Deadline = time.Minute
	}
	return &reading{f, turnreader.New(f.Fault, f.Layout, index, options), index}
}

// indexed writes memories and their entries.
func (r *reading) indexed(names ...string) {
	r.Helper()
	r.SaveMemories(names...)
	r.reconcile(names...)
}

// reconcile writes the entries of memories.
func (r *reading) reconcile(names ...string) {
	r.Helper()
	var ids []hippo.MemoryID
	for _, name := range names {
		ids = append(ids, r.ID(name))
	}
	r.Must(reconcile.New(r.Direct, r.Layout.Naming, r.Asked).Reconcile(r.Context(), fixture.Tenant, ids))
}

func (r *reading) turn() turnreader.Turn {
	r.Helper()
	turn, err := r.Turn(r.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread})
	r.Must(err)
	return turn
}

func block(t turnreader.Turn, kind turnreader.BlockKind) turnreader.Block {
	for _, b := range t.Blocks {
		if b.Kind == kind {
			return b
		}
	}
	return turnreader.Block{}
}

// listed are the names in the memory list, in order.
func listed(t turnreader.Turn) []string {
	var names []string
	for line := range strings.Lines(block(t, turnreader.MemoryList).Text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			names = append(names, name)
		}
	}
	return names
}

// scanned are the names that a scan lists, in order.
func (r *reading) scanned() []string {
	r.Helper()
	entries, err := r.Direct.ScanEntries(r.Context(), fixture.Tenant, "", 0)
	r.Must(err)
	var names []string
	for _, item := range r.Layout.Naming.Items(entries) {
		names = append(names, item.Name)
	}
	return names
}

func TestListFromIndexIsTheListFromAScan(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.SaveMemories("pages/before")
		if turn := r.turn(); turn.Ledger.Index != turnreader.Scan || !slices.Equal(listed(turn), r.scanned()) {
			t.Errorf("without an index: %s %v", turn.Ledger.Index, listed(turn))
		}
		f.EmptyIndex()
		r.indexed(append(fixture.Names(60), "pages/before")...)
		for _, want := range []turnreader.Source{turnreader.Cold, turnreader.Warm, turnreader.Warm} {
			turn := r.turn()
			if turn.Ledger.Index != want {
				t.Errorf("index is %s, want %s", turn.Ledger.Index, want)
			}
			if diff := cmp.Diff(r.scanned(), listed(turn)); diff != "" {
				t.Errorf("%s list differs from the scan: %s", want, diff)
			}
			r.indexed("pages/00007")
		}
	})
}

func TestNamesOfEveryShapeAreListed(t *testing.T) {
	all := []string{
		"184.174.14.109", "notes.2026.md", "a/b", "a%2Fb", "https://a.b/c?d=1#e%2F", "?>?>", "🚲 Räder", "`", `\`, "__x__",
		strings.Repeat("n", hippo.Base64URL.MaxNameBytes()),
	}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.SaveMemories(all...)
		scanned, _, err := r.index.Known(t.Context(), fixture.Tenant)
		f.Must(err)
		f.EmptyIndex()
		r.reconcile(all...)
		indexed, source, err := r.index.Known(t.Context(), fixture.Tenant)
		f.Must(err)
		for _, known := range []*turnreader.Known{scanned, indexed} {
			latestFirst := names(known)
			slices.Reverse(latestFirst)
			if diff := cmp.Diff(all, latestFirst); diff != "" {
				t.Error(diff)
			}
		}
		if resp := r.list(turnreader.ListRequest{Names: all}); source != turnreader.Cold || len(resp.Missing) > 0 {
			t.Errorf("%s: not known are %q", source, resp.Missing)
		}
	})
}

func TestUpdatedAtOfEveryShape(t *testing.T) {
	moment := time.Date(2026, 5, 1, 12, 0, 0, 123456789, time.UTC)
	for name, versions := range map[string][]any{
		"nanoseconds":                     {moment},
		"missing":                         {nil},
		"a string":                        {"2026-05-01T12:00:00Z"},
		"a number":                        {int64(1777636800)},
		"year 9999":                       {time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)},
		"before 1970":                     {time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		"earlier than the version before": {moment, moment.Add(-time.Hour)},
		"a timestamp, then none":          {moment, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				r := newReader(f)
				f.EmptyIndex()
				r.indexed("pages/before", "pages/after")
				for _, at := range versions {
					fields := map[string]any{"name": "pages/odd", "content": "text"}
					if at != nil {
						fields["updated_at"] = at
					}
					f.PutMemory(f.ID("pages/odd"), fields)
					r.reconcile("pages/odd")
					if diff := cmp.Diff(r.scanned(), listed(r.turn())); diff != "" {
						t.Error(diff)
					}
				}
				f.WantEqual(f.Meta().Current)
			})
		})
	}
}

func TestDeletedMemoryLeavesAListThatIsHeld(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(30)...)
		r.turn()
		f.DeleteMemories("pages/00007")
		r.reconcile("pages/00007")
		turn := r.turn()
		if diff := cmp.Diff(r.scanned(), listed(turn)); diff != "" || turn.Ledger.Index != turnreader.Warm {
			t.Errorf("%s: %s", turn.Ledger.Index, diff)
		}
	})
}

func TestEntryInTheWrongShardIsNotListed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		gen := f.EmptyIndex()
		r.indexed("pages/a", "pages/b")
		id := f.ID("pages/a")
		wrong := hippo.ShardID{Gen: gen.ID, N: (gen.ShardOf(id).N + 1) % gen.Shards}
		f.Must(f.Direct.WriteEntries(t.Context(), fixture.Tenant, []hippo.ShardTarget{{Shard: wrong, IDs: []hippo.MemoryID{id}}}))
		if diff := cmp.Diff(r.scanned(), listed(r.turn())); diff != "" {
			t.Error(diff)
		}
	})
}

func Test1000MemoriesWithEqualUpdatedAt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		all := fixture.Names(1000)
		at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		var group errgroup.Group
		group.SetLimit(16)
		for _, name := range all {
			group.Go(func() error {
				return f.Direct.SaveMemory(t.Context(), fixture.Tenant, hippo.Memory{ID: f.ID(name), Name: name, UpdatedAt: hippo.MicrosOf(at)})
			})
		}
		f.Must(group.Wait())
		r.reconcile(all...)
		known, source, err := r.index.Known(t.Context(), fixture.Tenant)
		f.Must(err)
		if diff := cmp.Diff(all, names(known)); diff != "" || source != turnreader.Cold {
			t.Errorf("%s: %s", source, diff)
		}
	})
}

func TestDocumentIdsThatStandForNoNameAreInNeitherList(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed("A") // its id is QQ
		for _, id := range []hippo.MemoryID{"1865_v3.1", "QR", hippo.MemoryID(strings.Repeat("Q", 1500))} {
			f.PutMemory(id, map[string]any{"name": "a name"})
			f.Must(reconcile.New(f.Direct, f.Layout.Naming, f.Asked).Reconcile(t.Context(), fixture.Tenant, []hippo.MemoryID{id}))
		}
		for _, got := range [][]string{listed(r.turn()), r.scanned()} {
			if diff := cmp.Diff([]string{"A"}, got); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestCapsAreCountedByKind(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReader(f)
	var names []string
	for i := range 130 {
		names = append(names, fmt.Sprintf("pages/%d", i), fmt.Sprintf("sources/%d", i), fmt.Sprintf("journal/%d", i), fmt.Sprint(i))
	}
	f.SaveMemories(names...)
	turn := r.turn()
	if n := len(listed(turn)); n != 120+40+60+60 {
		t.Errorf("%d names are listed", n)
	}
	if text := block(turn, turnreader.MemoryList).Text; !strings.Contains(text, "70 journal, 70 other, 10 pages, 90 sources") {
		t.Errorf("what is past the caps is not counted: %s", text[len(text)-200:])
	}
}

func TestTurnOfAnUnknownThreadIsEmpty(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		if turn := newReader(f).turn(); len(turn.Blocks) != 0 {
			t.Errorf("%+v", turn.Blocks)
		}
	})
}
