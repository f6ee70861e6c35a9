// Package openapi writes the description of the HTTP functions from their Go
// types: docs/openapi.json. Its test fails where the two differ, so that a function
// or field cannot come or go without the description.
package openapi

import (
	"reflect"

	"github.com/hippofire/hippofire/format"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
)

// Document is a description in OpenAPI 3.1.
type Document struct {
	OpenAPI    string                `json:"openapi"`
	Info       Info                  `json:"info"`
	Servers    []Server              `json:"servers"`
	Security   []map[string][]string `json:"security"`
	Paths      map[string]Path       `json:"paths"`
	Components Components            `json:"components"`
}

// Info says what is described.
type Info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Summary     string  `json:"summary"`
	Description string  `json:"description"`
	License     License `json:"license"`
}

// License names a license.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

// Server is where the functions answer.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// Path is what can be done at one path.
type Path struct {
	Post Operation `json:"post"`
}

// Operation is one function.
type Operation struct {
	OperationID string              `json:"operationId"`
	Summary     string              `json:"summary"`
	RequestBody Body                `json:"requestBody"`
	Responses   map[string]Response `json:"responses"`
}

// Body is what is sent.
type Body struct {
	Required bool             `json:"required"`
	Content  map[string]Media `json:"content"`
}

// Response is what comes back.
type Response struct {
	Description string            `json:"description"`
	Headers     map[string]Header `json:"headers,omitempty"`
	Content     map[string]Media  `json:"content"`
}

// Header is a header of a response.
type Header struct {
	Description string `json:"description"`
	Schema      Schema `json:"schema"`
}

// Media is a body of one media type.
type Media struct {
	Schema Schema `json:"schema"`
}

// Components are the schemas by name.
type Components struct {
	Schemas         map[string]Schema `json:"schemas"`
	SecuritySchemes map[string]any    `json:"securitySchemes"`
}

// anyOf lists what a field can hold whose Go type says nothing of it.
var anyOf = map[string][]reflect.Type{
	"TurnResponse.Body": {reflect.TypeFor[format.OpenAIBody](), reflect.TypeFor[format.AnthropicBody](), reflect.TypeFor[format.GeminiBody]()},
}

// Describe makes the document of the functions, with the comments of the module
// at root as its words.
func Describe(root string) (Document, error) {
	comments, err := readComments(root)
	if err != nil {
		return Document{}, hippo.Wrap(hippo.Internal, err, "reading the types' comments")
	}
	w := newWriter(comments)
	for _, e := range functions.Endpoints() {
		w.name(e.Request)
		w.name(e.Response)
	}
	w.name(reflect.TypeFor[functions.Problem]())
	w.settle()

	doc := Document{
		OpenAPI: "3.1.0",
		Info: Info{
			Title: "Hippofire", Version: "1", Summary: "Long memory for AI agents on Firestore, at a flat cost per turn.",
			Description: "Each function takes a POST of one JSON object, in which a field that it does not know is an error, and answers with JSON, or with a problem (RFC 9457) that names the field at fault. Sending a request again changes nothing.",
			License:     License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
		},
		Servers:  []Server{{URL: "/", Description: "The local stack serves all functions under one address. Deployed, each function has an address of its own, at which every path is that function."}},
		Security: []map[string][]string{{"identity": {}}, {}},
		Paths:    map[string]Path{},
		Components: Components{Schemas: w.schemas, SecuritySchemes: map[string]any{
			"identity": map[string]string{"type": "http", "scheme": "bearer", "description": "The identity token of a service account that may invoke the function; the local stack asks for none."},
		}},
	}
	for _, e := range functions.Endpoints() {
		doc.Paths["/"+e.Name] = Path{Post: w.operation(e)}
	}
	return doc, nil
}

func (w *writer) operation(e functions.Endpoint) Operation {
	problem := map[string]Media{"application/problem+json": {Schema: w.schema(reflect.TypeFor[functions.Problem](), "")}}
	return Operation{
		OperationID: e.Name,
		Summary:     w.comments.methods[e.Method],
		RequestBody: Body{Required: true, Content: map[string]Media{"application/json": {Schema: w.schema(e.Request, "")}}},
		Responses: map[string]Response{
			"200": {Description: "The answer.", Content: map[string]Media{"application/json": {Schema: w.schema(e.Response, "")}}},
			"4XX": {Description: "The request is at fault, and would be again.", Content: problem},
			"5XX": {
				Description: "The request may succeed when it is sent again.", Content: problem,
				Headers: map[string]Header{"Retry-After": {Description: "Seconds to wait before that.", Schema: Schema{Type: "integer"}}},
			},
		},
	}
}
