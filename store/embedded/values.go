package embedded

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// maxFieldPathBytes is Firestore's limit for the path of a field.
const maxFieldPathBytes = 1500

// normal is a deep copy of fields in the form in which documents are kept: times
// in UTC and microseconds. What Firestore could not store is Invalid.
func normal(fields schema.Fields) (schema.Fields, error) {
	out := make(schema.Fields, len(fields))
	for name, v := range fields {
		if err := checkFieldName(name); err != nil {
			return nil, err
		}
		n, err := normalValue(v)
		if err != nil {
			return nil, hippo.InField(err, name)
		}
		out[name] = n
	}
	return out, nil
}

func checkFieldName(name string) error {
	reserved := len(name) >= 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
	if name == "" || reserved || len(name) > maxFieldPathBytes || !utf8.ValidString(name) {
		return hippo.Errorf(hippo.Invalid, "", "%.40q is no name for a field", name)
	}
	return nil
}

func normalValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v, nil
	case int:
		return int64(v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, hippo.Errorf(hippo.Invalid, "", "is not valid UTF-8")
		}
		return v, nil
	case []byte:
		return slices.Clone(v), nil
	case time.Time:
		if y := v.UTC().Year(); y < 1 || y > 9999 {
			return nil, hippo.Errorf(hippo.Invalid, "", "lies outside the years 1 to 9999")
		}
		return hippo.MicrosOf(v).Time(), nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			n, err := normalValue(e)
			if err != nil {
				return nil, err
			}
			out[i] = n
		}
		return out, nil
	case schema.Fields:
		return normal(v)
	}
	return nil, hippo.Errorf(hippo.Invalid, "", "a %s cannot be stored", fmt.Sprintf("%T", v))
}

// copyOf is a deep copy of a stored value, for a reader to keep.
func copyOf(v any) any {
	switch v := v.(type) {
	case []byte:
		return slices.Clone(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copyOf(e)
		}
		return out
	case schema.Fields:
		out := make(schema.Fields, len(v))
		for name, e := range v {
			out[name] = copyOf(e)
		}
		return out
	}
	return v
}

// fieldSize is what a field adds to the size of its document.
func fieldSize(name string, v any) int64 {
	return schema.Size("", schema.Fields{name: v}) - schema.Size("", nil)
}
