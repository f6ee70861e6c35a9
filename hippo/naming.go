package hippo

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// MaxEntryKeyBytes is the longest memory id that the index can hold. An id is a
// field name under the map "e" of a shard; Firestore bounds the whole field path
// at 1,500 bytes, and the path's own "e" and quoting take some of them.
const MaxEntryKeyBytes = 1490

// Naming is how a memory's name and its document id are made from each other.
type Naming string

const (
	// Base64URL stores a memory under the unpadded base64url form of its name,
	// so that any name is a legal document id and the index need not store it.
	Base64URL Naming = "base64url"
	// Plain takes the document id itself as the name.
	Plain Naming = "plain"
)

// ParseNaming reads a naming from a setting; its error is of kind Invalid.
func ParseNaming(s string) (Naming, error) {
	switch n := Naming(s); n {
	case Base64URL, Plain:
		return n, nil
	}
	return "", Errorf(Invalid, "", "%q is no naming: use %q or %q", s, Base64URL, Plain)
}

// MaxNameBytes is the length of the longest name the index can list.
func (n Naming) MaxNameBytes() int {
	if n == Plain {
		return MaxEntryKeyBytes
	}
	return base64.RawURLEncoding.DecodedLen(MaxEntryKeyBytes)
}

// ID is the document id under which a memory of this name is stored. Its error
// is of kind Invalid; every id it returns is listable.
func (n Naming) ID(name string) (MemoryID, error) {
	switch {
	case name == "":
		return "", Errorf(Invalid, "", "is missing")
	case !utf8.ValidString(name):
		return "", Errorf(Invalid, "", "is not valid UTF-8")
	case len(name) > n.MaxNameBytes():
		return "", Errorf(Invalid, "", "is %d bytes long; the limit is %d", len(name), n.MaxNameBytes())
	}
	if n == Plain {
		return NewMemoryID(name)
	}
	return MemoryID(base64.RawURLEncoding.EncodeToString([]byte(name))), nil
}

// Name is the name a memory id stands for; false where the id is not listable.
func (n Naming) Name(id MemoryID) (string, bool) {
	if !canBeKey(id) {
		return "", false
	}
	if n == Plain {
		return string(id), true
	}
	name, err := base64.RawURLEncoding.Strict().DecodeString(string(id))
	if err != nil || !utf8.Valid(name) || strings.ContainsAny(string(id), "\r\n") {
		return "", false
	}
	return string(name), true
}

// Listable says whether the index and the scan list a memory of this id. An id
// that is not listable is in neither.
func (n Naming) Listable(id MemoryID) bool {
	_, ok := n.Name(id)
	return ok
}

// Kind is the first path element of a memory's name, by which lists are grouped
// and capped.
type Kind string

// OtherKind is the kind of a name without a path.
const OtherKind Kind = "other"

// KindOf is the kind of the memory with this name.
func KindOf(name string) Kind {
	first, _, ok := strings.Cut(name, "/")
	if !ok || first == "" {
		return OtherKind
	}
	return Kind(first)
}
