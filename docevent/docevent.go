// Package docevent reads and writes the payload of Firestore's document
// trigger, the protobuf message google.events.cloud.firestore.v1.DocumentEventData:
//
//	Document     value       = 1  the document after the change; none if deleted
//	Document     old_value   = 2  the document before it; none if created
//	DocumentMask update_mask = 3
//
// Its Document is google.firestore.v1.Document on the wire. A payload may be
// megabytes long while all that matters is which document changed, so Decode
// walks the envelope and touches no field of the documents but two.
package docevent

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
)

// Written is the type of the event that a document was created, updated or
// deleted.
const Written = "google.cloud.firestore.document.v1.written"

// ErrNoDocument says that a payload names no document. The Firestore emulator
// sends one where a document that did not exist was deleted: nothing changed. It
// is of kind Invalid, since no later delivery will say more.
var ErrNoDocument = hippo.Errorf(hippo.Invalid, "", "the event names no document")

// Change says which document changed. What it holds by now is for the store to
// say, because events come late, twice and out of order.
type Change struct {
	Project  string
	Database string
	// Path is relative to the database, such as "tenants/a/memories/b".
	Path string
	// UpdatedAt is the update time of the document as the change left it, or as
	// it was last if the change deleted it. Zero where the event does not say.
	UpdatedAt time.Time
	Deleted   bool
}

// Name is the document's full resource name.
func (c Change) Name() string {
	return "projects/" + c.Project + "/databases/" + c.Database + "/documents/" + c.Path
}

// parseName takes a resource name apart; its error is of kind Invalid. It does not
// quote the name: errors are logged, and ids are made of what memories are called.
func parseName(name string) (Change, error) {
	part := strings.SplitN(name, "/", 6)
	if !utf8.ValidString(name) || len(part) != 6 || part[0] != "projects" || part[2] != "databases" || part[4] != "documents" {
		return Change{}, hippo.Errorf(hippo.Invalid, "name", "is not that of a document")
	}
	c := Change{Project: part[1], Database: part[3], Path: part[5]}
	ids := strings.Split(c.Path, "/")
	for _, id := range append(ids, c.Project, c.Database) {
		if id == "" {
			return Change{}, hippo.Errorf(hippo.Invalid, "name", "has an empty segment")
		}
	}
	if len(ids)%2 != 0 {
		return Change{}, hippo.Errorf(hippo.Invalid, "name", "is that of a collection")
	}
	return c, nil
}
