package functions_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/tools"
	"github.com/hippofire/hippofire/turnreader"
)

func TestListMemoriesOverTheFramework(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := serve(f)
		f.EmptyIndex()
		s.ok("SaveTurn", `{"tenant":"t","thread":"th","messages":[{"id":"m1","role":"user","content":"x"}]}`)
		s.ok("RecordEpisode", `{"tenant":"t","thread":"th","from":"m1","to":"m1","episode":"","writes":[{"name":"pages/a","content":"1"},{"name":"sources/b","content":"2"}]}`)
		list := s.ok("ListMemories", `{"tenant":"t","kind":"pages"}`)
		memories := list["memories"].([]any)
		if len(memories) != 1 || memories[0].(map[string]any)["name"] != "pages/a" || list["total"] != 1.0 {
			t.Errorf("by kind: %v", list)
		}
		list = s.ok("ListMemories", `{"tenant":"t","names":["sources/b","pages/gone"]}`)
		if diff := cmp.Diff([]any{"pages/gone"}, list["missing"]); diff != "" || list["documents"] != 1.0 {
			t.Errorf("by name: %v", list)
		}
		if a := s.post("ListMemories", `{"tenant":"t","limit":100000}`); a.status != http.StatusBadRequest || a.body["field"] != "limit" {
			t.Errorf("a limit too high: %d %v", a.status, a.body)
		}
	})
}

// fields are the names of a request's fields, and whether JSON may lack them.
func fields(of reflect.Type) map[string]bool {
	all := make(map[string]bool)
	for i := range of.NumField() {
		name, optional := strings.CutSuffix(of.Field(i).Tag.Get("json"), ",omitempty")
		all[name] = optional
	}
	return all
}

func TestToolsTakeWhatTheirFunctionsTake(t *testing.T) {
	for _, test := range []struct {
		tool    tools.Tool
		request any
	}{
		{tools.ListMemories, turnreader.ListRequest{}},
		{tools.OpenMemory, functions.OpenRequest{}},
	} {
		takes := fields(reflect.TypeOf(test.request))
		delete(takes, "tenant") // the backend's to say
		var required []string
		for name, optional := range takes {
			if _, ok := test.tool.Parameters.Properties[name]; !ok {
				t.Errorf("%s does not define %s", test.tool.Name, name)
			}
			if !optional {
				required = append(required, name)
			}
		}
		slices.Sort(required)
		if len(takes) != len(test.tool.Parameters.Properties) || !slices.Equal(required, test.tool.Parameters.Required) {
			t.Errorf("%s defines %v and requires %v; %s takes %v", test.tool.Name, test.tool.Parameters.Properties, test.tool.Parameters.Required, test.tool.Function, takes)
		}
	}
}
