package storetest

import (
	"fmt"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

var tenantCases = []testCase{
	{"a tenant is listed when any document of its is there", tenantsListed},
	{"tenants are listed in order, by pages", tenantsPaged},
	{"a thread is listed when any document of its is there", threadsListed},
	{"threads are listed in order, by pages, of one tenant alone", threadsPaged},
	{"a report is replaced and reads back as it was saved", reportRoundTrip},
	{"a tenant without a report has none to read", noReport},
}

// root is the path of what a template's placeholder names, as a document.
func root(template, placeholder string, values ...string) string {
	before, _, _ := strings.Cut(template, placeholder)
	return hippo.Fill(before+placeholder, values...)
}

// tenantsBehind lists tenants whose ids begin with f's.
func (f *fixture) tenantsBehind(after hippo.TenantID, limit int) []hippo.TenantID {
	f.Helper()
	ours, _ := f.tenantsFrom(hippo.Cursor{After: string(after)}, limit)
	return ours
}

func (f *fixture) tenantsFrom(from hippo.Cursor, limit int) ([]hippo.TenantID, hippo.Cursor) {
	f.Helper()
	found, next, err := f.store.Tenants(f.ctx, from, limit)
	f.ok(err)
	if len(found) > limit {
		f.Fatalf("%d tenants, want at most %d", len(found), limit)
	}
	var ours []hippo.TenantID
	for _, t := range found {
		if strings.HasPrefix(string(t), string(f.tenant)) {
			ours = append(ours, t)
		}
	}
	return ours, next
}

func tenantsListed(f *fixture) {
	same(f, "tenants without documents", f.tenantsBehind(f.tenant, 5), nil)
	p := f.layout.Paths
	for i, path := range []string{
		root(p.Memory, "{tenant}", string(f.tenant)+"-0"),
		hippo.Fill(p.Memory, string(f.tenant)+"-1", "m"),
		hippo.Fill(p.Index, string(f.tenant)+"-2", "meta"),
		hippo.Fill(p.Message, string(f.tenant)+"-3", "thread", "m"),
		hippo.Fill(p.Report, string(f.tenant)+"-4", schema.ReportID),
	} {
		f.put(path, map[string]any{"a": int64(1)})
		want := []hippo.TenantID{hippo.TenantID(fmt.Sprintf("%s-%d", f.tenant, i))}
		same(f, "tenants of "+path, f.tenantsBehind(f.tenant, 5), want)
		f.drop(path)
		same(f, "tenants after its last document went", f.tenantsBehind(f.tenant, 5), nil)
	}
}

func tenantsPaged(f *fixture) {
	want := []hippo.TenantID{f.tenant + "-10", f.tenant + "-9", f.tenant + "-A", f.tenant + "-a", f.tenant + "-é"}
	for _, i := range []int{3, 0, 4, 2, 1} {
		f.put(hippo.Fill(f.layout.Paths.Memory, string(want[i]), "m"), map[string]any{"a": int64(1)})
		f.put(hippo.Fill(f.layout.Paths.Report, string(want[i]), schema.ReportID), map[string]any{"a": int64(1)})
	}
	next := hippo.Cursor{After: string(f.tenant)}
	for from := 0; from < len(want); from += 2 {
		var got []hippo.TenantID
		got, next = f.tenantsFrom(next, 2)
		same(f, fmt.Sprintf("page from tenant %d", from), got, want[from:min(from+2, len(want))])
	}
	same(f, "behind an id", f.tenantsBehind(want[1], 2), want[2:4])
	same(f, "behind one that does not exist", f.tenantsBehind(f.tenant+"-B", 2), want[3:])
}

func (f *fixture) threads(after hippo.ThreadID, limit int) []hippo.ThreadID {
	f.Helper()
	found, _ := f.threadsFrom(hippo.Cursor{After: string(after)}, limit)
	return found
}

func (f *fixture) threadsFrom(from hippo.Cursor, limit int) ([]hippo.ThreadID, hippo.Cursor) {
	f.Helper()
	found, next, err := f.store.Threads(f.ctx, f.tenant, from, limit)
	f.ok(err)
	return found, next
}

func threadsListed(f *fixture) {
	same(f, "threads of a tenant without documents", f.threads("", 5), nil)
	f.putMemory("a", day(1))
	same(f, "threads of a tenant with memories alone", f.threads("", 5), nil)
	p := f.layout.Paths
	for _, path := range []string{
		root(p.Message, "{thread}", string(f.tenant), "x"),
		hippo.Fill(p.Message, string(f.tenant), "x", "m"),
		hippo.Fill(p.Episode, string(f.tenant), "x", "e"),
		hippo.Fill(p.Pass, string(f.tenant), "x", "p"),
	} {
		f.put(path, map[string]any{"a": int64(1)})
		same(f, "threads of "+path, f.threads("", 5), []hippo.ThreadID{"x"})
		f.drop(path)
		same(f, "threads after its last document went", f.threads("", 5), nil)
	}
}

func threadsPaged(f *fixture) {
	want := []hippo.ThreadID{"10", "9", "A", "a", "é"}
	for _, i := range []int{3, 0, 4, 2, 1} {
		f.put(hippo.Fill(f.layout.Paths.Message, string(f.tenant), string(want[i]), "m"), map[string]any{"a": int64(1)})
		f.put(hippo.Fill(f.layout.Paths.Pass, string(f.tenant), string(want[i]), "p"), map[string]any{"a": int64(1)})
		f.put(hippo.Fill(f.layout.Paths.Message, string(f.other().tenant), "other", "m"), map[string]any{"a": int64(1)})
	}
	same(f, "all", f.threads("", 10), want)
	var got []hippo.ThreadID
	pages := 0
	for next := (hippo.Cursor{}); pages == 0 || !next.IsZero(); pages++ {
		var page []hippo.ThreadID
		page, next = f.threadsFrom(next, 2)
		got = append(got, page...)
		if len(page) > 2 || pages > len(want) {
			f.Fatalf("page %d has %v", pages, page)
		}
	}
	same(f, "page by page", got, want)
	same(f, "behind an id", f.threads("9", 2), want[2:4])
	same(f, "behind the end", f.threads("é", 2), nil)
}

func reportRoundTrip(f *fixture) {
	for _, want := range []hippo.Report{
		{Tenant: f.tenant, Version: 1, Cause: "nightly", Rebuilt: true, Memories: 12, Findings: map[hippo.FindingType]int{hippo.Missing: 3, hippo.Orphan: 1}, Reads: 40, Writes: 7, Duration: 1234567, FinishedAt: day(2)},
		{Tenant: f.tenant, Version: 1, Cause: "asked for", Memories: 13, Findings: map[hippo.FindingType]int{}, Reads: 20, FinishedAt: day(3)},
	} {
		f.ok(f.store.SaveReport(f.ctx, want))
		got, err := f.store.Report(f.ctx, f.tenant)
		f.ok(err)
		same(f, "report", got, want)
	}
}

func noReport(f *fixture) {
	_, err := f.store.Report(f.ctx, f.tenant)
	f.fails(err, hippo.NotFound)
}
