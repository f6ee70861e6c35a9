package embedded

import (
	"context"
	"iter"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// FirstEpisode implements hippo.ThreadStore.
func (s *Store) FirstEpisode(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (hippo.Episode, bool, error) {
	found, err := s.listEpisodes(ctx, "FirstEpisode", tenant, thread, 1, func(c *collection) iter.Seq[item] {
		return c.in(view{name: byFrom}).from(item{})
	})
	if len(found) == 0 {
		return hippo.Episode{}, false, err
	}
	return found[0], true, nil
}

// EpisodesBefore implements hippo.ThreadStore.
func (s *Store) EpisodesBefore(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, before hippo.Position, limit int) ([]hippo.Episode, error) {
	return s.listEpisodes(ctx, "EpisodesBefore", tenant, thread, limit, func(c *collection) iter.Seq[item] {
		return c.in(view{name: byFrom}).below(item{key: before.String()})
	})
}

// EpisodesAfter implements hippo.ThreadStore.
func (s *Store) EpisodesAfter(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, after hippo.Position, limit int) ([]hippo.Episode, error) {
	return s.listEpisodes(ctx, "EpisodesAfter", tenant, thread, limit, func(c *collection) iter.Seq[item] {
		return c.in(view{name: byTo}).from(item{key: after.String() + "\x00"})
	})
}

// EpisodeByHandle implements hippo.ThreadStore.
func (s *Store) EpisodeByHandle(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, handle string) (hippo.Episode, error) {
	found, err := s.listEpisodes(ctx, "EpisodeByHandle", tenant, thread, 1, func(c *collection) iter.Seq[item] {
		return c.in(view{byHandle, handle}).from(item{})
	})
	if err != nil {
		return hippo.Episode{}, err
	}
	if len(found) == 0 {
		return hippo.Episode{}, hippo.Errorf(hippo.NotFound, "", "no episode has the handle %.80q", handle)
	}
	return found[0], nil
}

// CountEpisodes implements hippo.ThreadStore.
func (s *Store) CountEpisodes(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (int, error) {
	return s.count(ctx, "CountEpisodes", s.layout.Paths.Episode, string(tenant), string(thread))
}

// listEpisodes reads the first episodes of an order, at most limit.
func (s *Store) listEpisodes(ctx context.Context, method string, tenant hippo.TenantID, thread hippo.ThreadID, limit int, in func(*collection) iter.Seq[item]) (episodes []hippo.Episode, err error) {
	err = s.view(ctx, method, func(r *reader) error {
		c := s.collection(s.layout.Paths.Episode, string(tenant), string(thread))
		r.query(c, in(c), limit, func(_ string, d *document) {
			e, _ := schema.ParseEpisode(d.fields)
			episodes = append(episodes, e)
		})
		return nil
	})
	return episodes, err
}
