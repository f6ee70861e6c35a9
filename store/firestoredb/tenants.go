package firestoredb

import (
	"context"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/iterator"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// listPage is how many documents one ListDocuments asks for.
const listPage = 300

// Tenants lists the documents at the tenant's place in each template, those that
// do not exist but have some below them included. Such a list can only be read
// from its beginning, so a call bills a read for each tenant up to the last one
// returned.
func (s *Store) Tenants(ctx context.Context, after hippo.TenantID, limit int) ([]hippo.TenantID, error) {
	return list(ctx, s, "Tenants", "{tenant}", nil, after, limit)
}

// Threads lists as Tenants does.
func (s *Store) Threads(ctx context.Context, tenant hippo.TenantID, after hippo.ThreadID, limit int) ([]hippo.ThreadID, error) {
	return list(ctx, s, "Threads", "{thread}", []string{string(tenant)}, after, limit)
}

// list lists what stands at a placeholder's place, in the order of ids.
func list[T ~string](ctx context.Context, s *Store, method, placeholder string, above []string, after T, limit int) ([]T, error) {
	var ids []T
	for _, template := range roots(s.layout.Paths, placeholder) {
		in, err := s.collection(template, above...)
		if err != nil {
			return nil, err
		}
		found, err := s.listDocuments(ctx, method, in, string(after), limit)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			ids = append(ids, T(id))
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(limit, len(ids))], nil
}

// roots are the templates cut off behind a placeholder, each once. A collection's
// id may stand there as well as a document's.
func roots(paths hippo.Paths, placeholder string) []string {
	var found []string
	for _, t := range []string{paths.Memory, paths.Index, paths.Move, paths.Message, paths.Episode, paths.Pass, paths.Report} {
		before, _, ok := strings.Cut(t, placeholder)
		if root := before + placeholder; ok && !slices.Contains(found, root) {
			found = append(found, root)
		}
	}
	return found
}

func (s *Store) listDocuments(ctx context.Context, method string, in collection, after string, limit int) (ids []string, err error) {
	err = retry(ctx, afterRead, func() error {
		ids, err = s.listOnce(ctx, method, in, after, limit)
		return err
	})
	return ids, translate(err, "list "+in.id)
}

// listOnce reads pages until limit ids behind after were found.
func (s *Store) listOnce(ctx context.Context, method string, in collection, after string, limit int) (ids []string, err error) {
	ctx, cancel := s.outgoing(ctx, scanWithin)
	defer cancel()
	pages := s.client.ListDocuments(ctx, &pb.ListDocumentsRequest{
		Parent: in.parent, CollectionId: in.id, ShowMissing: true, Mask: maskOf([]string{}),
	})
	pager := iterator.NewPager(pages, listPage, "")
	for {
		var page []*pb.Document
		next, err := pager.NextPage(&page)
		if err != nil {
			return nil, err
		}
		var bytes int64
		for _, d := range page {
			bytes += size(d)
			id := lastID(d.Name)
			if _, err := hippo.NewTenantID(id); err == nil && id > after {
				ids = append(ids, id)
			}
		}
		hippo.CountRead(ctx, method, len(page), bytes)
		if next == "" || len(ids) >= limit {
			return ids, nil
		}
	}
}

// SaveReport replaces the report.
func (s *Store) SaveReport(ctx context.Context, r hippo.Report) error {
	name, err := s.name(s.layout.Paths.Report, string(r.Tenant), schema.ReportID)
	if err != nil {
		return err
	}
	w, err := set(name, schema.ReportFields(r))
	if err != nil {
		return err
	}
	_, err = s.commit(ctx, "SaveReport", w)
	return err
}

// Report reads one document.
func (s *Store) Report(ctx context.Context, tenant hippo.TenantID) (hippo.Report, error) {
	name, err := s.name(s.layout.Paths.Report, string(tenant), schema.ReportID)
	if err != nil {
		return hippo.Report{}, err
	}
	d, err := s.getOne(ctx, "Report", name)
	if err != nil {
		return hippo.Report{}, err
	}
	if d == nil {
		return hippo.Report{}, hippo.Errorf(hippo.NotFound, "", "no repair has left a report")
	}
	return schema.ParseReport(tenant, decode(d.Fields)), nil
}
