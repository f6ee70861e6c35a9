package importer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/dataset"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/internal/importer"
)

// backend is the functions of a fixture, called directly.
func backend(f *fixture.Fixture) *functions.App {
	f.Helper()
	config, err := functions.ConfigFromEnv(f.Context(), envconfig.MapLookuper(nil))
	f.Must(err)
	app, err := functions.New(config, functions.Parts{Store: f.Fault, Log: f.Log()})
	f.Must(err)
	return app
}

// locomo is a conversation in the data set's form, invented here.
const locomo = `[{
  "sample_id": "conv-1",
  "conversation": {
    "speaker_a": "Ann", "speaker_b": "Ben",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
      {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a canoe."},
      {"speaker": "Ben", "dia_id": "D1:2", "text": "Look at mine", "blip_caption": "a photo of a red canoe"}
    ],
    "session_2_date_time": "12:09 am on 13 September, 2023",
    "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "Sold it."}],
    "session_3_date_time": "10:00 am on 14 September, 2023"
  },
  "observation": {
    "session_1_observation": {"Ann": [["Ann owns a canoe.", "D1:1"]], "Ben": [["Ben owns a red canoe.", ["D1:2"]]]},
    "session_2_observation": {"Ben": [["Ben sold his canoe.", "D2:1"]]}
  },
  "session_summary": {"session_1_summary": "Ann and Ben talked about canoes.", "session_2_summary": "Ben sold his."},
  "qa": [{"question": "What did Ben sell?", "evidence": ["D2:1"], "category": 4, "answer": "a canoe"}]
}]`

func importLocomo(f *fixture.Fixture) importer.Summary {
	f.Helper()
	conversations, err := importer.ReadLocomo(strings.NewReader(locomo))
	f.Must(err)
	sum, err := importer.Locomo(f.Context(), backend(f), conversations, func(string, int, int) {})
	f.Must(err)
	return sum
}

func TestLocomoIsImportedAsItIs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		if diff := cmp.Diff(importer.Summary{Messages: 3, Passes: 2, Memories: 3}, importLocomo(f)); diff != "" {
			t.Error(diff)
		}
		messages, err := f.Direct.RecentMessages(t.Context(), "conv-1", importer.LocomoThread, 10)
		f.Must(err)
		var got []string
		for _, m := range messages {
			got = append(got, fmt.Sprintf("%s %s %s %s %s", m.ID, m.Role, m.Speaker, m.CreatedAt, m.Content))
		}
		if diff := cmp.Diff([]string{
			"D1:1 user Ann 2023-05-08T13:56:00.000000Z I bought a canoe.",
			"D1:2 assistant Ben 2023-05-08T13:56:01.000000Z Look at mine [a photo of a red canoe]",
			"D2:1 assistant Ben 2023-09-13T00:09:00.000000Z Sold it.",
		}, got); diff != "" {
			t.Error(diff)
		}
		first, found, err := f.Direct.FirstEpisode(t.Context(), "conv-1", importer.LocomoThread)
		f.Must(err)
		if !found || first.Gist != "Ann and Ben talked about canoes." || len(first.Pointers) != 2 {
			t.Errorf("the first episode is %+v", first)
		}
		ben, err := f.Direct.Memory(t.Context(), "conv-1", f.ID("Ben/session 01"))
		if err != nil || ben.Content != "- Ben owns a red canoe. (D1:2)\n" {
			t.Errorf("%+v %v", ben, err)
		}
	})
}

func TestSecondImportChangesNothing(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		importLocomo(f)
		if diff := cmp.Diff(importer.Summary{Existing: 3, Repeated: 2}, importLocomo(f)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRealDataSetIsRead(t *testing.T) {
	file := dataset.LoCoMo(t)
	conversations, err := importer.ReadLocomo(file)
	if err != nil {
		t.Fatal(err)
	}
	var sessions, turns, questions int
	for _, c := range conversations {
		sessions += len(c.Sessions)
		questions += len(c.QA)
		for _, s := range c.Sessions {
			turns += len(s.Turns)
		}
	}
	if got := []int{len(conversations), sessions, turns, questions}; !cmp.Equal(got, []int{10, 272, 5882, 1986}) {
		t.Errorf("%v conversations, sessions, turns and questions, want 10, 272, 5882 and 1986", got)
	}
}

func TestDamagedDataSetNamesTheConversation(t *testing.T) {
	for _, damage := range [][2]string{
		{"1:56 pm on 8 May, 2023", "some time"},
		{`"sample_id": "conv-1"`, `"sample_id": "a/b"`},
		{`["Ann owns a canoe.", "D1:1"]`, `"Ann owns a canoe."`},
	} {
		_, err := importer.ReadLocomo(strings.NewReader(strings.Replace(locomo, damage[0], damage[1], 1)))
		if !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), "conversation 1") {
			t.Errorf("%s: %v", damage[1], err)
		}
	}
}

func importLines(f *fixture.Fixture, text string) (importer.Summary, error) {
	return importer.Messages(f.Context(), backend(f), strings.NewReader(text), func(int) {})
}

func TestTranscriptIsImportedOnce(t *testing.T) {
	f := fixture.Embedded(t)
	var text strings.Builder
	for i := range 250 {
		fmt.Fprintf(&text, `{"role":"user","content":"again","created_at":"2026-10-01T10:00:00Z","thread":"th%d"}`+"\n\n", i%2)
	}
	for _, want := range []importer.Summary{{Messages: 250}, {Existing: 250}} {
		got, err := importLines(f, text.String())
		f.Must(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRunOfMessagesIsNoLargerThanACallTakesWithTheirSpeakers(t *testing.T) {
	f := fixture.Embedded(t)
	content := strings.Repeat("x", hippo.MaxSaveBytes/100)
	var text strings.Builder
	for range 100 {
		fmt.Fprintf(&text, `{"role":"user","content":"%s","created_at":"2026-10-01T10:00:00Z","speaker":"Caroline"}`+"\n", content)
	}
	got, err := importLines(f, text.String())
	f.Must(err)
	if got.Messages != 100 {
		t.Errorf("%+v", got)
	}
}

func TestBadLineIsNumberedAndWhatCameBeforeStays(t *testing.T) {
	const good = `{"role":"user","content":"x","created_at":"2026-10-01T10:00:00Z"}` + "\n"
	for name, bad := range map[string]string{
		"not JSON":       `{"role":`,
		"unknown field":  `{"role":"user","content":"x","created_at":"2026-10-01T10:00:00Z","colour":1}`,
		"no time":        `{"role":"user","content":"x"}`,
		"bad time":       `{"role":"user","content":"x","created_at":"noon"}`,
		"no real time":   `{"role":"user","content":"x","created_at":"1970-01-01T00:00:00Z"}`,
		"too late":       `{"role":"user","content":"x","created_at":"9999-12-31T23:59:59Z"}`,
		"unknown role":   `{"role":"robot","content":"x","created_at":"2026-10-01T10:00:00Z"}`,
		"bad thread":     `{"role":"user","content":"x","created_at":"2026-10-01T10:00:00Z","thread":"a/b"}`,
		"far too long":   `{"role":"user","content":"` + strings.Repeat("x", 2<<20) + `"}`,
		"too large":      `{"role":"user","content":"` + strings.Repeat("x", hippo.MaxMessageBytes+1) + `","created_at":"2026-10-01T10:00:00Z"}`,
		"invalid tenant": `{"role":"user","content":"x","created_at":"2026-10-01T10:00:00Z","tenant":".."}`,
	} {
		sum, err := importLines(fixture.Embedded(t), good+good+bad+"\n"+good)
		if err == nil || !strings.Contains(err.Error(), "line 3") || sum.Messages != 2 {
			t.Errorf("%s: %+v %v", name, sum, err)
		}
	}
}

func TestInterruptedImportGoesOn(t *testing.T) {
	f := fixture.Embedded(t)
	ctx, cancel := context.WithCancel(t.Context())
	conversations, err := importer.ReadLocomo(strings.NewReader(locomo))
	f.Must(err)
	_, err = importer.Locomo(ctx, backend(f), conversations, func(string, int, int) { cancel() })
	if !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("an import that was cancelled ended with %v", err)
	}
	if diff := cmp.Diff(importer.Summary{Messages: 1, Existing: 2, Passes: 1, Repeated: 1, Memories: 1}, importLocomo(f)); diff != "" {
		t.Error(diff)
	}
}
