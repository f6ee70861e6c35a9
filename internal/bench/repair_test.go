package bench_test

import (
	"testing"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/bench"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/localstack"
)

func TestACleanRepairReadsEachNameOnceAndWritesNothing(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { cleanRepair(t, localstack.Embedded, "", 20_000) })
	t.Run("firestore", func(t *testing.T) { cleanRepair(t, localstack.Emulator, emulatortest.Firestore(t), 6_000) })
}

func cleanRepair(t *testing.T, kind localstack.StoreKind, host string, memories int) {
	t.Helper()
	world, err := bench.Open(t.Context(), kind, host)
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	rows, err := world.Repair(t.Context(), memories, func(string, int) {})
	if err != nil {
		t.Fatal(err)
	}
	found := []map[hippo.FindingType]int{{}, {hippo.Stale: memories / 100}, {hippo.Missing: memories}, {}}
	for i, row := range rows {
		if !row.Equal || row.MemoriesScanned != memories {
			t.Errorf("%s: equal is %v, %d memories were compared", row.Case, row.Equal, row.MemoriesScanned)
		}
		for _, kind := range []hippo.FindingType{hippo.Stale, hippo.Missing} {
			if row.Findings[kind] != found[i][kind] {
				t.Errorf("%s: %d are %s, want %d", row.Case, row.Findings[kind], kind, found[i][kind])
			}
		}
	}
	clean, rewritten := rows[0], rows[len(rows)-1]
	// Beside each memory once: meta and the shards, meta again for each further page
	// of 5,000, and the last page, which is empty.
	if most := memories + 1 + hippo.MinShards + memories/5000 + 1; clean.Reads > most || clean.IndexWrites != 0 {
		t.Errorf("a clean repair read %d documents and wrote %d, want %d at most and none", clean.Reads, clean.IndexWrites, most)
	}
	if rewritten.IndexWrites < 2*hippo.MinShards {
		t.Errorf("rewriting every shard wrote %d documents: there is nothing to compare with", rewritten.IndexWrites)
	}
}

func TestWhatRecordEpisodeFilesIsListedAtOnce(t *testing.T) {
	rows, err := bench.Freshness(t.Context(), localstack.Embedded, 10, 3, []time.Duration{0}, func(string, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows, want four", len(rows))
	}
	for _, row := range rows {
		if share := row.After[0].Share; row.Trials != 3 || row.Path == "RecordEpisode" && share != 1 {
			t.Errorf("%s by %s: %v of %d trials showed it at once", row.Change, row.Path, share, row.Trials)
		}
	}
}
