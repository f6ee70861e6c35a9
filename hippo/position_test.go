package hippo_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

var (
	firstMicros = hippo.MicrosOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
	lastMessage = hippo.MicrosOf(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
	lastMicros  = hippo.MicrosOf(time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC))
)

func microsGen() *rapid.Generator[hippo.Micros] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(int64(firstMicros), int64(lastMicros)), func(n int64) hippo.Micros { return hippo.Micros(n) }),
		rapid.Map(rapid.Int64Range(-3, 3), func(n int64) hippo.Micros { return hippo.Micros(n) }),
	)
}

func positionGen() *rapid.Generator[hippo.Position] {
	return rapid.Custom(func(t *rapid.T) hippo.Position {
		id := rapid.OneOf(rapid.StringMatching(`[ab]{0,3}`), rapid.String()).Draw(t, "id")
		return hippo.Position{At: microsGen().Draw(t, "at"), ID: hippo.MessageID(id)}
	})
}

func TestPositionsSortAsTheirStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := positionGen().Draw(t, "p"), positionGen().Draw(t, "q")
		if rapid.Bool().Draw(t, "at one time") {
			q.At = p.At
		}
		if got, want := strings.Compare(p.String(), q.String()), p.Compare(q); got != want {
			t.Fatalf("%q and %q compare as %d, the positions as %d", p, q, got, want)
		}
		if p.Compare(q) != -q.Compare(p) || p.Before(q) != (p.Compare(q) < 0) {
			t.Fatalf("%q and %q compare differently the other way round", p, q)
		}
	})
}

func TestPositionsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := positionGen().Filter(func(p hippo.Position) bool { _, err := hippo.NewMemoryID(string(p.ID)); return err == nil }).Draw(t, "position")
		if got, err := hippo.ParsePosition(p.String()); err != nil || got != p {
			t.Fatalf("%q reads as %v, error %v", p, got, err)
		}
		if after := p.After(); !p.Before(after) || after.At != p.At+1 {
			t.Fatalf("%q is not before %q, which lies behind its time", p, after)
		}
	})
}

func TestTextThatIsNoPositionIsRefused(t *testing.T) {
	for _, s := range []string{
		"", "_", "2026-03-01T09:30:00.000000Z", "2026-03-01T09:30:00.000000Z-m", "2026-03-01T09:30:00Z_m",
		"2026-03-01T09:30:00.00000Z_mm", "2026-13-01T09:30:00.000000Z_m", "2026-02-30T09:30:00.000000Z_m", "2026-03-01 09:30:00.000000Z_m",
		"0000-03-01T09:30:00.000000Z_m", "2026-03-01T09:30:00.000000Z_", "2026-03-01T09:30:00.000000Z_a/b", "2026-03-01T09:30:00.000000Z_..", "2026-03-01T09:30:00.000000Z_\xff",
	} {
		if got, err := hippo.ParsePosition(s); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%q reads as %v, error %v, want an invalid one", s, got, err)
		}
	}
}

func TestTimesAreTruncatedTowardsThePast(t *testing.T) {
	for at, want := range map[time.Time]string{
		time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC):                           "2026-03-01T09:30:00.000000Z",
		time.Date(2026, 3, 1, 9, 30, 0, 1999, time.UTC):                        "2026-03-01T09:30:00.000001Z",
		time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC):               "1969-12-31T23:59:59.999999Z",
		time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC):                               "0001-01-01T00:00:00.000000Z",
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC):               "9999-12-31T23:59:59.999999Z",
		time.Date(2026, 3, 1, 11, 30, 0, 0, time.FixedZone("two hours", 7200)): "2026-03-01T09:30:00.000000Z",
	} {
		if got := hippo.MicrosOf(at).String(); got != want {
			t.Errorf("%v is written %s, want %s", at, got, want)
		}
	}
}

func TestTimesReadBackFromJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := microsGen().Draw(t, "time")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got hippo.Micros
		if err := json.Unmarshal(text, &got); err != nil || got != want || hippo.MicrosOf(want.Time()) != want {
			t.Fatalf("%s reads as %s, error %v", text, got, err)
		}
	})
}

func TestOnlyATimeThatCanBeStoredIsRead(t *testing.T) {
	for s, want := range map[string]hippo.Micros{
		"1970-01-01T00:00:01Z":           1_000_000,
		"1970-01-01T02:00:00.5+02:00":    500_000,
		"1970-01-01T00:00:00.000001999Z": 1,
	} {
		if got, err := hippo.ParseMicros(s); err != nil || got != want {
			t.Errorf("%q reads as %d, error %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "yesterday", "1970-01-01", "1970-01-01T00:00:00", "1772323200", "10000-01-01T00:00:00Z", "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"} {
		if got, err := hippo.ParseMicros(s); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%q reads as %d, error %v, want an invalid one", s, got, err)
		}
	}
}
