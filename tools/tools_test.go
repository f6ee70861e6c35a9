package tools

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefinitionIsAJSONSchemaOfItsParameters(t *testing.T) {
	got, err := json.Marshal(OpenMemory.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"name":   map[string]any{"type": "string", "description": "The memory's exact name."},
			"offset": map[string]any{"type": "integer", "minimum": 0.0, "maximum": 1048576.0, "description": "Where to begin, in bytes; 0 unless given."},
			"limit":  map[string]any{"type": "integer", "minimum": 4.0, "maximum": 262144.0, "description": "How many bytes to return at most; 16384 unless given."},
		},
		"required":             []any{"name"},
		"additionalProperties": false,
	}
	var read any
	if err := json.Unmarshal(got, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), read); diff != "" {
		t.Error(diff)
	}
}
