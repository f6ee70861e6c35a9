package turnreader_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/turnreader"
)

func TestWarmTurnReadsMetaAndChangedShardsOnly(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(50)...)
		documents := func() int {
			for _, read := range r.turn().Ledger.Reads {
				if strings.HasPrefix(read.Query, "ReadIndex") {
					return read.Documents
				}
			}
			return 0
		}
		if got := documents(); got != 9 {
			t.Errorf("cold: %d documents, want meta and 8 shards", got)
		}
		if got := documents(); got != 1 {
			t.Errorf("warm, nothing changed: %d documents, want meta alone", got)
		}
		r.indexed("pages/00001")
		if got := documents(); got != 2 {
			t.Errorf("warm, one shard changed: %d documents, want 2", got)
		}
	})
}

func TestLedgerIsWhatWentOverTheWire(t *testing.T) {
	f := fixture.Firestore(t)
	r := newReader(f)
	f.SaveMemories(fixture.Names(50)...)
	r.thread(45, 5)
	for _, step := range []struct {
		from    turnreader.Source
		arrange func()
	}{
		{turnreader.Scan, func() {}},
		{turnreader.Cold, func() { f.EmptyIndex(); r.reconcile(fixture.Names(50)...) }},
		{turnreader.Warm, func() {}},
		{turnreader.Warm, func() { r.indexed("pages/00001") }},
	} {
		step.arrange()
		before := f.Wire.Total()
		turn := r.turn()
		after := f.Wire.Total()
		if reads, bytes := after.Reads-before.Reads, after.Bytes-before.Bytes; turn.Ledger.Index != step.from || reads != turn.Ledger.Documents || bytes != turn.Ledger.Bytes {
			t.Errorf("%s: the ledger says %d documents and %d bytes from %s, the wire %d and %d", step.from, turn.Ledger.Documents, turn.Ledger.Bytes, turn.Ledger.Index, reads, bytes)
		}
		list := r.list(turnreader.ListRequest{})
		if reads, bytes := f.Wire.Total().Reads-after.Reads, f.Wire.Total().Bytes-after.Bytes; reads != list.Documents || bytes != list.Bytes {
			t.Errorf("%s: ListMemories says %d documents and %d bytes, the wire %d and %d", step.from, list.Documents, list.Bytes, reads, bytes)
		}
	}
}

func TestWarmReadThatTheStoreRefusesIsReadCold(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReader(f)
	f.EmptyIndex()
	r.indexed("pages/a")
	r.turn()
	r.indexed("pages/b")
	for _, kind := range []hippo.ErrorKind{hippo.Internal, hippo.Invalid} {
		f.Fault.Before = f.FailAll("ReadIndexSince", hippo.Errorf(kind, "", "the query requires an index"))
		turn := r.turn()
		if got := listed(turn); turn.Ledger.Index != turnreader.Cold || !slices.Equal(got, r.scanned()) {
			t.Errorf("%s: %v from %s", kind, got, turn.Ledger.Index)
		}
	}
	f.Fault.Before = f.FailAll("ReadIndexSince", hippo.Errorf(hippo.Unavailable, "", "down"))
	if _, source, err := r.index.Known(t.Context(), fixture.Tenant); !hippo.IsKind(err, hippo.Unavailable) || source != turnreader.Warm {
		t.Errorf("a store that is down was asked again: %s, %v", source, err)
	}
}

func TestShardThenMetaDeletedByHandLeaveTurnsRight(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		gen := f.EmptyIndex()
		watching := newReader(f)
		watching.indexed(fixture.Names(20)...)
		want := watching.scanned()
		watching.turn()
		for _, id := range []string{gen.ShardIDs()[2].String(), "meta"} {
			f.DeleteIndexDocument(id)
			turn := newReader(f).turn()
			if turn.Ledger.Index != turnreader.Scan {
				t.Errorf("without %s the index is %s, want a scan", id, turn.Ledger.Index)
			}
			if diff := cmp.Diff(want, listed(turn)); diff != "" {
				t.Errorf("without %s: %s", id, diff)
			}
			if diff := cmp.Diff(want, listed(watching.turn())); diff != "" {
				t.Errorf("without %s, in a process that holds the index: %s", id, diff)
			}
		}
		causes := f.Asked.Causes()
		if len(causes) < 2 || causes[0] != repairmsg.LostShard || causes[1] != repairmsg.NoIndex {
			t.Errorf("asked for %v, want a rebuild for each", causes)
		}
	})
}

func TestShardsLeftOverFromAnotherGenerationAreNotRead(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		r.indexed(fixture.Names(10)...)
		f.Announce(hippo.IndexVersion, 16)
		f.Promote() // nobody sweeps
		r.indexed(fixture.Names(10)...)
		f.DeleteMemories("pages/00003")
		r.reconcile("pages/00003")
		turn := r.turn()
		if diff := cmp.Diff(r.scanned(), listed(turn)); diff != "" || turn.Ledger.Index != turnreader.Cold {
			t.Errorf("%s: %s", turn.Ledger.Index, diff)
		}
	})
}

func TestMetaOfANewerVersionIsScannedAndNotAskedFor(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Announce(hippo.IndexVersion+1, 8)
		f.Promote()
		r := newReader(f)
		f.SaveMemories("pages/a")
		if turn := r.turn(); turn.Ledger.Index != turnreader.Scan || len(listed(turn)) != 1 {
			t.Errorf("%s %v", turn.Ledger.Index, listed(turn))
		}
		if causes := f.Asked.Causes(); len(causes) != 0 {
			t.Errorf("asked for %v", causes)
		}
	})
}
