package hippo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

func TestTheDefaultPathsWouldDo(t *testing.T) {
	if err := hippo.DefaultPaths().Check(); err != nil {
		t.Error(err)
	}
	if got := hippo.DefaultLayout(); got.Paths != hippo.DefaultPaths() || got.Naming != hippo.Base64URL {
		t.Errorf("default layout %v", got)
	}
}

func TestTemplatesThatWouldNotDoAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		field  string
		change func(p *hippo.Paths)
	}{
		"empty":                     {"memory", func(p *hippo.Paths) { p.Memory = "" }},
		"a collection":              {"memory", func(p *hippo.Paths) { p.Memory = "tenants/{tenant}/memories" }},
		"no tenant":                 {"memory", func(p *hippo.Paths) { p.Memory = "memories/{memory}" }},
		"no memory":                 {"memory", func(p *hippo.Paths) { p.Memory = "tenants/{tenant}" }},
		"another placeholder":       {"memory", func(p *hippo.Paths) { p.Memory = "tenants/{tenant}/memories/{page}" }},
		"one too many":              {"memory", func(p *hippo.Paths) { p.Memory = "tenants/{tenant}/kinds/{kind}/memories/{memory}" }},
		"doubled":                   {"memory", func(p *hippo.Paths) { p.Memory = "tenants/{tenant}/memories/{memory}/of/{memory}" }},
		"out of order":              {"memory", func(p *hippo.Paths) { p.Memory = "memories/{memory}/tenants/{tenant}" }},
		"placeholder not at end":    {"memory", func(p *hippo.Paths) { p.Memory = "tenants/{tenant}/memories/{memory}/of/it" }},
		"placeholder as a part":     {"memory", func(p *hippo.Paths) { p.Memory = "tenants/t-{tenant}/memories/{memory}" }},
		"placeholder as collection": {"memory", func(p *hippo.Paths) { p.Memory = "apps/agent/{tenant}/{memory}" }},
		"an empty segment":          {"index", func(p *hippo.Paths) { p.Index = "tenants/{tenant}//{shard}" }},
		"a leading slash":           {"index", func(p *hippo.Paths) { p.Index = "/tenants/{tenant}/index/x/{shard}" }},
		"dots":                      {"index", func(p *hippo.Paths) { p.Index = "tenants/{tenant}/../{shard}" }},
		"a wildcard":                {"move", func(p *hippo.Paths) { p.Move = "tenants/{tenant}/moves*/{memory}" }},
		"a catch-all":               {"move", func(p *hippo.Paths) { p.Move = "tenants/{tenant}/moves/{memory=**}" }},
		"a reserved name":           {"report", func(p *hippo.Paths) { p.Report = "tenants/{tenant}/__reports__/{report}" }},
		"no thread":                 {"message", func(p *hippo.Paths) { p.Message = "tenants/{tenant}/messages/{message}" }},
		"thread before its tenant":  {"episode", func(p *hippo.Paths) { p.Episode = "threads/{thread}/tenants/{tenant}/episodes/{episode}" }},
		"a shared collection":       {"pass", func(p *hippo.Paths) { p.Pass = "tenants/{tenant}/threads/{thread}/episodes/{pass}" }},
		"the memories' collection":  {"index", func(p *hippo.Paths) { p.Index = "tenants/{tenant}/memories/{shard}" }},
	} {
		paths := hippo.DefaultPaths()
		c.change(&paths)
		err := paths.Check()
		var e *hippo.Error
		if !errors.As(err, &e) || e.Kind != hippo.Invalid || e.Field != c.field {
			t.Errorf("%s: error %v, want an invalid one about %s", name, err, c.field)
		}
	}
}

func TestAFilledTemplateMatchesItself(t *testing.T) {
	p := hippo.DefaultPaths()
	rapid.Check(t, func(t *rapid.T) {
		template := rapid.SampledFrom([]string{p.Memory, p.Index, p.Move, p.Message, p.Episode, p.Pass, p.Report, "a/b/{tenant}/c/{memory}"}).Draw(t, "template")
		id := rapid.StringMatching(`[a-z{}.é😀 ]{1,8}`)
		values := rapid.SliceOfN(id, strings.Count(template, "{"), strings.Count(template, "{")).Draw(t, "values")
		path := hippo.Fill(template, values...)
		if got, ok := hippo.Match(template, path); !ok || !slices.Equal(got, values) {
			t.Fatalf("%q filled with %q is %q, which matches as %q, %t", template, values, path, got, ok)
		}
	})
}

func TestOnlyAPathOfExactlyItsFormMatches(t *testing.T) {
	const template = "tenants/{tenant}/memories/{memory}"
	for _, path := range []string{
		"", "tenants", "tenants/t", "tenants/t/memories", "tenants/t/memories/m/parts/p", "tenants/t/memory_index/m",
		"Tenants/t/memories/m", "/tenants/t/memories/m", "tenants/t/memories/m/", "x/tenants/t/memories/m",
	} {
		if values, ok := hippo.Match(template, path); ok {
			t.Errorf("%q matches as %q", path, values)
		}
	}
}

func TestAMemorysPathIsOneWithIDs(t *testing.T) {
	p := hippo.DefaultPaths()
	tenant, id, ok := p.MatchMemory("tenants/t/memories/1865_v3.1")
	if !ok || tenant != "t" || id != "1865_v3.1" {
		t.Errorf("matched as %q, %q, %t", tenant, id, ok)
	}
	for _, path := range []string{
		"tenants/t/memory_index/meta", "tenants/t/memories/m/versions/1", "tenants/t/threads/th/episodes/e", "tenants/t",
		"tenants//memories/m", "tenants/t/memories/", "tenants/../memories/m", "tenants/a..b/memories/m", "tenants/t/memories/..",
		"tenants/t/memories/__m__", "tenants/__t__/memories/m", "tenants/t\n/memories/m", "tenants/t/memories/\xff",
		"tenants/" + strings.Repeat("t", 257) + "/memories/m", "tenants/t/memories/" + strings.Repeat("m", 1501),
	} {
		if tenant, id, ok := p.MatchMemory(path); ok {
			t.Errorf("%.60q matched as %q, %q", path, tenant, id)
		}
	}
}

func TestRootsAreEachPlaceOnce(t *testing.T) {
	p := hippo.DefaultPaths()
	p.Pass = "passes/{tenant}/of/{thread}/all/{pass}"
	for placeholder, want := range map[string][]string{
		"{tenant}": {"tenants/{tenant}", "passes/{tenant}"},
		"{thread}": {"tenants/{tenant}/threads/{thread}", "passes/{tenant}/of/{thread}"},
	} {
		if got := p.Roots(placeholder); !slices.Equal(got, want) {
			t.Errorf("roots of %s: %q, want %q", placeholder, got, want)
		}
	}
}
