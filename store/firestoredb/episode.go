package firestoredb

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// An episode's document id is its To, so that the order by name is the order by
// To, and an order by from needs no index beyond the field's own.

// FirstEpisode reads one document.
func (s *Store) FirstEpisode(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (hippo.Episode, bool, error) {
	in, err := s.episodes(tenant, thread)
	if err != nil {
		return hippo.Episode{}, false, err
	}
	found, err := s.queryEpisodes(ctx, "FirstEpisode", in.query().by(ascending, schema.From).first(1))
	if err != nil || len(found) == 0 {
		return hippo.Episode{}, false, err
	}
	return found[0], true, nil
}

// EpisodesBefore compares positions as the strings they are stored as.
func (s *Store) EpisodesBefore(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, before hippo.Position, limit int) ([]hippo.Episode, error) {
	in, err := s.episodes(tenant, thread)
	if err != nil {
		return nil, err
	}
	earlier := where(schema.From, less, text(before.String()))
	return s.queryEpisodes(ctx, "EpisodesBefore", in.query().filter(earlier).by(descending, schema.From).first(limit))
}

// EpisodesAfter reads by name.
func (s *Store) EpisodesAfter(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, after hippo.Position, limit int) ([]hippo.Episode, error) {
	in, err := s.episodes(tenant, thread)
	if err != nil {
		return nil, err
	}
	behind := []*pb.Value{reference(in.document(after.String()))}
	return s.queryEpisodes(ctx, "EpisodesAfter", in.query().by(ascending).from(behind, true).first(limit))
}

// EpisodeByHandle reads one document.
func (s *Store) EpisodeByHandle(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, handle string) (hippo.Episode, error) {
	in, err := s.episodes(tenant, thread)
	if err != nil {
		return hippo.Episode{}, err
	}
	found, err := s.queryEpisodes(ctx, "EpisodeByHandle", in.query().filter(where(schema.Handle, equal, text(handle))).first(1))
	if err != nil {
		return hippo.Episode{}, err
	}
	if len(found) == 0 {
		return hippo.Episode{}, hippo.Errorf(hippo.NotFound, "", "no such handle")
	}
	return found[0], nil
}

// CountEpisodes is an aggregation.
func (s *Store) CountEpisodes(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (int, error) {
	in, err := s.episodes(tenant, thread)
	if err != nil {
		return 0, err
	}
	return s.count(ctx, "CountEpisodes", in)
}

func (s *Store) episodes(tenant hippo.TenantID, thread hippo.ThreadID) (collection, error) {
	return s.collection(s.layout.Paths.Episode, string(tenant), string(thread))
}

func (s *Store) queryEpisodes(ctx context.Context, method string, q query) ([]hippo.Episode, error) {
	episodes, _, err := run(ctx, s, method, q, func(d *pb.Document) (hippo.Episode, int64, bool) {
		e, ok := schema.ParseEpisode(decode(d.Fields))
		return e, size(d), ok
	})
	return episodes, err
}
