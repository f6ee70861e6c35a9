package indexcheck

import (
	"os"
	"strings"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/encoding/protojson"
)

const someIndexes = `{
  "indexes": [
    {"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [
      {"fieldPath": "a", "order": "ASCENDING"}, {"fieldPath": "b", "order": "ASCENDING"}]},
    {"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [
      {"fieldPath": "d", "order": "DESCENDING"}, {"fieldPath": "b", "order": "ASCENDING"}]},
    {"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [
      {"fieldPath": "tags", "arrayConfig": "CONTAINS"}, {"fieldPath": "b", "order": "DESCENDING"}]},
    {"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [
      {"fieldPath": "b", "order": "ASCENDING"}, {"fieldPath": "__name__", "order": "DESCENDING"}]},
    {"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [
      {"fieldPath": "hidden", "order": "ASCENDING"}, {"fieldPath": "a", "order": "ASCENDING"}]},
    {"collectionGroup": "g", "queryScope": "COLLECTION_GROUP", "fields": [
      {"fieldPath": "a", "order": "ASCENDING"}, {"fieldPath": "b", "order": "ASCENDING"}]}
  ],
  "fieldOverrides": [
    {"collectionGroup": "c", "fieldPath": "hidden", "indexes": []},
    {"collectionGroup": "c", "fieldPath": "upwards", "indexes": [{"order": "ASCENDING", "queryScope": "COLLECTION"}]},
    {"collectionGroup": "c", "fieldPath": "hidden.shown", "indexes": [{"order": "ASCENDING"}]},
    {"collectionGroup": "g", "fieldPath": "a", "indexes": [{"order": "ASCENDING", "queryScope": "COLLECTION_GROUP"}]}
  ]
}`

// where writes a filter in JSON: a field, an operation, and any value.
func where(field, op string) string {
	return `{"fieldFilter": {"field": {"fieldPath": "` + field + `"}, "op": "` + op + `", "value": {"integerValue": 1}}}`
}

func all(filters ...string) string { return composed("AND", filters) }
func either(filters ...string) string {
	return composed("OR", filters)
}

func composed(op string, filters []string) string {
	return `{"compositeFilter": {"op": "` + op + `", "filters": [` + strings.Join(filters, ",") + `]}}`
}

// by writes an order, "-" before a field that descends.
func by(fields ...string) string {
	var orders []string
	for _, f := range fields {
		direction := "ASCENDING"
		if strings.HasPrefix(f, "-") {
			direction = "DESCENDING"
		}
		orders = append(orders, `{"field": {"fieldPath": "`+strings.TrimPrefix(f, "-")+`"}, "direction": "`+direction+`"}`)
	}
	return strings.Join(orders, ",")
}

func query(t *testing.T, from, filter, order string) *pb.StructuredQuery {
	t.Helper()
	text := `{"from": [` + from + `]`
	if filter != "" {
		text += `, "where": ` + filter
	}
	if order != "" {
		text += `, "orderBy": [` + order + `]`
	}
	var q pb.StructuredQuery
	if err := protojson.Unmarshal([]byte(text+"}"), &q); err != nil {
		t.Fatal(err)
	}
	return &q
}

const (
	inC      = `{"collectionId": "c"}`
	inD      = `{"collectionId": "d"}`
	inGroupG = `{"collectionId": "g", "allDescendants": true}`
	inGroupC = `{"collectionId": "c", "allDescendants": true}`
)

func TestIndexesThatQueriesNeed(t *testing.T) {
	indexes, err := Parse([]byte(someIndexes))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, from, filter, order string
		lacks                     string // empty: the query can run
	}{
		{"a whole collection", inC, "", "", ""},
		{"by name", inC, "", by("__name__"), ""},
		{"by name, descending", inC, "", by("-__name__"), `"c": no index for __name__ DESCENDING`},
		{"from a name on", inC, where("__name__", "GREATER_THAN"), "", ""},
		{"by one field", inC, "", by("x"), ""},
		{"by one field, descending", inC, "", by("-x"), ""},
		{"by one field and the name, the same way", inC, "", by("-x", "-__name__"), ""},
		{"by one field and the name, opposite ways", inC, "", by("x", "-__name__"), "x ASCENDING, __name__ DESCENDING"},
		{"the same, declared", inC, "", by("b", "-__name__"), ""},
		{"by two fields", inC, "", by("x", "y"), "x ASCENDING, y ASCENDING"},
		{"by two fields, declared", inC, "", by("a", "b"), ""},
		{"by two fields in another direction than declared", inC, "", by("a", "-b"), "a ASCENDING, b DESCENDING"},
		{"by two fields in the other order", inC, "", by("b", "a"), "b ASCENDING, a ASCENDING"},
		{"what stands behind the name orders nothing", inC, "", by("x", "__name__", "y"), ""},
		{"an exempted field", inC, "", by("hidden"), "hidden ASCENDING"},
		{"a field within an exempted map", inC, where("hidden.x", "EQUAL"), "", "hidden.x EQUAL"},
		{"a quoted field within an exempted map", inC, where("hidden.`x`", "EQUAL"), "", "hidden.x EQUAL"},
		{"a field within an exempted map that has its own override", inC, where("hidden.shown", "EQUAL"), "", ""},
		{"a field exempted in another collection", inD, "", by("hidden"), ""},
		{"a field that is indexed upwards alone", inC, "", by("upwards"), ""},
		{"the same downwards", inC, "", by("-upwards"), "upwards DESCENDING"},

		{"equality", inC, where("x", "EQUAL"), "", ""},
		{"in a list", inC, where("x", "IN"), "", ""},
		{"equality of an exempted field", inC, where("hidden", "EQUAL"), "", "hidden EQUAL"},
		{"equality of several fields is merged", inC, all(where("x", "EQUAL"), where("y", "EQUAL"), where("z", "EQUAL")), "", ""},
		{"one of them exempted", inC, all(where("x", "EQUAL"), where("hidden", "EQUAL")), "", "x EQUAL, hidden EQUAL"},
		{"one of them exempted but in a composite index", inC, all(where("a", "EQUAL"), where("hidden", "EQUAL")), "", ""},
		{"one of them exempted, in a composite index, and one more", inC, all(where("a", "EQUAL"), where("hidden", "EQUAL"), where("x", "EQUAL")), "", ""},
		{"equality and an order by the same field", inC, where("x", "EQUAL"), by("x"), ""},
		{"equality and an order by name", inC, where("x", "EQUAL"), by("__name__"), ""},
		{"equality and an order by name, descending", inC, where("x", "EQUAL"), by("-__name__"), ""},
		{"equality and an order by another field", inC, where("x", "EQUAL"), by("y"), "x EQUAL, y ASCENDING"},
		{"the same, declared", inC, where("a", "EQUAL"), by("b"), ""},
		{"the same, declared in another direction", inC, where("a", "EQUAL"), by("-b"), "a EQUAL, b DESCENDING"},
		{"the direction of what is equal does not matter", inC, where("d", "EQUAL"), by("b"), ""},
		{"two composite indexes of one order are merged", inC, all(where("a", "EQUAL"), where("d", "EQUAL")), by("b"), ""},
		{"what none of them has is missing", inC, all(where("a", "EQUAL"), where("x", "EQUAL")), by("b"), "a EQUAL, x EQUAL, b ASCENDING"},
		{"an index of more than is asked for does not serve", inC, "", by("hidden"), "hidden ASCENDING"},

		{"inequality", inC, where("x", "LESS_THAN"), "", ""},
		{"inequality and its order, descending", inC, where("x", "LESS_THAN"), by("-x", "-__name__"), ""},
		{"inequality and another order", inC, where("x", "NOT_EQUAL"), by("y"), "y ASCENDING, x ASCENDING"},
		{"inequality of an exempted field", inC, where("hidden", "LESS_THAN"), "", "hidden ASCENDING"},
		{"equality and inequality", inC, all(where("x", "EQUAL"), where("y", "GREATER_THAN")), "", "x EQUAL, y ASCENDING"},
		{"equality and inequality, declared", inC, all(where("a", "EQUAL"), where("b", "GREATER_THAN")), "", ""},
		{"two inequalities", inC, all(where("x", "GREATER_THAN"), where("y", "GREATER_THAN")), "", "x ASCENDING, y ASCENDING"},
		{"two inequalities, declared", inC, all(where("b", "GREATER_THAN"), where("a", "GREATER_THAN")), "", ""},
		{"a range of one field", inC, all(where("x", "GREATER_THAN"), where("x", "LESS_THAN")), "", ""},
		{"is not null", inC, `{"unaryFilter": {"op": "IS_NOT_NULL", "field": {"fieldPath": "x"}}}`, by("y"), "y ASCENDING, x ASCENDING"},
		{"is null", inC, `{"unaryFilter": {"op": "IS_NULL", "field": {"fieldPath": "a"}}}`, by("b"), ""},

		{"a member of an array", inC, where("x", "ARRAY_CONTAINS"), "", ""},
		{"a member of an array and an order", inC, where("x", "ARRAY_CONTAINS"), by("-b"), "x CONTAINS, b DESCENDING"},
		{"the same, declared", inC, where("tags", "ARRAY_CONTAINS"), by("-b", "-__name__"), ""},
		{"the same, declared in another direction", inC, where("tags", "ARRAY_CONTAINS"), by("b"), "tags CONTAINS, b ASCENDING"},
		{"a value is no member", inC, where("tags", "EQUAL"), by("-b"), "tags EQUAL, b DESCENDING"},
		{"a member of an exempted array", inC, where("hidden", "ARRAY_CONTAINS"), "", "hidden CONTAINS"},

		{"either of two", inC, either(where("x", "EQUAL"), where("y", "EQUAL")), "", ""},
		{"either of two, one exempted", inC, either(where("x", "EQUAL"), where("hidden", "EQUAL")), "", "hidden EQUAL"},
		{"an alternative has the order of the whole", inC, either(where("x", "EQUAL"), where("y", "GREATER_THAN")), "", "x EQUAL, y ASCENDING"},
		{"the same, declared", inC, either(where("a", "EQUAL"), all(where("a", "EQUAL"), where("b", "GREATER_THAN"))), "", ""},
		{"an alternative within a condition", inC, all(where("b", "GREATER_THAN"), either(where("a", "EQUAL"), where("x", "EQUAL"))), "", "x EQUAL, b ASCENDING"},

		{"a group of collections", inGroupC, "", "", `group of "c"`},
		{"an order in a group", inGroupC, "", by("x"), "x ASCENDING"},
		{"a group's composite index", inGroupG, where("a", "EQUAL"), by("b"), ""},
		{"a group's field, declared", inGroupG, where("a", "EQUAL"), "", ""},
		{"a collection is not its group", `{"collectionId": "g"}`, where("a", "EQUAL"), by("b"), "a EQUAL, b ASCENDING"},

		{"no collection", `{"allDescendants": true}`, "", "", "not understood"},
		{"no operation", inC, where("x", "OPERATOR_UNSPECIFIED"), "", "not understood"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(indexes.Check(query(t, tc.from, tc.filter, tc.order)), "; ")
			if (tc.lacks == "") != (got == "") || !strings.Contains(got, tc.lacks) {
				t.Errorf("lacks %q, want %q", got, tc.lacks)
			}
		})
	}
}

func TestFilesThatWouldNotDeployAreRefused(t *testing.T) {
	for name, file := range map[string]string{
		"no JSON":                    `{`,
		"an unknown field":           `{"indexes": [], "fieldOverride": []}`,
		"a composite of one field":   `{"indexes": [{"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [{"fieldPath": "a", "order": "ASCENDING"}]}]}`,
		"no scope":                   `{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "order": "ASCENDING"}, {"fieldPath": "b", "order": "ASCENDING"}]}]}`,
		"an unknown order":           `{"indexes": [{"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [{"fieldPath": "a", "order": "UP"}, {"fieldPath": "b", "order": "ASCENDING"}]}]}`,
		"an order and an array":      `{"indexes": [{"collectionGroup": "c", "queryScope": "COLLECTION", "fields": [{"fieldPath": "a", "order": "ASCENDING", "arrayConfig": "CONTAINS"}, {"fieldPath": "b", "order": "ASCENDING"}]}]}`,
		"an override without a list": `{"fieldOverrides": [{"collectionGroup": "c", "fieldPath": "a"}]}`,
		"an override of no field":    `{"fieldOverrides": [{"collectionGroup": "c", "indexes": []}]}`,
	} {
		if _, err := Parse([]byte(file)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestOurIndexes holds what no query can: that what may be large or many is not
// indexed, since the emulator counts no index entries.
func TestOurIndexes(t *testing.T) {
	file, err := os.ReadFile("../../../firestore.indexes.json")
	if err != nil {
		t.Fatal(err)
	}
	indexes, err := Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range [][2]string{
		{"memory_index", "e"}, {"memory_index", "e.some key"}, {"memories", "content"},
		{"messages", "content"}, {"messages", "terms"}, {"messages", "tool_calls"}, {"episodes", "gist"}, {"episodes", "pointers"},
	} {
		for _, m := range []mode{ascending, descending, contains} {
			if indexes.single(f[0], collection, f[1], m) {
				t.Errorf("%s of %s is indexed %s", f[1], f[0], m)
			}
		}
	}
	if !indexes.single("memories", collection, "updated_at", ascending) {
		t.Error("updated_at of memories, by which others may ask, is not indexed")
	}
}
