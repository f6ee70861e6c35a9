package embedded

import (
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// The views of messages and episodes.
const (
	byTime   = "created_at"
	byTerm   = "terms"
	byFrom   = "from"
	byTo     = "to"
	byHandle = "handle"
)

// layout is where documents lie and what their fields are called.
type layout hippo.Layout

// placer tells in which views a document stands, and under which key.
type placer func(id string, fields schema.Fields) map[view]string

func (l layout) placeMessage(id string, fields schema.Fields) map[view]string {
	at, ok := fields[l.Fields.MessageCreatedAt].(time.Time)
	if !ok {
		return nil
	}
	m, key := schema.ParseMessage(l.Fields, hippo.MessageID(id), fields), hippo.MicrosOf(at).String()
	places := map[view]string{{name: byTime}: key}
	for _, term := range m.Terms {
		places[view{byTerm, term}] = key
	}
	return places
}

func placeEpisode(_ string, fields schema.Fields) map[view]string {
	e, ok := schema.ParseEpisode(fields)
	if !ok {
		return nil
	}
	return map[view]string{
		{name: byFrom}:       e.From.String(),
		{name: byTo}:         e.To.String(),
		{byHandle, e.Handle}: "",
	}
}

// placeOf is a message's place in the order of time.
func placeOf(p hippo.Position) item { return item{p.At.String(), string(p.ID)} }

// placerOf is the placer of a collection's documents, nil where they need none.
func (l layout) placerOf(collection string) placer {
	path := collection + "/-"
	if _, ok := hippo.Match(l.Paths.Message, path); ok {
		return l.placeMessage
	}
	if _, ok := hippo.Match(l.Paths.Episode, path); ok {
		return placeEpisode
	}
	return nil
}

// roots are the places where the layout has tenants, or threads: a template cut
// off behind the placeholder.
type roots []string

// owner is the tenant (and thread) that a document belongs to, as a path of ids;
// false where it belongs to none.
func (r roots) owner(path string) (string, bool) {
	segments := strings.Split(path, "/")
	for _, root := range r {
		n := min(strings.Count(root, "/")+1, len(segments))
		if ids, ok := hippo.Match(root, strings.Join(segments[:n], "/")); ok && validIDs(ids) {
			return strings.Join(ids, "/"), true
		}
	}
	return "", false
}

func validIDs(ids []string) bool {
	for _, id := range ids {
		if _, err := hippo.NewTenantID(id); err != nil {
			return false
		}
	}
	return true
}

// owners counts the documents of each tenant or thread.
type owners struct {
	roots roots
	count map[string]int
	order order
}

func newOwners(paths hippo.Paths, placeholder string) owners {
	return owners{roots: paths.Roots(placeholder), count: map[string]int{}}
}

// note counts a document that came (1) or went (-1).
func (o *owners) note(path string, by int) {
	owner, ok := o.roots.owner(path)
	if !ok {
		return
	}
	o.count[owner] += by
	if o.count[owner] > 0 {
		o.order.add(item{id: owner})
		return
	}
	delete(o.count, owner)
	o.order.remove(item{id: owner})
}

// list is the ids directly below a prefix, in order, at most limit, beginning
// behind after.
func (o *owners) list(prefix, after string, limit int) []string {
	var ids []string
	for x := range o.order.from(item{id: prefix + after}.behind()) {
		id, ok := strings.CutPrefix(x.id, prefix)
		if !ok || len(ids) == limit {
			break
		}
		ids = append(ids, id)
	}
	return ids
}
