package hippo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

func said(id hippo.MessageID, at hippo.Micros) hippo.Message {
	return hippo.Message{ID: id, Role: hippo.User, Content: "c", CreatedAt: at}
}

func TestSavingPlansWhatIsNotThere(t *testing.T) {
	const now = 1000
	stored := map[hippo.MessageID]hippo.Message{"a": said("a", 5)}
	for name, c := range map[string]struct{ ask, want []hippo.Message }{
		"nothing asked":           {nil, nil},
		"all there already":       {[]hippo.Message{said("a", 9)}, nil},
		"without times":           {[]hippo.Message{said("b", 0), said("a", 0), said("c", 0)}, []hippo.Message{said("b", now), said("c", now+1)}},
		"with times":              {[]hippo.Message{said("b", 7), said("c", 9)}, []hippo.Message{said("b", 7), said("c", 9)}},
		"times run backwards":     {[]hippo.Message{said("b", 9), said("c", 7)}, []hippo.Message{said("c", 7), said("b", 9)}},
		"equal times keep order":  {[]hippo.Message{said("c", 7), said("b", 7), said("d", 7)}, []hippo.Message{said("c", 7), said("b", 8), said("d", 9)}},
		"a time pushes the next":  {[]hippo.Message{said("b", 7), said("c", 7), said("d", 8)}, []hippo.Message{said("b", 7), said("c", 8), said("d", 9)}},
		"one id twice":            {[]hippo.Message{said("b", 7), said("c", 9), said("b", 8)}, []hippo.Message{said("b", 7), said("c", 9)}},
		"before 1970":             {[]hippo.Message{said("b", -7), said("c", 0)}, []hippo.Message{said("b", -7), said("c", now)}},
		"far apart does not wrap": {[]hippo.Message{said("b", lastMicros), said("c", firstMicros)}, []hippo.Message{said("c", firstMicros), said("b", lastMicros)}},
	} {
		if diff := cmp.Diff(c.want, hippo.PlanSave(c.ask, stored, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPlannedTimesStrictlyIncreaseAndNeverRunAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ask := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) hippo.Message {
			return said(hippo.MessageID(rapid.StringMatching(`[a-z]{1,6}`).Draw(t, "id")), hippo.Micros(rapid.Int64Range(-3, 6).Draw(t, "at")))
		}), func(m hippo.Message) hippo.MessageID { return m.ID }).Draw(t, "messages")
		given := slices.Clone(ask)
		plan := hippo.PlanSave(ask, nil, 4)
		if !slices.EqualFunc(ask, given, func(a, b hippo.Message) bool { return a.CreatedAt == b.CreatedAt }) {
			t.Fatal("what was asked for was changed")
		}
		if len(plan) != len(ask) {
			t.Fatalf("%d of %d messages planned", len(plan), len(ask))
		}
		for i := 1; i < len(plan); i++ {
			if plan[i].CreatedAt <= plan[i-1].CreatedAt {
				t.Fatalf("message %d at %d after one at %d", i, plan[i].CreatedAt, plan[i-1].CreatedAt)
			}
		}
	})
}

func TestAMessageThatBreaksARuleIsRefusedByField(t *testing.T) {
	call := hippo.ToolCall{ID: "c", Name: "open_memory", Arguments: "{}"}
	for name, c := range map[string]struct {
		message hippo.Message
		kind    hippo.ErrorKind
		field   string
	}{
		"no id":                     {hippo.Message{Role: hippo.User, Content: "c"}, hippo.Invalid, "id"},
		"an id with a slash":        {hippo.Message{ID: "a/b", Role: hippo.User, Content: "c"}, hippo.Invalid, "id"},
		"no role":                   {hippo.Message{ID: "a", Content: "c"}, hippo.Invalid, "role"},
		"an unknown role":           {hippo.Message{ID: "a", Role: "developer", Content: "c"}, hippo.Invalid, "role"},
		"no content":                {hippo.Message{ID: "a", Role: hippo.User}, hippo.Invalid, "content"},
		"content that is no text":   {hippo.Message{ID: "a", Role: hippo.User, Content: "\xff"}, hippo.Invalid, "content"},
		"a speaker that is no text": {hippo.Message{ID: "a", Role: hippo.User, Content: "c", Speaker: "\xff"}, hippo.Invalid, "speaker"},
		"too much content":          {hippo.Message{ID: "a", Role: hippo.User, Content: strings.Repeat("x", hippo.MaxMessageBytes+1)}, hippo.TooLarge, "content"},
		"too much in calls":         {hippo.Message{ID: "a", Role: hippo.Assistant, ToolCalls: []hippo.ToolCall{{ID: "c", Name: "n", Arguments: strings.Repeat("x", hippo.MaxMessageBytes)}}}, hippo.TooLarge, "content"},
		"a user's call":             {hippo.Message{ID: "a", Role: hippo.User, Content: "c", ToolCalls: []hippo.ToolCall{call}}, hippo.Invalid, "tool_calls"},
		"a call without an id":      {hippo.Message{ID: "a", Role: hippo.Assistant, ToolCalls: []hippo.ToolCall{call, {Name: "n"}}}, hippo.Invalid, "tool_calls[1]"},
		"a call without a name":     {hippo.Message{ID: "a", Role: hippo.Assistant, ToolCalls: []hippo.ToolCall{{ID: "c"}}}, hippo.Invalid, "tool_calls[0]"},
		"a call that is no text":    {hippo.Message{ID: "a", Role: hippo.Assistant, ToolCalls: []hippo.ToolCall{{ID: "c", Name: "n", Arguments: "\xff"}}}, hippo.Invalid, "tool_calls[0]"},
		"an answer to no call":      {hippo.Message{ID: "a", Role: hippo.Tool, Content: "c"}, hippo.Invalid, "tool_call_id"},
		"a user's answer":           {hippo.Message{ID: "a", Role: hippo.User, Content: "c", ToolCallID: "c"}, hippo.Invalid, "tool_call_id"},
		"two calls of one id":       {hippo.Message{ID: "a", Role: hippo.Assistant, ToolCalls: []hippo.ToolCall{call, {ID: "d", Name: "n"}, call}}, hippo.Invalid, "tool_calls[2]"},
		"too long a speaker":        {hippo.Message{ID: "a", Role: hippo.User, Content: "c", Speaker: strings.Repeat("x", hippo.MaxSpeakerBytes+1)}, hippo.TooLarge, "speaker"},
		"no text at all":            {hippo.Message{ID: "a", Role: hippo.User, Content: "\xff", Speaker: "\xff"}, hippo.Invalid, "content"},
		"before the year 1":         {hippo.Message{ID: "a", Role: hippo.User, Content: "c", CreatedAt: firstMicros - 1}, hippo.Invalid, "created_at"},
		"on the last day":           {hippo.Message{ID: "a", Role: hippo.User, Content: "c", CreatedAt: lastMessage + 1}, hippo.Invalid, "created_at"},
	} {
		var e *hippo.Error
		if err := c.message.Check(); !errors.As(err, &e) || e.Kind != c.kind || e.Field != c.field {
			t.Errorf("%s: error %v, want one of kind %q about %s", name, err, c.kind, c.field)
		}
	}
}

func TestAMessageThatKeepsTheRulesPasses(t *testing.T) {
	for name, m := range map[string]hippo.Message{
		"plain":                  said("a", 0),
		"the earliest time":      said("a", firstMicros),
		"the latest time":        said("a", lastMessage),
		"the longest speaker":    {ID: "a", Role: hippo.User, Content: "c", Speaker: strings.Repeat("x", hippo.MaxSpeakerBytes)},
		"as large as can be":     {ID: "a", Role: hippo.User, Content: strings.Repeat("x", hippo.MaxMessageBytes)},
		"a call without content": {ID: "a", Role: hippo.Assistant, ToolCalls: []hippo.ToolCall{{ID: "c", Name: "n"}}},
		"an empty answer":        {ID: "a", Role: hippo.Tool, ToolCallID: "c"},
		"system":                 {ID: "a", Role: hippo.System, Content: "Be brief.", Speaker: "Ann"},
	} {
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheLatestMessagesOfACallCanBeStored(t *testing.T) {
	var ask []hippo.Message
	for i := range hippo.MaxMessages {
		ask = append(ask, said(hippo.MessageID(fmt.Sprint(i)), lastMessage))
	}
	plan := hippo.PlanSave(ask, nil, 0)
	if last := plan[len(plan)-1].Position(); !last.Before(hippo.EndOfTime) || last.After().At > lastMicros {
		t.Errorf("the last one stands at %s", last)
	}
}

func TestALabelThatIsTooLongIsCutBetweenCodePoints(t *testing.T) {
	for speaker, want := range map[string]int{"": 0, "Ann": 3, strings.Repeat("x", 256): 256, strings.Repeat("x", 257): 256, "x" + strings.Repeat("é", 200): 255} {
		if label := (hippo.Message{Speaker: speaker}).Label(); len(label) != want || !strings.HasPrefix(speaker, label) {
			t.Errorf("%d bytes are shown as %q", len(speaker), label)
		}
	}
}

func TestAHandleDependsOnItsPositionAlone(t *testing.T) {
	// The first 40 bits of SHA-256 in base32, computed by another program. Stored
	// episodes carry them.
	at, err := hippo.ParseMicros("2026-03-01T09:30:00Z")
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[hippo.Position]string{{At: at, ID: "m1"}: "tdgfwig3", {}: "iy74sgv7"} {
		if got := hippo.HandleOf(p); got != want {
			t.Errorf("handle of %s is %q, want %q", p, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		handle := hippo.HandleOf(positionGen().Draw(t, "position"))
		if err := hippo.CheckHandle(handle); err != nil || len(handle) != 8 {
			t.Fatalf("handle %q: %v", handle, err)
		}
	})
}

func TestTextThatIsNoHandleIsRefused(t *testing.T) {
	for _, s := range []string{"", "tdgfwig", "tdgfwig33", "TDGFWIG3", "tdgfwig1", "tdgfwig=", "tdgfw g3", "tdgfwig3tdgfwig3", "[tdgfwi]", "tdgf\nwig3", "tdgfwig3\r\n"} {
		if err := hippo.CheckHandle(s); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%q: error %v, want an invalid one", s, err)
		}
	}
}
