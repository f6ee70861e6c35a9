// Package tools defines the tools that a model can be given, as plain values: what
// each is called, when to use it, and what it takes. Each stands for a function of
// this system that takes the same parameters; the backend that calls it adds whose
// memory and which thread it is, which no model may choose.
package tools

// Tool is one tool's definition.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is the schema of the object that the tool takes.
	Parameters Schema `json:"parameters"`
	// Function is the function that answers it.
	Function string `json:"-"`
}

// Schema is the part of JSON Schema that the definitions need.
type Schema struct {
	Type        string            `json:"type"`
	Description string            `json:"description,omitempty"`
	Properties  map[string]Schema `json:"properties,omitempty"`
	Required    []string          `json:"required,omitempty"`
	Items       *Schema           `json:"items,omitempty"`
	Minimum     *int              `json:"minimum,omitempty"`
	Maximum     *int              `json:"maximum,omitempty"`
	MaxItems    int               `json:"maxItems,omitempty"`
	// Additional, where set, allows or forbids properties that are not named.
	Additional *bool `json:"additionalProperties,omitempty"`
}

// All lists every tool, in an order that never changes.
var All = []Tool{ListMemories, OpenMemory, OpenStretch, SearchHistory}

// object is the schema of an object of exactly these properties.
func object(properties map[string]Schema, required ...string) Schema {
	no := false
	return Schema{Type: "object", Properties: properties, Required: required, Additional: &no}
}

func text(description string) Schema { return Schema{Type: "string", Description: description} }

func integer(description string, minimum, maximum int) Schema {
	return Schema{Type: "integer", Description: description, Minimum: &minimum, Maximum: &maximum}
}
