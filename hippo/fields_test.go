package hippo_test

import (
	"strings"
	"testing"

	"github.com/hippofire/hippofire/hippo"
)

func TestFieldNamesThatWouldNotDoAreRefused(t *testing.T) {
	if err := hippo.DefaultFields().Check(); err != nil {
		t.Errorf("the default names: %v", err)
	}
	for name, c := range map[string]struct {
		change func(f *hippo.Fields)
		field  string
	}{
		"none":                        {func(f *hippo.Fields) { f.MemoryName = "" }, "memory_name"},
		"one to be quoted":            {func(f *hippo.Fields) { f.MemoryContent = "a.b" }, "memory_content"},
		"one with a digit first":      {func(f *hippo.Fields) { f.MemoryUpdatedAt = "1st" }, "memory_updated_at"},
		"one that Firestore keeps":    {func(f *hippo.Fields) { f.MessageRole = "__role__" }, "message_role"},
		"one that is our own":         {func(f *hippo.Fields) { f.MessageContent = "terms" }, "message_content"},
		"the same in one document":    {func(f *hippo.Fields) { f.MessageCreatedAt = f.MessageRole }, "message_created_at"},
		"the same name of a memory's": {func(f *hippo.Fields) { f.MemoryContent = f.MemoryName }, "memory_content"},
	} {
		f := hippo.DefaultFields()
		c.change(&f)
		if err := f.Check(); !hippo.IsKind(err, hippo.Invalid) || !strings.HasPrefix(err.Error(), c.field+":") {
			t.Errorf("%s: %v, want a refusal of %s", name, err, c.field)
		}
	}
	f := hippo.DefaultFields()
	f.MemoryContent, f.MessageContent = "text", "text"
	if err := f.Check(); err != nil {
		t.Errorf("the same name in two documents: %v", err)
	}
}
