package hippo

import (
	"slices"
	"strings"
)

// Paths are the templates of every document's path, relative to the database.
// Each template names its placeholders in braces, each a whole segment, each
// once: {tenant} first, then {thread} where there is one, then the document's
// own. The documents are described in package store/schema.
type Paths struct {
	Memory  string // the truth; {tenant}, {memory}
	Index   string // meta and shards; {tenant}, {shard}
	Move    string // where a memory went; {tenant}, {memory}
	Message string // {tenant}, {thread}, {message}
	Episode string // {tenant}, {thread}, {episode}
	Pass    string // receipts of memory passes; {tenant}, {thread}, {pass}
	Report  string // {tenant}, {report}
}

// DefaultPaths is where documents lie unless configuration says otherwise.
func DefaultPaths() Paths {
	return Paths{
		Memory:  "tenants/{tenant}/memories/{memory}",
		Index:   "tenants/{tenant}/memory_index/{shard}",
		Move:    "tenants/{tenant}/memory_moves/{memory}",
		Message: "tenants/{tenant}/threads/{thread}/messages/{message}",
		Episode: "tenants/{tenant}/threads/{thread}/episodes/{episode}",
		Pass:    "tenants/{tenant}/threads/{thread}/passes/{pass}",
		Report:  "tenants/{tenant}/reports/{report}",
	}
}

// Check refuses templates that would not do: a placeholder missing, doubled or
// out of order, a path that is no document's, two that share a collection, or a
// memory that does not end in its placeholder. Its error is of kind Invalid and
// names the template.
func (p Paths) Check() error {
	templates := []struct{ field, template, placeholders string }{
		{"memory", p.Memory, "{tenant} {memory}"},
		{"index", p.Index, "{tenant} {shard}"},
		{"move", p.Move, "{tenant} {memory}"},
		{"message", p.Message, "{tenant} {thread} {message}"},
		{"episode", p.Episode, "{tenant} {thread} {episode}"},
		{"pass", p.Pass, "{tenant} {thread} {pass}"},
		{"report", p.Report, "{tenant} {report}"},
	}
	collections := make(map[string]string)
	for _, t := range templates {
		segments := strings.Split(t.template, "/")
		if len(segments)%2 != 0 {
			return Errorf(Invalid, t.field, "%q is a collection: a document's path has an even number of segments", t.template)
		}
		var found []string
		for i, s := range segments {
			if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
				if i%2 == 0 {
					return Errorf(Invalid, t.field, "%q has %s in the place of a collection's name", t.template, s)
				}
				found = append(found, s)
			} else if err := checkDocumentID(s, MaxDocumentIDBytes); err != nil || strings.ContainsAny(s, "{}*=") {
				return Errorf(Invalid, t.field, "%q has the segment %q, which is neither a name nor a placeholder", t.template, s)
			}
		}
		want := strings.Fields(t.placeholders)
		if !slices.Equal(found, want) || segments[len(segments)-1] != want[len(want)-1] {
			return Errorf(Invalid, t.field, "%q must have the placeholders %s, in this order, the last at its end", t.template, t.placeholders)
		}
		collection := t.template[:strings.LastIndex(t.template, "/")]
		if other, ok := collections[collection]; ok {
			return Errorf(Invalid, t.field, "shares the collection %q with %s", collection, other)
		}
		collections[collection] = t.field
	}
	return nil
}

// Roots are the templates cut off behind a placeholder, each once: the places where
// tenants stand, or threads. A collection's id may stand there as well as a
// document's.
func (p Paths) Roots(placeholder string) []string {
	var roots []string
	for _, t := range []string{p.Memory, p.Index, p.Move, p.Message, p.Episode, p.Pass, p.Report} {
		before, _, ok := strings.Cut(t, placeholder)
		if root := before + placeholder; ok && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// Fill puts values for a template's placeholders, in order.
func Fill(template string, values ...string) string {
	segments := strings.Split(template, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") && len(values) > 0 {
			segments[i], values = values[0], values[1:]
		}
	}
	return strings.Join(segments, "/")
}

// Match reads the values of a template's placeholders out of a path that is
// exactly of its form; false for any other path.
func Match(template, path string) ([]string, bool) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	var values []string
	for i, s := range want {
		switch {
		case strings.HasPrefix(s, "{"):
			values = append(values, got[i])
		case s != got[i]:
			return nil, false
		}
	}
	return values, true
}

// MatchMemory reads which memory a document's path names; false where the path
// is not exactly a memory's or an id in it is none.
func (p Paths) MatchMemory(path string) (TenantID, MemoryID, bool) {
	values, ok := Match(p.Memory, path)
	if !ok {
		return "", "", false
	}
	tenant, err := NewTenantID(values[0])
	if err != nil {
		return "", "", false
	}
	id, err := NewMemoryID(values[1])
	return tenant, id, err == nil
}

// Layout is how a store's documents are laid out: where they lie, what their
// fields are called, and how a memory's id and its name are made from each other.
type Layout struct {
	Paths  Paths
	Fields Fields
	Naming Naming
}

// Check refuses a layout that would not do. Its error is of kind Invalid and
// names what is at fault.
func (l Layout) Check() error {
	if err := l.Paths.Check(); err != nil {
		return Under(err, "paths")
	}
	if err := l.Fields.Check(); err != nil {
		return Under(err, "fields")
	}
	_, err := ParseNaming(string(l.Naming))
	return InField(err, "naming")
}

// DefaultLayout is the layout unless configuration says otherwise.
func DefaultLayout() Layout {
	return Layout{Paths: DefaultPaths(), Fields: DefaultFields(), Naming: Base64URL}
}
