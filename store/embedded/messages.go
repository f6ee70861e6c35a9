package embedded

import (
	"context"
	"iter"
	"slices"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// SaveMessages implements hippo.ThreadStore.
func (s *Store) SaveMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, messages []hippo.Message) ([]hippo.Message, error) {
	var created []hippo.Message
	err := s.transact(ctx, "SaveMessages", func(t *tx) error {
		stored := make(map[hippo.MessageID]hippo.Message)
		for _, m := range messages {
			if d := t.project(s.messagePath(tenant, thread, m.ID)); d != nil {
				stored[m.ID] = schema.ParseMessage(s.layout.Fields, m.ID, d.fields)
			}
		}
		created = hippo.PlanSave(messages, stored, hippo.MicrosOf(t.now()))
		for _, m := range created {
			t.set(s.messagePath(tenant, thread, m.ID), schema.MessageFields(s.layout.Fields, m))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// RecentMessages implements hippo.ThreadStore.
func (s *Store) RecentMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, limit int) ([]hippo.Message, error) {
	messages, err := s.listMessages(ctx, "RecentMessages", tenant, thread, limit, func(c *collection) iter.Seq[item] {
		return c.in(view{name: byTime}).backwards()
	})
	slices.Reverse(messages)
	return messages, err
}

// MessagesIn implements hippo.ThreadStore.
func (s *Store) MessagesIn(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, in hippo.Stretch, after hippo.Position, limit int) ([]hippo.Message, error) {
	first, end := placeOf(in.From), placeOf(in.To).behind()
	if after != (hippo.Position{}) && !after.Before(in.From) {
		first = placeOf(after).behind()
	}
	return s.listMessages(ctx, "MessagesIn", tenant, thread, limit, func(c *collection) iter.Seq[item] {
		return until(end, c.in(view{name: byTime}).from(first))
	})
}

// MessagesBefore implements hippo.ThreadStore.
func (s *Store) MessagesBefore(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, before hippo.Position, limit int) ([]hippo.Message, error) {
	return s.listMessages(ctx, "MessagesBefore", tenant, thread, limit, func(c *collection) iter.Seq[item] {
		return c.in(view{name: byTime}).below(placeOf(before))
	})
}

// MessagesWithTerm implements hippo.ThreadStore.
func (s *Store) MessagesWithTerm(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, term string, before hippo.Position, limit int) ([]hippo.Message, error) {
	return s.listMessages(ctx, "MessagesWithTerm", tenant, thread, limit, func(c *collection) iter.Seq[item] {
		return c.in(view{byTerm, term}).below(placeOf(before))
	})
}

// listMessages reads the first messages of an order, at most limit.
func (s *Store) listMessages(ctx context.Context, method string, tenant hippo.TenantID, thread hippo.ThreadID, limit int, in func(*collection) iter.Seq[item]) (messages []hippo.Message, err error) {
	err = s.view(ctx, method, func(r *reader) error {
		c := s.collection(s.layout.Paths.Message, string(tenant), string(thread))
		r.query(c, in(c), limit, func(id string, d *document) {
			messages = append(messages, schema.ParseMessage(s.layout.Fields, hippo.MessageID(id), d.fields))
		})
		return nil
	})
	return messages, err
}

// query hands out the first documents of an order, at most limit, and counts
// them as one query.
func (r *reader) query(c *collection, in iter.Seq[item], limit int, yield func(id string, d *document)) {
	documents, bytes := 0, int64(0)
	for x := range in {
		if documents == limit {
			break
		}
		d := c.docs[x.id]
		documents, bytes = documents+1, bytes+d.size
		yield(x.id, d)
	}
	r.returned(documents, bytes)
}

// until cuts an ascending order off at end.
func until(end item, in iter.Seq[item]) iter.Seq[item] {
	return func(yield func(item) bool) {
		for x := range in {
			if x.compare(end) >= 0 || !yield(x) {
				return
			}
		}
	}
}

// Positions implements hippo.ThreadStore.
func (s *Store) Positions(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, ids []hippo.MessageID) (found map[hippo.MessageID]hippo.Position, err error) {
	err = s.view(ctx, "Positions", func(r *reader) error {
		found = make(map[hippo.MessageID]hippo.Position, len(ids))
		for _, id := range ids {
			if d := r.project(s.messagePath(tenant, thread, id), s.layout.Fields.MessageCreatedAt); d != nil {
				found[id] = schema.ParseMessage(s.layout.Fields, id, d.fields).Position()
			}
		}
		return nil
	})
	return found, err
}

// CountMessages implements hippo.ThreadStore.
func (s *Store) CountMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (int, error) {
	return s.count(ctx, "CountMessages", s.layout.Paths.Message, string(tenant), string(thread))
}

// count counts the documents of a collection.
func (s *Store) count(ctx context.Context, method, template string, values ...string) (n int, err error) {
	err = s.view(ctx, method, func(r *reader) error {
		n = len(s.collection(template, values...).docs)
		r.counted(n)
		return nil
	})
	return n, err
}

func (s *Store) messagePath(tenant hippo.TenantID, thread hippo.ThreadID, id hippo.MessageID) string {
	return hippo.Fill(s.layout.Paths.Message, string(tenant), string(thread), string(id))
}
