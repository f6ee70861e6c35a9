package hippo

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxIDBytes bounds a tenant, thread or message id. Firestore takes 1,500 bytes
// for a document id; an episode's id holds a message id and a time beside it,
// and nobody needs ids that long.
const MaxIDBytes = 256

// MaxDocumentIDBytes is Firestore's limit for a document id.
const MaxDocumentIDBytes = 1500

// TenantID names one customer's memory. Make it with NewTenantID.
type TenantID string

// ThreadID names one conversation of a tenant. Make it with NewThreadID.
type ThreadID string

// MessageID names one message of a thread. Make it with NewMessageID.
type MessageID string

// MemoryID is the document id of a memory. Make it with NewMemoryID, or from a
// name with Naming.ID.
type MemoryID string

// NewTenantID checks s and makes it a tenant id. Its error is of kind Invalid.
func NewTenantID(s string) (TenantID, error) {
	return TenantID(s), checkID(s)
}

// NewThreadID checks s and makes it a thread id. Its error is of kind Invalid.
func NewThreadID(s string) (ThreadID, error) {
	return ThreadID(s), checkID(s)
}

// ThreadOf checks which thread a request names. Its error is of kind Invalid and
// names the field, tenant or thread.
func ThreadOf(tenant, thread string) (TenantID, ThreadID, error) {
	t, err := NewTenantID(tenant)
	if err != nil {
		return "", "", InField(err, "tenant")
	}
	th, err := NewThreadID(thread)
	return t, th, InField(err, "thread")
}

// NewMessageID checks s and makes it a message id. Its error is of kind Invalid.
func NewMessageID(s string) (MessageID, error) {
	return MessageID(s), checkID(s)
}

// NewMemoryID checks that s is a document id that Firestore takes. Whether the
// memory it names can be listed is Naming.Listable's to say. Its error is of
// kind Invalid.
func NewMemoryID(s string) (MemoryID, error) {
	return MemoryID(s), checkDocumentID(s, MaxDocumentIDBytes)
}

func checkID(s string) error {
	if err := checkDocumentID(s, MaxIDBytes); err != nil {
		return err
	}
	if strings.Contains(s, "..") {
		return Errorf(Invalid, "", "must not contain \"..\"")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return Errorf(Invalid, "", "must not contain control characters")
	}
	return nil
}

// checkDocumentID holds Firestore's own rules for a document id.
func checkDocumentID(s string, limit int) error {
	switch {
	case s == "":
		return Errorf(Invalid, "", "is missing")
	case len(s) > limit:
		return Errorf(Invalid, "", "is %d bytes long; the limit is %d", len(s), limit)
	case !utf8.ValidString(s):
		return Errorf(Invalid, "", "is not valid UTF-8")
	case strings.Contains(s, "/"):
		return Errorf(Invalid, "", "must not contain \"/\"")
	case s == "." || s == "..":
		return Errorf(Invalid, "", "must not be %q", s)
	case len(s) >= 4 && strings.HasPrefix(s, "__") && strings.HasSuffix(s, "__"):
		return Errorf(Invalid, "", "must not begin and end with \"__\"")
	}
	return nil
}
