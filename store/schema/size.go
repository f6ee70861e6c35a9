package schema

import (
	"strings"
	"time"
)

// Size is Firestore's storage size of a document, in bytes: its name, its
// fields, and 32 more. The path is relative to the database, as the name's size
// does not count what lies before. Source: Firestore, "Storage size
// calculations".
func Size(path string, f Fields) int64 {
	n := 16 + 32
	for s := range strings.SplitSeq(path, "/") {
		n += len(s) + 1
	}
	return int64(n + mapSize(f))
}

func mapSize(f Fields) int {
	n := 0
	for field, v := range f {
		n += len(field) + 1 + valueSize(v)
	}
	return n
}

func valueSize(v any) int {
	switch v := v.(type) {
	case nil, bool:
		return 1
	case int64, float64, time.Time:
		return 8
	case string:
		return len(v) + 1
	case []byte:
		return len(v)
	case []any:
		n := 0
		for _, e := range v {
			n += valueSize(e)
		}
		return n
	case Fields:
		return mapSize(v)
	}
	return 16 // a geo point, the one other type of a fixed size
}
