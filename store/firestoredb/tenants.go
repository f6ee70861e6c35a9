package firestoredb

import (
	"context"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// listPageSize is how many documents one ListDocuments asks for.
const listPageSize = 300

// Tenants lists the documents at the tenant's place in each template, those that
// do not exist but have some below them included. Firestore goes on with such a
// list by a token of its own alone. Without one, and where the templates lie in
// several collections, it is read from its beginning, which bills a read for each
// tenant up to the last one returned.
func (s *Store) Tenants(ctx context.Context, from hippo.Cursor, limit int) ([]hippo.TenantID, hippo.Cursor, error) {
	return list[hippo.TenantID](ctx, s, "Tenants", "{tenant}", nil, from, limit)
}

// Threads lists as Tenants does.
func (s *Store) Threads(ctx context.Context, tenant hippo.TenantID, from hippo.Cursor, limit int) ([]hippo.ThreadID, hippo.Cursor, error) {
	return list[hippo.ThreadID](ctx, s, "Threads", "{thread}", []string{string(tenant)}, from, limit)
}

// list lists what stands at a placeholder's place, in the order of ids.
func list[T ~string](ctx context.Context, s *Store, method, placeholder string, above []string, from hippo.Cursor, limit int) (ids []T, next hippo.Cursor, err error) {
	templates := s.layout.Paths.Roots(placeholder)
	if len(templates) > 1 {
		from.Token = ""
	}
	more := false
	for _, template := range templates {
		in, err := s.collection(template, above...)
		if err != nil {
			return nil, hippo.Cursor{}, err
		}
		found, token, err := s.listDocuments(ctx, method, in, from, limit)
		if err != nil {
			return nil, hippo.Cursor{}, translate(err, "list "+in.id)
		}
		for _, id := range found {
			ids = append(ids, T(id))
		}
		more, next.Token = more || token != "", token
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > limit {
		ids, more = ids[:limit], true
	}
	if !more {
		return ids, hippo.Cursor{}, nil
	}
	if len(templates) > 1 {
		next.Token = ""
	}
	next.After = string(ids[len(ids)-1])
	return ids, next, nil
}

// listDocuments reads pages until limit ids were found, and returns the token of
// what is behind the last of them, which is empty at the end.
func (s *Store) listDocuments(ctx context.Context, method string, in collection, from hippo.Cursor, limit int) (ids []string, token string, err error) {
	token = from.Token
	passing := token == "" && from.After != "" // over what comes before from
	for size := listPageSize; ; {
		if !passing {
			size = min(size, limit-len(ids))
		}
		page, next, err := s.listPage(ctx, method, in, token, size)
		if token != "" && len(ids) == 0 && codeOf(err) == codes.InvalidArgument {
			token, passing, size = "", from.After != "", listPageSize
			continue
		}
		if err != nil {
			return nil, "", err
		}
		found := slices.DeleteFunc(slices.Clone(page), func(id string) bool {
			_, err := hippo.NewTenantID(id)
			return err != nil || id <= from.After
		})
		if over := len(ids) + len(found) - limit; over > 0 {
			size = len(page) - over // so that the token stands behind the last one returned
			continue
		}
		ids = append(ids, found...)
		token, passing = next, passing && len(found) == 0
		if token == "" || len(ids) == limit {
			return ids, token, nil
		}
	}
}

// listPage reads one page, and returns the token of the next.
func (s *Store) listPage(ctx context.Context, method string, in collection, token string, count int) (ids []string, next string, err error) {
	err = retry(ctx, afterRead, func() error {
		ctx, cancel := s.outgoing(ctx, callWithin)
		defer cancel()
		pages := s.client.ListDocuments(ctx, &pb.ListDocumentsRequest{
			Parent: in.parent, CollectionId: in.id, ShowMissing: true, Mask: maskOf([]string{}),
		})
		var page []*pb.Document
		next, err = iterator.NewPager(pages, count, token).NextPage(&page)
		if err != nil {
			return err
		}
		ids = make([]string, len(page))
		var bytes int64
		for i, d := range page {
			ids[i] = lastID(d.Name)
			bytes += size(d)
		}
		hippo.CountRead(ctx, method, len(page), bytes)
		return nil
	})
	return ids, next, err
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
