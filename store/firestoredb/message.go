package firestoredb

import (
	"context"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// SaveMessages looks only at which messages are there, not at what they say, and
// takes the time of that look as the store's.
func (s *Store) SaveMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, messages []hippo.Message) ([]hippo.Message, error) {
	ids := make([]hippo.MessageID, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	names, err := s.messageNames(tenant, thread, ids)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var created []hippo.Message
	_, err = s.transact(ctx, "SaveMessages", func(t *tx) ([]*pb.Write, error) {
		found, err := t.get(names, []string{})
		if err != nil {
			return nil, err
		}
		stored := make(map[hippo.MessageID]hippo.Message, len(found.documents))
		for name := range found.documents {
			id := hippo.MessageID(lastID(name))
			stored[id] = hippo.Message{ID: id}
		}
		created = hippo.PlanSave(messages, stored, hippo.MicrosOf(found.at))
		return s.messageWrites(tenant, thread, created)
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

func (s *Store) messageWrites(tenant hippo.TenantID, thread hippo.ThreadID, messages []hippo.Message) ([]*pb.Write, error) {
	writes := make([]*pb.Write, len(messages))
	for i, m := range messages {
		name, err := s.name(s.layout.Paths.Message, string(tenant), string(thread), string(m.ID))
		if err != nil {
			return nil, err
		}
		w, err := set(name, schema.MessageFields(s.layout.Fields, m))
		if err != nil {
			return nil, err
		}
		writes[i] = ifExists(w, false)
	}
	return writes, nil
}

// RecentMessages reads the thread's end.
func (s *Store) RecentMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, limit int) ([]hippo.Message, error) {
	in, err := s.messages(tenant, thread)
	if err != nil {
		return nil, err
	}
	latest, err := s.queryMessages(ctx, "RecentMessages", in.query().by(descending, s.layout.Fields.MessageCreatedAt).first(limit))
	slices.Reverse(latest)
	return latest, err
}

// MessagesIn reads between two cursors.
func (s *Store) MessagesIn(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, stretch hippo.Stretch, after hippo.Position, limit int) ([]hippo.Message, error) {
	in, err := s.messages(tenant, thread)
	if err != nil {
		return nil, err
	}
	q := in.query().by(ascending, s.layout.Fields.MessageCreatedAt).first(limit)
	if after != (hippo.Position{}) && !after.Before(stretch.From) {
		q = q.from(in.place(after), after.ID != "")
	} else {
		q = q.from(in.place(stretch.From), false)
	}
	return s.queryMessages(ctx, "MessagesIn", q.upTo(in.place(stretch.To), stretch.To.ID == ""))
}

// MessagesBefore reads backwards from a cursor.
func (s *Store) MessagesBefore(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, before hippo.Position, limit int) ([]hippo.Message, error) {
	in, err := s.messages(tenant, thread)
	if err != nil {
		return nil, err
	}
	return s.queryMessages(ctx, "MessagesBefore", in.query().by(descending, s.layout.Fields.MessageCreatedAt).first(limit).from(in.place(before), true))
}

// MessagesWithTerm is MessagesBefore with a filter; the composite index (terms,
// created_at descending) serves it.
func (s *Store) MessagesWithTerm(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, term string, before hippo.Position, limit int) ([]hippo.Message, error) {
	in, err := s.messages(tenant, thread)
	if err != nil {
		return nil, err
	}
	q := in.query().filter(where(schema.Terms, contains, text(term))).by(descending, s.layout.Fields.MessageCreatedAt).first(limit).from(in.place(before), true)
	return s.queryMessages(ctx, "MessagesWithTerm", q)
}

// Positions reads created_at alone.
func (s *Store) Positions(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, ids []hippo.MessageID) (map[hippo.MessageID]hippo.Position, error) {
	names, err := s.messageNames(tenant, thread, ids)
	if err != nil {
		return nil, err
	}
	found, err := s.get(ctx, "Positions", names, []string{s.layout.Fields.MessageCreatedAt})
	if err != nil {
		return nil, err
	}
	positions := make(map[hippo.MessageID]hippo.Position, len(found.documents))
	for name, d := range found.documents {
		m := schema.ParseMessage(s.layout.Fields, hippo.MessageID(lastID(name)), decode(d.Fields))
		positions[m.ID] = m.Position()
	}
	return positions, nil
}

// CountMessages is an aggregation.
func (s *Store) CountMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (int, error) {
	in, err := s.messages(tenant, thread)
	if err != nil {
		return 0, err
	}
	return s.count(ctx, "CountMessages", in)
}

func (s *Store) messages(tenant hippo.TenantID, thread hippo.ThreadID) (collection, error) {
	return s.collection(s.layout.Paths.Message, string(tenant), string(thread))
}

func (s *Store) messageNames(tenant hippo.TenantID, thread hippo.ThreadID, ids []hippo.MessageID) ([]string, error) {
	return names(s, s.layout.Paths.Message, ids, string(tenant), string(thread))
}

func (s *Store) queryMessages(ctx context.Context, method string, q query) ([]hippo.Message, error) {
	messages, _, err := run(ctx, s, method, q, func(d *pb.Document) (hippo.Message, int64, bool) {
		return schema.ParseMessage(s.layout.Fields, hippo.MessageID(lastID(d.Name)), decode(d.Fields)), size(d), true
	})
	return messages, err
}

// place is a message's place in the order by created_at and name. A position
// without an id stands before every message of its time, and so does a place
// that names the time alone.
func (c collection) place(p hippo.Position) []*pb.Value {
	place := []*pb.Value{timestamp(p.At.Time())}
	if p.ID != "" {
		place = append(place, reference(c.document(string(p.ID))))
	}
	return place
}
