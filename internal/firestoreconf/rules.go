package firestoreconf

import (
	"fmt"
	"strings"

	"github.com/hippofire/hippofire/hippo"
)

// MaxClientContentBytes is how long a memory's text may be that a client writes.
// An event carries a document as it was and as it is, and ends at 512 KB; a
// longer one would wait for the nightly repair.
const MaxClientContentBytes = 200_000

// maxClientNameBytes bounds the name of a memory that a client creates. A list
// shows it whole.
const maxClientNameBytes = 300

// ExampleRules are the opt-in rules under which a signed-in user reads and edits
// the memories of the own tenant, and nothing else.
func ExampleRules(layout hippo.Layout) string {
	f := layout.Fields
	return strings.NewReplacer(
		"PATH", layout.Paths.Memory,
		"NAME_FIELD", f.MemoryName, "CONTENT_FIELD", f.MemoryContent, "TIME_FIELD", f.MemoryUpdatedAt,
		"MAX_NAME", fmt.Sprint(maxClientNameBytes), "MAX_CONTENT", fmt.Sprint(MaxClientContentBytes),
		"ID_OF_NAME", idOfName(layout.Naming),
	).Replace(exampleRules)
}

// idOfName is the document id of a name, in the language of rules.
func idOfName(naming hippo.Naming) string {
	if naming == hippo.Plain {
		return "name"
	}
	return `name.toUtf8().toBase64().replace('[+]', '-').replace('/', '_').replace('=', '')`
}

const exampleRules = `rules_version = '2';

// An example to opt into: whoever is signed in with the claim "tenant" reads and
// edits that tenant's memories. All else is written and read
// by the functions, which these rules do not bind: index, moves, threads, receipts
// and reports stay closed to every client, and so does what has no rule here.
service cloud.firestore {
  match /databases/{database}/documents {

    match /PATH {
      allow read: if isMember(tenant);
      allow create: if isMember(tenant) && isNew(memory, request.resource.data);
      allow update: if isMember(tenant) && isEdit(resource.data, request.resource.data);
      allow delete: if isMember(tenant);
    }

    function isMember(tenant) {
      return request.auth != null && request.auth.token.get('tenant', '') == tenant;
    }

    // A new memory has the three fields and no other, and the id of its name.
    function isNew(memory, data) {
      return data.keys().hasAll(['NAME_FIELD', 'CONTENT_FIELD', 'TIME_FIELD'])
        && data.keys().hasOnly(['NAME_FIELD', 'CONTENT_FIELD', 'TIME_FIELD'])
        && isName(data.NAME_FIELD) && idOf(data.NAME_FIELD) == memory
        && isText(data.CONTENT_FIELD) && data.TIME_FIELD == request.time;
    }

    // An edit changes the text and the time. What others keep in the document
    // stays as it is.
    function isEdit(before, after) {
      return after.diff(before).affectedKeys().hasOnly(['CONTENT_FIELD', 'TIME_FIELD'])
        && isText(after.get('CONTENT_FIELD', null)) && after.get('TIME_FIELD', null) == request.time;
    }

    function isName(name) {
      return name is string && name.matches('[^\\x00-\\x1F\\x7F]+') && name.toUtf8().size() <= MAX_NAME;
    }

    function idOf(name) {
      return ID_OF_NAME;
    }

    function isText(content) {
      return content is string && content.toUtf8().size() <= MAX_CONTENT;
    }

    match /{document=**} {
      allow read, write: if false;
    }
  }
}
`
