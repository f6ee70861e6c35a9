package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/internal/bench"
)

func TestBenchTurnAndBenchLoadSpeakJSON(t *testing.T) {
	c := newCommand(t)
	for _, test := range []struct{ args, fields string }{
		{"bench turn --json --store embedded --threads 30 --memories 50", "store rows"},
		{"bench load --json --store embedded --clients 2 --tenants 2 --memories 50 --for 300ms", "store clients answers answers_per_second p50_milliseconds p99_milliseconds errors heap_megabytes"},
	} {
		var report map[string]any
		if err := json.Unmarshal([]byte(c.ok(strings.Fields(test.args)...)), &report); err != nil {
			t.Fatal(err)
		}
		for _, field := range strings.Fields(test.fields) {
			if report[field] == nil {
				t.Errorf("%s does not say %s: %v", test.args, field, report)
			}
		}
	}
	for args, flag := range map[string]string{"bench turn --memories 100,50": "--memories", "bench load --for 0s": "--for"} {
		if code, _, stderr := c.run(strings.Fields(args)...); code == 0 || !strings.Contains(stderr, flag) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}

func TestBenchReachSaysWhichFileItNeedsAndGoesWithoutAnAudit(t *testing.T) {
	c := newCommand(t)
	if code, _, stderr := c.run("bench", "reach"); code != 2 || !strings.Contains(stderr, "HIPPOFIRE_LOCOMO") {
		t.Errorf("without a file: exit code %d, %s", code, stderr)
	}
	path := invented(t)
	var report bench.ReachReport
	if err := json.Unmarshal([]byte(c.ok("bench", "reach", "--json", path)), &report); err != nil {
		t.Fatal(err)
	}
	if report.Questions != 10 || report.Audited != 0 {
		t.Errorf("without an audit: %d questions, %d audited", report.Questions, report.Audited)
	}
	if code, _, stderr := c.run("bench", "reach", path, "--audit", "nowhere.json"); code != 2 || !strings.Contains(stderr, "audit") {
		t.Errorf("with an audit that is not there: exit code %d, %s", code, stderr)
	}
}
