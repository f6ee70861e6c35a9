package openapi

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/functions"
)

// Schema is the part of JSON Schema that Go types come to.
type Schema struct {
	Ref                  string            `json:"$ref,omitempty"`
	Description          string            `json:"description,omitempty"`
	Type                 string            `json:"type,omitempty"`
	Format               string            `json:"format,omitempty"`
	Enum                 []string          `json:"enum,omitempty"`
	Properties           map[string]Schema `json:"properties,omitempty"`
	Required             []string          `json:"required,omitempty"`
	Items                *Schema           `json:"items,omitempty"`
	AnyOf                []Schema          `json:"anyOf,omitempty"`
	AdditionalProperties any               `json:"additionalProperties,omitempty"` // a Schema, or false
}

// writer turns Go types into schemas. Each struct becomes one of its own: what a
// function takes and answers under the function's name, any other under the type's,
// with the package's before it where two share one.
type writer struct {
	comments comments
	structs  []reflect.Type // in the order in which they were found
	asked    map[reflect.Type]bool
	schemas  map[string]Schema
}

func newWriter(c comments) *writer {
	return &writer{comments: c, asked: map[reflect.Type]bool{}, schemas: map[string]Schema{}}
}

var (
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// name notes a type and every struct that it is made of.
func (w *writer) name(t reflect.Type) {
	switch {
	case t.Implements(textType):
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		w.name(t.Elem())
	case t.Kind() == reflect.Struct && !slices.Contains(w.structs, t):
		w.structs = append(w.structs, t)
		for _, f := range fields(t) {
			w.name(f.Type)
			for _, other := range anyOf[t.Name()+"."+f.Name] {
				w.name(other)
			}
		}
	}
}

// settle writes the schema of every struct.
func (w *writer) settle() {
	for _, e := range functions.Endpoints() {
		w.ask(e.Request)
	}
	for _, t := range w.structs {
		w.schemas[w.nameOf(t)] = w.object(t)
	}
}

// ask notes the structs of requests, in which no other field may stand.
func (w *writer) ask(t reflect.Type) {
	switch {
	case t.Implements(textType):
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		w.ask(t.Elem())
	case t.Kind() == reflect.Struct && !w.asked[t]:
		w.asked[t] = true
		for _, f := range fields(t) {
			w.ask(f.Type)
		}
	}
}

func (w *writer) nameOf(t reflect.Type) string {
	for _, e := range functions.Endpoints() {
		switch t {
		case e.Request:
			return e.Name + "Request"
		case e.Response:
			return e.Name + "Response"
		}
	}
	shared := slices.ContainsFunc(w.structs, func(other reflect.Type) bool { return other != t && other.Name() == t.Name() })
	if !shared {
		return t.Name()
	}
	pkg := packageOf(t)
	return strings.ToUpper(pkg[:1]) + pkg[1:] + t.Name()
}

// packageOf is the package's path in the module.
func packageOf(t reflect.Type) string { return strings.TrimPrefix(t.PkgPath(), module+"/") }

func (w *writer) object(t reflect.Type) Schema {
	s := Schema{Type: "object", Description: w.comments.of(t, ""), Properties: map[string]Schema{}}
	if w.asked[t] {
		s.AdditionalProperties = false
	}
	for _, f := range fields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := w.schema(f.Type, w.comments.of(f.owner, f.Name))
		for _, other := range anyOf[t.Name()+"."+f.Name] {
			of.AnyOf = append(of.AnyOf, w.schema(other, ""))
		}
		s.Properties[name] = of
		if !strings.Contains(options, "omit") {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

func (w *writer) schema(t reflect.Type, description string) Schema {
	s := Schema{Description: description}
	switch {
	case t.Kind() == reflect.Pointer:
		return w.schema(t.Elem(), description)
	case t == rawType || t.Kind() == reflect.Interface:
	case t.Implements(textType):
		s.Type, s.Format = "string", "date-time"
	case t.Kind() == reflect.Struct:
		s.Ref = "#/components/schemas/" + w.nameOf(t)
	case t.Kind() == reflect.Slice:
		items := w.schema(t.Elem(), "")
		s.Type, s.Items = "array", &items
	case t.Kind() == reflect.Map:
		s.Type, s.AdditionalProperties = "object", w.schema(t.Elem(), "")
	case t.Kind() == reflect.String:
		s.Type, s.Enum = "string", w.comments.values(t)
	case t.Kind() == reflect.Bool:
		s.Type = "boolean"
	case t.Kind() == reflect.Float64:
		s.Type = "number"
	default:
		s.Type = "integer"
	}
	return s
}

// field is a field of a struct, or of one embedded in it, which is its owner then.
type field struct {
	reflect.StructField
	owner reflect.Type
}

// fields are those that JSON has.
func fields(t reflect.Type) (out []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous:
			out = append(out, fields(f.Type)...)
		case f.IsExported() && f.Tag.Get("json") != "-":
			out = append(out, field{f, t})
		}
	}
	return out
}
