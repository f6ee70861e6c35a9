package episodewriter_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/episodewriter"
)

// schema is a JSON Schema as docs/record-episode.schema.json uses it.
type schema struct {
	Type                 string            `json:"type"`
	Description          string            `json:"description"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	Items                *schema           `json:"items"`
	AdditionalProperties *bool             `json:"additionalProperties"`
	Ref                  string            `json:"$ref"`

	Dialect string            `json:"$schema,omitempty"`
	Title   string            `json:"title,omitempty"`
	Defs    map[string]schema `json:"$defs,omitempty"`
}

func readSchema(t *testing.T) schema {
	t.Helper()
	text, err := os.ReadFile("../docs/record-episode.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	return root
}

// at follows a reference.
func (root schema) at(t *testing.T, s schema) schema {
	t.Helper()
	if s.Ref == "" {
		return s
	}
	at := root
	steps := strings.Split(strings.TrimPrefix(s.Ref, "#/"), "/")
	for i := 0; i < len(steps); i++ {
		switch steps[i] {
		case "$defs":
			i++
			at = at.Defs[steps[i]]
		case "properties":
			i++
			at = at.Properties[steps[i]]
		case "items":
			at = *at.Items
		}
	}
	if at.Type == "" {
		t.Fatalf("%s leads nowhere", s.Ref)
	}
	return at
}

// TestSchemaIsWhatTheFunctionTakes holds the schema of the whole input against
// the Go type.
func TestSchemaIsWhatTheFunctionTakes(t *testing.T) {
	root := readSchema(t)
	agrees(t, root, root, reflect.TypeFor[episodewriter.Request](), "")
}

func agrees(t *testing.T, root, s schema, goType reflect.Type, path string) {
	t.Helper()
	s = root.at(t, s)
	want := map[reflect.Kind]string{reflect.String: "string", reflect.Slice: "array", reflect.Struct: "object"}[goType.Kind()]
	if s.Type != want {
		t.Errorf("%s is of type %q, want %q", path, s.Type, want)
		return
	}
	switch want {
	case "array":
		agrees(t, root, *s.Items, goType.Elem(), path+"[]")
	case "object":
		if s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("%s takes other properties; the function does not", path)
		}
		var required []string
		for i := range goType.NumField() {
			name, options, _ := strings.Cut(goType.Field(i).Tag.Get("json"), ",")
			if options == "" {
				required = append(required, name)
			}
			property, ok := s.Properties[name]
			if !ok {
				t.Errorf("%s lacks %q", path, name)
				continue
			}
			agrees(t, root, property, goType.Field(i).Type, path+"."+name)
		}
		if len(s.Properties) != goType.NumField() {
			t.Errorf("%s has %d properties, the Go type %d", path, len(s.Properties), goType.NumField())
		}
		if !slices.Equal(s.Required, required) {
			t.Errorf("%s requires %q, the Go type %q", path, s.Required, required)
		}
	}
}

// TestPartThatAModelFillsInIsAStructuredOutput holds that part to what model
// providers ask of a schema in their strict modes: every property required, none
// but those named, and no reference out of it.
func TestPartThatAModelFillsInIsAStructuredOutput(t *testing.T) {
	filed := readSchema(t).Defs["filed"]
	strict(t, filed, "filed")
	for name := range filed.Properties {
		field, ok := fieldOf(reflect.TypeFor[episodewriter.Request](), name)
		if !ok {
			t.Errorf("the function takes no %q", name)
			continue
		}
		takes(t, filed.Properties[name], field, name)
	}
	for _, own := range []string{"tenant", "thread", "from", "to", "speaker", "wrote"} {
		if _, ok := filed.Properties[own]; ok {
			t.Errorf("a model is asked for %q, which is the backend's to say", own)
		}
	}
}

func strict(t *testing.T, s schema, path string) {
	t.Helper()
	if s.Ref != "" || s.Description == "" && s.Type == "object" && path == "filed" {
		t.Errorf("%s is a reference, or says nothing", path)
	}
	if s.Type == "object" {
		if s.AdditionalProperties == nil || *s.AdditionalProperties || len(s.Required) != len(s.Properties) {
			t.Errorf("%s is not strict", path)
		}
	}
	for name, property := range s.Properties {
		if !slices.Contains(s.Required, name) || property.Description == "" {
			t.Errorf("%s.%s is not required, or not described", path, name)
		}
		strict(t, property, path+"."+name)
	}
	if s.Items != nil {
		strict(t, *s.Items, path+"[]")
	}
}

func fieldOf(goType reflect.Type, name string) (reflect.Type, bool) {
	for i := range goType.NumField() {
		if tag, _, _ := strings.Cut(goType.Field(i).Tag.Get("json"), ","); tag == name {
			return goType.Field(i).Type, true
		}
	}
	return nil, false
}

// takes says that a Go type takes every value of a schema.
func takes(t *testing.T, s schema, goType reflect.Type, path string) {
	t.Helper()
	want := map[reflect.Kind]string{reflect.String: "string", reflect.Slice: "array", reflect.Struct: "object"}[goType.Kind()]
	if s.Type != want {
		t.Errorf("%s gives a %s where the function takes a %s", path, s.Type, want)
		return
	}
	if s.Items != nil {
		takes(t, *s.Items, goType.Elem(), path+"[]")
	}
	for name, property := range s.Properties {
		field, ok := fieldOf(goType, name)
		if !ok {
			t.Errorf("the function takes no %s.%s", path, name)
			continue
		}
		takes(t, property, field, path+"."+name)
	}
}
