// Package firestoreconf writes what a database has to be told for a layout: its
// indexes, the pattern of the document trigger, and the example rules. The
// functions read the same layout, so that a store with other paths or fields is
// not left with the indexes and the trigger of the default ones.
package firestoreconf

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/hippo"
)

// IndexFile is the content of a firestore.indexes.json.
type IndexFile struct {
	Composite []Composite `json:"indexes"`
	Exempt    []Exemption `json:"fieldOverrides"`
}

// Composite is an index of several fields of a collection.
type Composite struct {
	Collection string  `json:"collectionGroup"`
	Scope      string  `json:"queryScope"`
	Fields     []Field `json:"fields"`
}

// Field is a field in a composite index, with an order or as an array.
type Field struct {
	Path  string `json:"fieldPath"`
	Order string `json:"order,omitempty"`
	Array string `json:"arrayConfig,omitempty"`
}

// Exemption takes a field out of the indexes that Firestore makes by itself.
type Exemption struct {
	Collection string     `json:"collectionGroup"`
	Field      string     `json:"fieldPath"`
	Indexes    []struct{} `json:"indexes"`
}

// Indexes are the indexes that a layout needs: those that queries ask for, and
// exemptions for what may be large or many. Most of all the entries of a shard:
// each would cost two of the 40,000 index entries that a document may have.
func Indexes(layout hippo.Layout) IndexFile {
	paths, fields := layout.Paths, layout.Fields
	index, memories := collection(paths.Index), collection(paths.Memory)
	messages, episodes := collection(paths.Message), collection(paths.Episode)
	file := IndexFile{Composite: []Composite{
		{index, "COLLECTION", []Field{{Path: "shard", Order: "ASCENDING"}, {Path: "rev", Order: "ASCENDING"}}},
		{messages, "COLLECTION", []Field{{Path: "terms", Array: "CONTAINS"}, {Path: fields.MessageCreatedAt, Order: "DESCENDING"}}},
	}}
	for _, e := range [][2]string{
		{index, "e"},
		{memories, fields.MemoryContent},
		{messages, fields.MessageContent}, {messages, "terms"}, {messages, "tool_calls"},
		{episodes, "gist"}, {episodes, "pointers"},
	} {
		same := func(x Exemption) bool { return x.Collection == e[0] && x.Field == e[1] }
		if !slices.ContainsFunc(file.Exempt, same) {
			file.Exempt = append(file.Exempt, Exemption{e[0], e[1], []struct{}{}})
		}
	}
	return file
}

// collection is the id of the collection in which a template's documents lie.
func collection(template string) string {
	segments := strings.Split(template, "/")
	return segments[len(segments)-2]
}

// JSON is the file's text.
func (f IndexFile) JSON() []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		panic("firestoreconf: indexes of strings cannot fail to encode: " + err.Error())
	}
	return text.Bytes()
}

// Lacks lists what of the layout's indexes another file does not have.
func (f IndexFile) Lacks(want IndexFile) []string {
	var lacks []string
	for _, c := range want.Composite {
		if !slices.ContainsFunc(f.Composite, c.Equal) {
			lacks = append(lacks, "the index of "+c.Collection+" ("+c.String()+")")
		}
	}
	for _, e := range want.Exempt {
		if !slices.ContainsFunc(f.Exempt, func(x Exemption) bool {
			return x.Collection == e.Collection && x.Field == e.Field && len(x.Indexes) == 0
		}) {
			lacks = append(lacks, "the exemption of "+e.Collection+"."+e.Field)
		}
	}
	return lacks
}

// Equal says whether two indexes serve the same queries.
func (c Composite) Equal(d Composite) bool {
	return c.Collection == d.Collection && c.Scope == d.Scope && slices.Equal(c.Fields, d.Fields)
}

// String lists the index's fields.
func (c Composite) String() string {
	parts := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		parts[i] = f.Path + " " + strings.ToLower(f.Order+f.Array)
	}
	return strings.Join(parts, ", ")
}

// TriggerPattern is the path pattern of the trigger on memories, as Eventarc and
// the emulator take it.
func TriggerPattern(paths hippo.Paths) string { return paths.Memory }
