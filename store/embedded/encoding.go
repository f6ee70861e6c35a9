package embedded

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// typed is a stored value in JSON that does not lose its type: strings, booleans
// and null as they are, lists as arrays, and anything else as an object of one
// member whose name is the type and whose value is text (of a map: an object).
type typed struct{ value any }

// The types that JSON cannot tell apart by itself.
const (
	tagInt   = "i"
	tagFloat = "d"
	tagTime  = "t"
	tagBytes = "b"
	tagMap   = "m"
)

func (t typed) MarshalJSON() ([]byte, error) { return json.Marshal(plain(t.value)) }

func (t *typed) UnmarshalJSON(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	var err error
	t.value, err = parsed(v)
	return err
}

// plain is the value in what JSON has.
func plain(v any) any {
	switch v := v.(type) {
	case int64:
		return map[string]string{tagInt: strconv.FormatInt(v, 10)}
	case float64:
		return map[string]string{tagFloat: strconv.FormatFloat(v, 'g', -1, 64)}
	case time.Time:
		return map[string]string{tagTime: hippo.MicrosOf(v).String()}
	case []byte:
		return map[string]string{tagBytes: base64.StdEncoding.EncodeToString(v)}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case schema.Fields:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = plain(e)
		}
		return map[string]any{tagMap: out}
	}
	return v
}

// parsed is the value that plain was given.
func parsed(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			var err error
			if v[i], err = parsed(e); err != nil {
				return nil, err
			}
		}
		return v, nil
	case map[string]any:
		if len(v) != 1 {
			return nil, hippo.Errorf(hippo.Invalid, "", "an object of %d members is no value", len(v))
		}
		for tag, of := range v {
			return parsedTag(tag, of)
		}
	case float64:
		return nil, hippo.Errorf(hippo.Invalid, "", "the number %v has no type", v)
	}
	return v, nil
}

func parsedTag(tag string, of any) (any, error) {
	if members, ok := of.(map[string]any); ok && tag == tagMap {
		for name, e := range members {
			var err error
			if members[name], err = parsed(e); err != nil {
				return nil, err
			}
		}
		return members, nil
	}
	text, ok := of.(string)
	if !ok {
		return nil, hippo.Errorf(hippo.Invalid, "", "%q is no type of a value", tag)
	}
	switch tag {
	case tagInt:
		return strconv.ParseInt(text, 10, 64)
	case tagFloat:
		return strconv.ParseFloat(text, 64)
	case tagTime:
		var at hippo.Micros
		err := at.UnmarshalText([]byte(text))
		return at.Time(), err
	case tagBytes:
		return base64.StdEncoding.DecodeString(text)
	}
	return nil, hippo.Errorf(hippo.Invalid, "", "%q is no type of a value", tag)
}
