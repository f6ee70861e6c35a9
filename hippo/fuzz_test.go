package hippo_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
)

// FuzzIDs makes ids of any text. One that is taken can stand in a path and leads to
// no other document, and names and ids are made from each other without loss.
func FuzzIDs(f *testing.F) {
	for _, seed := range []string{"a", "", ".", "..", "__x__", "a/b", "a..b", "é", "\xff", "pages/Second Location", "cGFnZXM", "cGFnZXN", strings.Repeat("x", 1500)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := hippo.NewTenantID(s); err == nil {
			path := hippo.Fill(hippo.DefaultPaths().Memory, string(id), "m")
			if tenant, memory, ok := hippo.DefaultPaths().MatchMemory(path); !ok || tenant != id || memory != "m" {
				t.Errorf("%q leads to %q", s, path)
			}
			if strings.Contains(s, "..") || len(s) > hippo.MaxIDBytes || !utf8.ValidString(s) {
				t.Errorf("%q is taken for an id", s)
			}
		}
		for _, naming := range []hippo.Naming{hippo.Base64URL, hippo.Plain} {
			id, err := naming.ID(s)
			if err == nil {
				if name, ok := naming.Name(id); !ok || name != s || !naming.Listable(id) {
					t.Errorf("%s: %q becomes %q and then %q", naming, s, id, name)
				}
			}
			if name, ok := naming.Name(hippo.MemoryID(s)); ok {
				if back, err := naming.ID(name); err != nil || back != hippo.MemoryID(s) {
					t.Errorf("%s: the id %q is %q, whose id is %q (%v)", naming, s, name, back, err)
				}
			}
		}
		if p, err := hippo.ParsePosition(s); err == nil && p.String() != s {
			t.Errorf("the position %q reads as %q", s, p)
		}
		if id, ok := hippo.ParseShardID(s); ok && id.String() != s {
			t.Errorf("the shard %q reads as %q", s, id)
		}
	})
}
