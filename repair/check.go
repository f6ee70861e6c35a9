package repair

import (
	"context"

	"github.com/hippofire/hippofire/hippo"
)

// maxFindings is how many findings a check lists; all of them are counted.
const maxFindings = 1000

// Check is what a comparison of an index with its store found.
type Check struct {
	Tenant   hippo.TenantID            `json:"tenant"`
	Equal    bool                      `json:"equal"`
	Memories int                       `json:"memories"`
	Counts   map[hippo.FindingType]int `json:"counts"`
	Findings []hippo.Finding           `json:"findings,omitempty"`
}

// add takes a finding into the check. Only what makes the list from the index
// another than the one from a scan makes them unequal.
func (c *Check) add(f hippo.Finding) {
	c.Counts[f.Type]++
	if len(c.Findings) < maxFindings {
		c.Findings = append(c.Findings, f)
	}
	if f.Type != hippo.Unindexable && f.Type != hippo.Oversize {
		c.Equal = false
	}
}

// newer is the error about an index that this version of the program must leave
// alone.
func newer(tenant hippo.TenantID) error {
	return hippo.Errorf(hippo.Conflict, "", "the index of %s is left alone: a newer version of this program writes it", tenant)
}

// readable is the generation that readers use; none where it is of an older
// format, which nobody reads any more.
func readable(current hippo.Generation) hippo.Generation {
	if current.Version < hippo.IndexVersion {
		return hippo.Generation{}
	}
	return current
}

// indexFindings lists what is wrong with an index as documents.
func indexFindings(index hippo.IndexRead) []hippo.Finding {
	gen := readable(index.Meta.Current)
	if gen.IsZero() {
		return []hippo.Finding{{Type: hippo.Absent, Shard: "meta"}}
	}
	return hippo.ShardFindings(gen, index)
}

// Check compares a tenant's index with its memories and changes nothing. What
// changes while it runs may be found to differ. Where a newer version of this
// program writes the index, it cannot tell, and the error is of kind Conflict.
func (r *Repairer) Check(ctx context.Context, tenant hippo.TenantID) (Check, error) {
	c := Check{Tenant: tenant, Equal: true, Counts: map[hippo.FindingType]int{}}
	var after hippo.MemoryID
	for first := true; ; first = false {
		index, err := r.store.ReadIndex(ctx, tenant)
		if err != nil {
			return c, err
		}
		gen := readable(index.Meta.Current)
		if gen.Version > hippo.IndexVersion {
			return c, newer(tenant)
		}
		if first {
			for _, f := range indexFindings(index) {
				c.add(f)
			}
		}
		page, in, err := r.scanPage(ctx, tenant, after)
		if err != nil {
			return c, err
		}
		if !gen.IsZero() {
			for _, f := range hippo.Diff(r.naming, gen, index, page, in) {
				c.add(f)
			}
		}
		c.Memories += len(page)
		r.options.Progress(c.Memories)
		if in.UpTo == "" {
			return c, nil
		}
		after = in.UpTo
	}
}
