// Package faultstore puts faults between a store and those who use it: what a
// test wants to happen before or after the n-th call of a method. It is the one
// stand-in that tests use.
package faultstore

import (
	"context"

	"github.com/hippofire/hippofire/hippo"
)

// Store passes every call on to Inner. Before may delay a call or fail it before
// it is made; After may do so once it was made, so that a write is applied and
// reported as failed all the same. Either may be nil. They are called from many
// goroutines at once.
type Store struct {
	Inner  hippo.Store
	Before func(ctx context.Context, method string) error
	After  func(ctx context.Context, method string) error
}

var _ hippo.Store = (*Store)(nil)

func (s *Store) around(ctx context.Context, method string, call func() error) error {
	if s.Before != nil {
		if err := s.Before(ctx, method); err != nil {
			return err
		}
	}
	if err := call(); err != nil || s.After == nil {
		return err
	}
	return s.After(ctx, method)
}

// Tenants is hippo.Store's.
func (s *Store) Tenants(ctx context.Context, from hippo.Cursor, limit int) (v []hippo.TenantID, next hippo.Cursor, err error) {
	err = s.around(ctx, "Tenants", func() (err error) {
		v, next, err = s.Inner.Tenants(ctx, from, limit)
		return err
	})
	return v, next, err
}

// Threads is hippo.Store's.
func (s *Store) Threads(ctx context.Context, tenant hippo.TenantID, from hippo.Cursor, limit int) (v []hippo.ThreadID, next hippo.Cursor, err error) {
	err = s.around(ctx, "Threads", func() (err error) {
		v, next, err = s.Inner.Threads(ctx, tenant, from, limit)
		return err
	})
	return v, next, err
}

// SaveReport is hippo.Store's.
func (s *Store) SaveReport(ctx context.Context, report hippo.Report) (err error) {
	err = s.around(ctx, "SaveReport", func() (err error) {
		err = s.Inner.SaveReport(ctx, report)
		return err
	})
	return err
}

// Report is hippo.Store's.
func (s *Store) Report(ctx context.Context, tenant hippo.TenantID) (v hippo.Report, err error) {
	err = s.around(ctx, "Report", func() (err error) {
		v, err = s.Inner.Report(ctx, tenant)
		return err
	})
	return v, err
}

// Memory is hippo.Store's.
func (s *Store) Memory(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) (v hippo.Memory, err error) {
	err = s.around(ctx, "Memory", func() (err error) {
		v, err = s.Inner.Memory(ctx, tenant, id)
		return err
	})
	return v, err
}

// MemoryTimes is hippo.Store's.
func (s *Store) MemoryTimes(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) (v map[hippo.MemoryID]hippo.Micros, err error) {
	err = s.around(ctx, "MemoryTimes", func() (err error) {
		v, err = s.Inner.MemoryTimes(ctx, tenant, ids)
		return err
	})
	return v, err
}

// SaveMemory is hippo.Store's.
func (s *Store) SaveMemory(ctx context.Context, tenant hippo.TenantID, memory hippo.Memory) (err error) {
	err = s.around(ctx, "SaveMemory", func() (err error) {
		err = s.Inner.SaveMemory(ctx, tenant, memory)
		return err
	})
	return err
}

// DeleteMemory is hippo.Store's.
func (s *Store) DeleteMemory(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) (err error) {
	err = s.around(ctx, "DeleteMemory", func() (err error) {
		err = s.Inner.DeleteMemory(ctx, tenant, id)
		return err
	})
	return err
}

// CountMemories is hippo.Store's.
func (s *Store) CountMemories(ctx context.Context, tenant hippo.TenantID) (v int, err error) {
	err = s.around(ctx, "CountMemories", func() (err error) {
		v, err = s.Inner.CountMemories(ctx, tenant)
		return err
	})
	return v, err
}

// ScanEntries is hippo.Store's.
func (s *Store) ScanEntries(ctx context.Context, tenant hippo.TenantID, after hippo.MemoryID, limit int) (v []hippo.Entry, err error) {
	err = s.around(ctx, "ScanEntries", func() (err error) {
		v, err = s.Inner.ScanEntries(ctx, tenant, after, limit)
		return err
	})
	return v, err
}

// Moves is hippo.Store's.
func (s *Store) Moves(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) (v map[hippo.MemoryID]hippo.MemoryID, err error) {
	err = s.around(ctx, "Moves", func() (err error) {
		v, err = s.Inner.Moves(ctx, tenant, ids)
		return err
	})
	return v, err
}

// Meta is hippo.Store's.
func (s *Store) Meta(ctx context.Context, tenant hippo.TenantID) (v hippo.Meta, err error) {
	err = s.around(ctx, "Meta", func() (err error) {
		v, err = s.Inner.Meta(ctx, tenant)
		return err
	})
	return v, err
}

// ReadIndex is hippo.Store's.
func (s *Store) ReadIndex(ctx context.Context, tenant hippo.TenantID) (v hippo.IndexRead, err error) {
	err = s.around(ctx, "ReadIndex", func() (err error) {
		v, err = s.Inner.ReadIndex(ctx, tenant)
		return err
	})
	return v, err
}

// ReadIndexSince is hippo.Store's.
func (s *Store) ReadIndexSince(ctx context.Context, tenant hippo.TenantID, gen hippo.Generation, seen []int64) (v hippo.IndexRead, err error) {
	err = s.around(ctx, "ReadIndexSince", func() (err error) {
		v, err = s.Inner.ReadIndexSince(ctx, tenant, gen, seen)
		return err
	})
	return v, err
}

// WriteEntries is hippo.Store's.
func (s *Store) WriteEntries(ctx context.Context, tenant hippo.TenantID, targets []hippo.ShardTarget) (err error) {
	err = s.around(ctx, "WriteEntries", func() (err error) {
		err = s.Inner.WriteEntries(ctx, tenant, targets)
		return err
	})
	return err
}

// RemoveEntries is hippo.Store's.
func (s *Store) RemoveEntries(ctx context.Context, tenant hippo.TenantID, target hippo.ShardTarget) (err error) {
	err = s.around(ctx, "RemoveEntries", func() (err error) {
		err = s.Inner.RemoveEntries(ctx, tenant, target)
		return err
	})
	return err
}

// AnnounceGeneration is hippo.Store's.
func (s *Store) AnnounceGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta, next hippo.Generation) (v hippo.Meta, err error) {
	err = s.around(ctx, "AnnounceGeneration", func() (err error) {
		v, err = s.Inner.AnnounceGeneration(ctx, tenant, read, next)
		return err
	})
	return v, err
}

// PromoteGeneration is hippo.Store's.
func (s *Store) PromoteGeneration(ctx context.Context, tenant hippo.TenantID, read hippo.Meta) (v hippo.Meta, err error) {
	err = s.around(ctx, "PromoteGeneration", func() (err error) {
		v, err = s.Inner.PromoteGeneration(ctx, tenant, read)
		return err
	})
	return v, err
}

// SweepIndex is hippo.Store's.
func (s *Store) SweepIndex(ctx context.Context, tenant hippo.TenantID) (v int, err error) {
	err = s.around(ctx, "SweepIndex", func() (err error) {
		v, err = s.Inner.SweepIndex(ctx, tenant)
		return err
	})
	return v, err
}

// SaveMessages is hippo.Store's.
func (s *Store) SaveMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, messages []hippo.Message) (v []hippo.Message, err error) {
	err = s.around(ctx, "SaveMessages", func() (err error) {
		v, err = s.Inner.SaveMessages(ctx, tenant, thread, messages)
		return err
	})
	return v, err
}

// RecentMessages is hippo.Store's.
func (s *Store) RecentMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, limit int) (v []hippo.Message, err error) {
	err = s.around(ctx, "RecentMessages", func() (err error) {
		v, err = s.Inner.RecentMessages(ctx, tenant, thread, limit)
		return err
	})
	return v, err
}

// MessagesIn is hippo.Store's.
func (s *Store) MessagesIn(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, in hippo.Stretch, after hippo.Position, limit int) (v []hippo.Message, err error) {
	err = s.around(ctx, "MessagesIn", func() (err error) {
		v, err = s.Inner.MessagesIn(ctx, tenant, thread, in, after, limit)
		return err
	})
	return v, err
}

// MessagesBefore is hippo.Store's.
func (s *Store) MessagesBefore(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, before hippo.Position, limit int) (v []hippo.Message, err error) {
	err = s.around(ctx, "MessagesBefore", func() (err error) {
		v, err = s.Inner.MessagesBefore(ctx, tenant, thread, before, limit)
		return err
	})
	return v, err
}

// MessagesWithTerm is hippo.Store's.
func (s *Store) MessagesWithTerm(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, term string, before hippo.Position, limit int) (v []hippo.Message, err error) {
	err = s.around(ctx, "MessagesWithTerm", func() (err error) {
		v, err = s.Inner.MessagesWithTerm(ctx, tenant, thread, term, before, limit)
		return err
	})
	return v, err
}

// Positions is hippo.Store's.
func (s *Store) Positions(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, ids []hippo.MessageID) (v map[hippo.MessageID]hippo.Position, err error) {
	err = s.around(ctx, "Positions", func() (err error) {
		v, err = s.Inner.Positions(ctx, tenant, thread, ids)
		return err
	})
	return v, err
}

// CountMessages is hippo.Store's.
func (s *Store) CountMessages(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (v int, err error) {
	err = s.around(ctx, "CountMessages", func() (err error) {
		v, err = s.Inner.CountMessages(ctx, tenant, thread)
		return err
	})
	return v, err
}

// FirstEpisode is hippo.Store's.
func (s *Store) FirstEpisode(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (v0 hippo.Episode, v1 bool, err error) {
	err = s.around(ctx, "FirstEpisode", func() (err error) {
		v0, v1, err = s.Inner.FirstEpisode(ctx, tenant, thread)
		return err
	})
	return v0, v1, err
}

// EpisodesBefore is hippo.Store's.
func (s *Store) EpisodesBefore(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, before hippo.Position, limit int) (v []hippo.Episode, err error) {
	err = s.around(ctx, "EpisodesBefore", func() (err error) {
		v, err = s.Inner.EpisodesBefore(ctx, tenant, thread, before, limit)
		return err
	})
	return v, err
}

// EpisodesAfter is hippo.Store's.
func (s *Store) EpisodesAfter(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, after hippo.Position, limit int) (v []hippo.Episode, err error) {
	err = s.around(ctx, "EpisodesAfter", func() (err error) {
		v, err = s.Inner.EpisodesAfter(ctx, tenant, thread, after, limit)
		return err
	})
	return v, err
}

// EpisodeByHandle is hippo.Store's.
func (s *Store) EpisodeByHandle(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, handle string) (v hippo.Episode, err error) {
	err = s.around(ctx, "EpisodeByHandle", func() (err error) {
		v, err = s.Inner.EpisodeByHandle(ctx, tenant, thread, handle)
		return err
	})
	return v, err
}

// CountEpisodes is hippo.Store's.
func (s *Store) CountEpisodes(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID) (v int, err error) {
	err = s.around(ctx, "CountEpisodes", func() (err error) {
		v, err = s.Inner.CountEpisodes(ctx, tenant, thread)
		return err
	})
	return v, err
}

// RecordPass is hippo.Store's.
func (s *Store) RecordPass(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, pass hippo.Pass) (v hippo.PassResult, err error) {
	err = s.around(ctx, "RecordPass", func() (err error) {
		v, err = s.Inner.RecordPass(ctx, tenant, thread, pass)
		return err
	})
	return v, err
}

// DeleteThread is hippo.Store's.
func (s *Store) DeleteThread(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, limit int) (v int, err error) {
	err = s.around(ctx, "DeleteThread", func() (err error) {
		v, err = s.Inner.DeleteThread(ctx, tenant, thread, limit)
		return err
	})
	return v, err
}

// DeleteTenant is hippo.Store's.
func (s *Store) DeleteTenant(ctx context.Context, tenant hippo.TenantID, limit int) (v int, err error) {
	err = s.around(ctx, "DeleteTenant", func() (err error) {
		v, err = s.Inner.DeleteTenant(ctx, tenant, limit)
		return err
	})
	return v, err
}

// DeleteMoves is hippo.Store's.
func (s *Store) DeleteMoves(ctx context.Context, tenant hippo.TenantID, id hippo.MemoryID) (v []hippo.MemoryID, err error) {
	err = s.around(ctx, "DeleteMoves", func() (err error) {
		v, err = s.Inner.DeleteMoves(ctx, tenant, id)
		return err
	})
	return v, err
}

// RemovePointer is hippo.Store's.
func (s *Store) RemovePointer(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, to hippo.Position, id hippo.MemoryID) (err error) {
	err = s.around(ctx, "RemovePointer", func() (err error) {
		err = s.Inner.RemovePointer(ctx, tenant, thread, to, id)
		return err
	})
	return err
}
