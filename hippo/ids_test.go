package hippo_test

import (
	"strings"
	"testing"

	"github.com/hippofire/hippofire/hippo"
)

func TestIDsThatCouldEscapeAPathAreRefused(t *testing.T) {
	constructors := map[string]func(string) error{
		"tenant":  func(s string) error { _, err := hippo.NewTenantID(s); return err },
		"thread":  func(s string) error { _, err := hippo.NewThreadID(s); return err },
		"message": func(s string) error { _, err := hippo.NewMessageID(s); return err },
		"memory":  func(s string) error { _, err := hippo.NewMemoryID(s); return err },
	}
	// Of a memory's id, only Firestore's own rules are asked: it is another
	// writer's choice.
	for _, c := range []struct {
		name, id     string
		refused      bool
		memoryIsFine bool
	}{
		{"empty", "", true, false},
		{"one letter", "a", false, false},
		{"letters of every sort", "Größe-日本_😀.v1", false, false},
		{"inner spaces", "a b", false, false},
		{"url characters", "a?b#c%2F&d=e", false, false},
		{"underscores in front", "__x", false, false},
		{"a short reserved form", "___", false, false},
		{"256 bytes", strings.Repeat("x", 256), false, false},
		{"257 bytes", strings.Repeat("x", 257), true, true},
		{"256 bytes in 128 letters", strings.Repeat("é", 128), false, false},
		{"258 bytes in 129 letters", strings.Repeat("é", 129), true, true},
		{"1,500 bytes", strings.Repeat("x", 1500), true, true},
		{"1,501 bytes", strings.Repeat("x", 1501), true, false},
		{"slash", "a/b", true, false},
		{"only a slash", "/", true, false},
		{"dot", ".", true, false},
		{"two dots", "..", true, false},
		{"dots inside", "a..b", true, true},
		{"one dot inside", "a.b", false, false},
		{"reserved", "__x__", true, false},
		{"reserved and empty", "____", true, false},
		{"newline", "a\nb", true, true},
		{"zero byte", "a\x00b", true, true},
		{"delete", "a\x7fb", true, true},
		{"a control of Latin-1", "a\u0085b", true, true},
		{"no UTF-8", "a\xffb", true, false},
		{"half a letter", "\xc3", true, false},
	} {
		for kind, construct := range constructors {
			refused := c.refused && !(kind == "memory" && c.memoryIsFine)
			switch err := construct(c.id); {
			case refused && !hippo.IsKind(err, hippo.Invalid):
				t.Errorf("%s id, %s: error %v, want an invalid one", kind, c.name, err)
			case !refused && err != nil:
				t.Errorf("%s id, %s: %v", kind, c.name, err)
			}
		}
	}
}
