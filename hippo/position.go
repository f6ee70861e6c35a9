package hippo

import (
	"cmp"
	"strings"
	"time"
)

// Micros is a time in microseconds since 1970 UTC, the precision to which
// Firestore keeps timestamps. In JSON it is RFC 3339 text.
type Micros int64

const microsLayout = "2006-01-02T15:04:05.000000Z"

// The times that Firestore can store: the years 1 to 9999.
var (
	minMicros = MicrosOf(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))
	maxMicros = MicrosOf(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC))
)

// MicrosOf truncates t to microseconds, towards the past.
func MicrosOf(t time.Time) Micros { return Micros(t.UnixMicro()) }

// Time is the same instant in UTC.
func (m Micros) Time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// String is the time in RFC 3339 with all six digits of a second, so that
// strings sort as the times do.
func (m Micros) String() string { return m.Time().Format(microsLayout) }

// MarshalText writes String's form.
func (m Micros) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what ParseMicros does.
func (m *Micros) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMicros(string(text))
	return err
}

// ParseMicros reads an RFC 3339 time in any zone. Its error is of kind Invalid.
func ParseMicros(s string) (Micros, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, Errorf(Invalid, "", "%q is no RFC 3339 time such as 2026-10-11T09:30:00Z", s)
	}
	m := MicrosOf(t)
	if m < minMicros || m > maxMicros {
		return 0, Errorf(Invalid, "", "%q lies outside the years 1 to 9999", s)
	}
	return m, nil
}

// Position is the place of a message in its thread: by time, then by id.
type Position struct {
	At Micros
	ID MessageID
}

// Compare orders positions by time, then by the bytes of the message id.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.At, q.At), strings.Compare(string(p.ID), string(q.ID)))
}

// Before says whether p comes before q.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// After is the first position that lies behind every message of p's time.
func (p Position) After() Position { return Position{At: p.At + 1} }

// String is the stored form of a position. Strings sort by their bytes as the
// positions do, and an episode's document id is its stretch's last position.
func (p Position) String() string { return p.At.String() + "_" + string(p.ID) }

// EndOfTime lies behind every message that SaveTurn takes.
var EndOfTime = Position{At: maxMicros}

// ParsePosition reads the form that String writes, of a position whose id can stand
// in a path. Its error is of kind Invalid.
func ParsePosition(s string) (Position, error) {
	if len(s) < len(microsLayout)+1 || s[len(microsLayout)] != '_' {
		return Position{}, Errorf(Invalid, "", "%q is no position", s)
	}
	t, err := time.Parse(microsLayout, s[:len(microsLayout)])
	if err != nil {
		return Position{}, Errorf(Invalid, "", "%q is no position", s)
	}
	p := Position{At: MicrosOf(t), ID: MessageID(s[len(microsLayout)+1:])}
	if p.At < minMicros || checkDocumentID(string(p.ID), MaxDocumentIDBytes) != nil {
		return Position{}, Errorf(Invalid, "", "%q is no position", s)
	}
	return p, nil
}
