package firestoredb

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// name is the resource name of a template's document. The ids come from the
// domain's constructors; one that could lead to another document is refused here
// once more, since nothing behind this line would notice.
func (s *Store) name(template string, ids ...string) (string, error) {
	for _, id := range ids {
		if id == "" || strings.Contains(id, "/") || !utf8.ValidString(id) {
			return "", hippo.Errorf(hippo.Invalid, "", "%q is no document id", id)
		}
	}
	return s.root + hippo.Fill(template, ids...), nil
}

// names are the resource names of documents that differ in their last id alone.
func names[T ~string](s *Store, template string, ids []T, above ...string) ([]string, error) {
	out := make([]string, len(ids))
	for i, id := range ids {
		var err error
		if out[i], err = s.name(template, append(slices.Clip(above), string(id))...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// collection is where a template's documents lie: the resource name of what they
// lie under, and the collection's id.
func (s *Store) collection(template string, ids ...string) (collection, error) {
	name, err := s.name(template[:strings.LastIndex(template, "/")], ids...)
	at := strings.LastIndex(name, "/")
	return collection{parent: name[:max(at, 0)], id: name[at+1:]}, err
}

type collection struct{ parent, id string }

// document is the resource name of a document of the collection.
func (c collection) document(id string) string { return c.parent + "/" + c.id + "/" + id }

// lastID is the id at the end of a resource name.
func lastID(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// path is a resource name without the database's part.
func path(name string) string {
	_, p, _ := strings.Cut(name, "/documents/")
	return p
}

// fieldPath is the path of a field within maps, each name quoted, so that a name
// may hold any character.
func fieldPath(names ...string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + escaper.Replace(n) + "`"
	}
	return strings.Join(quoted, ".")
}

var escaper = strings.NewReplacer("\\", "\\\\", "`", "\\`")

func (s *Store) memories(tenant hippo.TenantID, ids []hippo.MemoryID) ([]string, error) {
	return names(s, s.layout.Paths.Memory, ids, string(tenant))
}

func (s *Store) meta(tenant hippo.TenantID) (string, error) {
	return s.name(s.layout.Paths.Index, string(tenant), schema.MetaID)
}
