package textscan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/internal/dataset"
)

// maxFalse is how many of the texts of one sort may hit a rule.
const maxFalse = 2

// TestLoCoMoPasses scans what a real memory pass wrote about ten long
// conversations, none of which holds an attack: each hit is a false positive.
func TestLoCoMoPasses(t *testing.T) {
	summaries, observations := readLoCoMo(t)
	for name, texts := range map[string][]string{"summaries": summaries, "observations": observations} {
		hits := 0
		for _, text := range texts {
			if rule, hit := Scan(text); hit {
				hits++
				t.Logf("false positive, %s: %s", rule, text)
			}
		}
		if hits > maxFalse {
			t.Errorf("%d %s hit a rule; want %d at most", hits, name, maxFalse)
		}
		t.Logf("false positives: %d of %d LoCoMo %s", hits, len(texts), name)
	}
}

func readLoCoMo(t *testing.T) (summaries, observations []string) {
	t.Helper()
	var samples []struct {
		Summaries    map[string]string                         `json:"session_summary"`
		Observations map[string]map[string][][]json.RawMessage `json:"observation"`
	}
	if err := json.NewDecoder(dataset.LoCoMo(t)).Decode(&samples); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		for _, text := range s.Summaries {
			summaries = append(summaries, text)
		}
		for _, session := range s.Observations {
			for _, facts := range session {
				for _, fact := range facts {
					var text string
					if err := json.Unmarshal(fact[0], &text); err != nil {
						t.Fatal(err)
					}
					observations = append(observations, strings.TrimSpace(text))
				}
			}
		}
	}
	return summaries, observations
}
