package hippo

import "regexp"

// Fields are the names of those fields of memories and messages that another
// program may have named before this one came. All other fields are our own.
type Fields struct {
	MemoryName      string
	MemoryContent   string
	MemoryUpdatedAt string

	MessageRole      string
	MessageContent   string
	MessageCreatedAt string
}

// DefaultFields are the names unless configuration says otherwise.
func DefaultFields() Fields {
	return Fields{
		MemoryName: "name", MemoryContent: "content", MemoryUpdatedAt: "updated_at",
		MessageRole: "role", MessageContent: "content", MessageCreatedAt: "created_at",
	}
}

// ownMessageFields are the names of a message's fields that are not settings.
var ownMessageFields = []string{"speaker", "tool_calls", "tool_call_id", "terms"}

// fieldName is a name that queries, rules and indexes take without quoting.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// Check refuses names that would not do: one that would need quoting, and two of
// one document that are the same. Its error is of kind Invalid and names the
// field.
func (f Fields) Check() error {
	memory, message := map[string]bool{}, map[string]bool{}
	for _, own := range ownMessageFields {
		message[own] = true
	}
	for _, n := range []struct {
		field, name string
		taken       map[string]bool
	}{
		{"memory_name", f.MemoryName, memory},
		{"memory_content", f.MemoryContent, memory},
		{"memory_updated_at", f.MemoryUpdatedAt, memory},
		{"message_role", f.MessageRole, message},
		{"message_content", f.MessageContent, message},
		{"message_created_at", f.MessageCreatedAt, message},
	} {
		switch {
		case !fieldName.MatchString(n.name) || checkDocumentID(n.name, MaxDocumentIDBytes) != nil:
			return Errorf(Invalid, n.field, "%q is no field's name: use letters, digits and _, and no digit first", n.name)
		case n.taken[n.name]:
			return Errorf(Invalid, n.field, "%q is the name of another field of the same document", n.name)
		}
		n.taken[n.name] = true
	}
	return nil
}
