package emulatortests

import (
	"flag"
	"testing"
	"time"

	"github.com/hippofire/hippofire/emulator-tests/environment"
	"github.com/hippofire/hippofire/hippo"
)

var (
	seeds  = flag.Int("seeds", 2, "seeds that TestHistoriesOnTheEmulator runs")
	events = flag.Int("events", 1000, "events of TestManyEvents; docs/repair.md names the command for 100,000")
)

// TestHistoriesOnTheEmulator runs random histories in which everything goes wrong
// at once, and demands that the nightly repair puts it right. In each second one
// the index has to grow as well.
func TestHistoriesOnTheEmulator(t *testing.T) {
	for n := range *seeds {
		skew := []time.Duration{90 * time.Second, -90 * time.Second}[n%2]
		grows := n%2 == 0
		t.Run(skew.String(), func(t *testing.T) {
			e := environment.Start(t, environment.Setup{Drop: 0.1, Duplicate: 0.2, MaxDelay: 300 * time.Millisecond, Faults: 20, Skew: skew})
			for round := range 2 {
				e.Change(200)
				if grows && round == 0 {
					e.Import(e.Tenants()[0], 450)
				}
				e.Restart()
				for _, tenant := range e.Tenants() {
					e.DeleteIndexDocument(tenant)
				}
			}
			e.Settle()
			e.Repair()
			e.WantRight()
			if shards := e.Shards(e.Tenants()[0]); grows && shards <= hippo.MinShards {
				t.Errorf("the index still has %d shards", shards)
			}
			e.WantNothingToRepair()
			t.Log(e.Summary())
		})
	}
}

// TestManyEvents delivers many events of which none is lost, doubled, late, out
// of order, to a process that is killed again and again and whose calls fail; no
// repair is asked for by anybody but by the functions themselves.
func TestManyEvents(t *testing.T) {
	e := environment.Start(t, environment.Setup{Tenants: 8, Names: 1000, Duplicate: 0.1, MaxDelay: 2 * time.Second, Faults: 10})
	some := max(*events/10, 500) // between two kills
	for left := *events; left > 0; left -= some {
		e.Change(min(left, some))
		e.Restart()
	}
	e.Settle()
	e.WantRight()
	t.Log(e.Summary())
}
