package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/hippofire/hippofire/internal/localstack"
)

func embeddedWorld(t *testing.T) *World {
	t.Helper()
	w, err := Open(t.Context(), localstack.Embedded, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestTurnsAreMeasuredBesideTheirMessagesAlone(t *testing.T) {
	w := embeddedWorld(t)
	w.runs = 2
	report, err := w.Turn(t.Context(), "a", []int{30, 150}, []int{50, 60}, silent)
	if err != nil {
		t.Fatal(err)
	}
	// Meta is 1 document; one message more tells that there are older ones; the
	// buffer reads the first stretch and, of 18, the latest 12.
	reads := map[string]int{
		"30 its 30 messages alone": 30, "30 turn without the buffer": 31, "30 turn": 31,
		"150 its 30 messages alone": 30, "150 turn without the buffer": 32, "150 turn": 45,
	}
	for _, memories := range []int{50, 60} {
		for _, row := range report.Rows {
			if row.Memories != memories {
				continue
			}
			if want := reads[fmt.Sprint(row.Messages, " ", row.Way)]; row.Reads != want {
				t.Errorf("%+v, want %d documents", row, want)
			}
			if row.Bytes <= 0 || row.Mallocs == 0 || row.Runs != 2 || row.P95 < row.P50 || (row.Tokens > 0) != (row.Way != MessagesAlone) {
				t.Errorf("%+v", row)
			}
		}
	}
	if len(report.Rows) != 2*len(reads) {
		t.Errorf("%d rows, want one for each way, thread and number of memories", len(report.Rows))
	}
}

func TestLoadedFunctionsAnswerWithoutErrors(t *testing.T) {
	w := embeddedWorld(t)
	r, err := w.Load(t.Context(), "a", LoadPlan{Clients: 3, Tenants: 2, Memories: 50, For: 500 * time.Millisecond}, silent)
	if err != nil {
		t.Fatal(err)
	}
	if r.Answers == 0 || len(r.Errors) > 0 || r.PerSec <= 0 || r.P99 < r.P50 || r.HeapMB <= 0 || r.Clients != 3 || r.Tenants != 2 {
		t.Errorf("%+v", r)
	}
}
