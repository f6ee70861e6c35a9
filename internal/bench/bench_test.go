package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/localstack"
)

func silent(string, int) {}

// openWorlds gives a test both stores.
func openWorlds(t *testing.T, test func(t *testing.T, w *World)) {
	for _, kind := range []localstack.StoreKind{localstack.Embedded, localstack.Emulator} {
		t.Run(string(kind), func(t *testing.T) {
			host := ""
			if kind == localstack.Emulator {
				host = emulatortest.Firestore(t)
			}
			w, err := Open(t.Context(), kind, host)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			test(t, w)
		})
	}
}

func TestEveryWayListsTheSameAndCostsWhatItSays(t *testing.T) {
	byStore := make(map[string][]ListRow)
	openWorlds(t, func(t *testing.T, w *World) {
		w.runs = 2
		report, err := w.List(t.Context(), "a", []int{20, 60}, silent)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Rows) != 2*len(Ways()) {
			t.Errorf("%d rows, want one for each way and size", len(report.Rows))
		}
		for way, want := range map[Way]int{FullScan: 60, TimesScan: 60, Cold: 9, WarmChanged: 2, Warm: 1} {
			if row := report.Row(way, 60); row.Reads != want || row.Bytes <= 0 || row.Runs != 2 {
				t.Errorf("%s: %+v, want %d documents", way, row, want)
			}
		}
		for _, size := range []int{20, 60} {
			if report.Query[size] <= 0 || report.WarmOverQuery[size] <= 0 {
				t.Errorf("%d memories: a query that finds nothing took %v ms, a warm list %v times as long", size, report.Query[size], report.WarmOverQuery[size])
			}
		}
		byStore[t.Name()] = report.Rows
	})
	var bytesOf []map[Way]int64
	for _, rows := range byStore {
		m := make(map[Way]int64)
		for _, row := range rows {
			if row.Way != WarmChanged { // which shard changes last depends on how often it ran
				m[row.Way] += row.Bytes
			}
		}
		bytesOf = append(bytesOf, m)
	}
	if len(bytesOf) == 2 {
		for way, n := range bytesOf[0] {
			if n != bytesOf[1][way] {
				t.Errorf("%s: %d bytes on one store and %d on the other", way, n, bytesOf[1][way])
			}
		}
	}
}

func TestChartIsAPictureWithAllWaysInIt(t *testing.T) {
	report := ListReport{Store: "a <store>", ContentBytes: 2000}
	for i, memories := range []int{100, 1000, 100_000} {
		for j, way := range Ways() {
			report.Rows = append(report.Rows, ListRow{Memories: memories, Way: way, P50: float64(1 + i*(len(Ways())-j)), Reads: 9, Runs: 1})
		}
	}
	var b bytes.Buffer
	if err := report.WriteChart(&b); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	wanted := []string{"memories on file", "time until the list is there", "100,000", "prefers-color-scheme: dark", "a &lt;store&gt;"}
	for _, way := range Ways() {
		wanted = append(wanted, ">"+string(way)+"<")
	}
	for _, text := range wanted {
		if !strings.Contains(svg, text) {
			t.Errorf("the chart lacks %q", text)
		}
	}
	if n := strings.Count(svg, "<circle"); n != len(report.Rows) {
		t.Errorf("%d points, want %d", n, len(report.Rows))
	}
}

func TestImportThroughEventsEndsEqual(t *testing.T) {
	modes := []HookMode{{Name: "backlog", Open: 100}, {Name: "paced", Open: 20, PerSecond: 400}}
	rows, err := Hook(t.Context(), localstack.Embedded, 300, modes, silent)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if !row.Equal || row.Changes != 300 || row.ShardCommits < 8 || row.ShardCommits > 300 || row.Reads < 300 {
			t.Errorf("%+v", row)
		}
	}
	if len(rows) != 2 || rows[0].ShardCommits > 150 {
		t.Errorf("a backlog of 300 changes with 100 requests open took %d commits", rows[0].ShardCommits)
	}
}
