package embedded

import (
	"context"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// Tenants implements hippo.Store.
func (s *Store) Tenants(ctx context.Context, from hippo.Cursor, limit int) ([]hippo.TenantID, hippo.Cursor, error) {
	return list[hippo.TenantID](ctx, s, "Tenants", &s.tenants, "", from, limit)
}

// Threads implements hippo.Store.
func (s *Store) Threads(ctx context.Context, tenant hippo.TenantID, from hippo.Cursor, limit int) ([]hippo.ThreadID, hippo.Cursor, error) {
	return list[hippo.ThreadID](ctx, s, "Threads", &s.threads, string(tenant)+"/", from, limit)
}

func list[ID ~string](ctx context.Context, s *Store, method string, of *owners, prefix string, from hippo.Cursor, limit int) (ids []ID, next hippo.Cursor, err error) {
	err = s.view(ctx, method, func(r *reader) error {
		for _, id := range of.list(prefix, from.After, limit) {
			ids = append(ids, ID(id))
		}
		r.returned(len(ids), 0)
		return nil
	})
	if len(ids) == limit {
		next.After = string(ids[limit-1])
	}
	return ids, next, err
}

// SaveReport implements hippo.Store.
func (s *Store) SaveReport(ctx context.Context, report hippo.Report) error {
	return s.transact(ctx, "SaveReport", func(t *tx) error {
		t.set(s.reportPath(report.Tenant), schema.ReportFields(report))
		return nil
	})
}

// Report implements hippo.Store.
func (s *Store) Report(ctx context.Context, tenant hippo.TenantID) (report hippo.Report, err error) {
	err = s.view(ctx, "Report", func(r *reader) error {
		d := r.get(s.reportPath(tenant))
		if d == nil {
			return hippo.Errorf(hippo.NotFound, "", "no repair of %q has been reported", tenant)
		}
		report = schema.ParseReport(tenant, d.fields)
		return nil
	})
	return report, err
}
