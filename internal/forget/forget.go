// Package forget deletes what is to be forgotten: a tenant, a thread or a memory,
// with everything that was derived from it.
package forget

import (
	"context"
	"iter"
	"slices"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/paging"
)

// page is how many documents or episodes one call works on.
const page = 300

// maxRounds bounds how often what is to be forgotten is gone through: until a round
// finds nothing.
const maxRounds = 5

// Reconcile makes index entries equal to their memories.
type Reconcile func(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error

// Tenant deletes all of a tenant and tells how many documents that were. Its
// threads go first, so that a call that was cut short can be made again. It ends
// when it has looked and found nothing; where somebody goes on writing, its error
// is of kind Conflict.
func Tenant(ctx context.Context, store hippo.Store, tenant hippo.TenantID) (documents int, err error) {
	return untilNothing(func() (documents int, err error) {
		for thread, err := range threads(ctx, store, tenant) {
			if err != nil {
				return documents, err
			}
			n, err := all(func() (int, error) { return store.DeleteThread(ctx, tenant, thread, page) })
			documents += n
			if err != nil {
				return documents, err
			}
		}
		n, err := all(func() (int, error) { return store.DeleteTenant(ctx, tenant, page) })
		return documents + n, err
	})
}

// Thread deletes all of a thread, as Tenant does.
func Thread(ctx context.Context, store hippo.Store, tenant hippo.TenantID, thread hippo.ThreadID) (documents int, err error) {
	return untilNothing(func() (int, error) {
		return all(func() (int, error) { return store.DeleteThread(ctx, tenant, thread, page) })
	})
}

// untilNothing repeats a round until it finds nothing.
func untilNothing(round func() (int, error)) (documents int, err error) {
	for range maxRounds {
		n, err := round()
		documents += n
		if err != nil || n == 0 {
			return documents, err
		}
	}
	return documents, hippo.Errorf(hippo.Conflict, "", "%d documents were deleted, and others are written meanwhile: stop what writes them, and begin again", documents)
}

// all calls until a call deletes less than a page.
func all(remove func() (int, error)) (documents int, err error) {
	for {
		n, err := remove()
		documents += n
		if err != nil || n < page {
			return documents, err
		}
	}
}

func threads(ctx context.Context, store hippo.Store, tenant hippo.TenantID) iter.Seq2[hippo.ThreadID, error] {
	return paging.All(func(from hippo.Cursor, limit int) ([]hippo.ThreadID, hippo.Cursor, error) {
		return store.Threads(ctx, tenant, from, limit)
	})
}

// Line is a line of a buffer that pointed at a memory.
type Line struct {
	Thread hippo.ThreadID `json:"thread"`
	Handle string         `json:"handle"`
	Gist   string         `json:"gist"`
}

// Memory deletes a memory, its index entry, what is noted of moves away from it and
// into it, and the pointers at it, and lists the lines that had one. What these
// lines say, and the messages behind them, stay: they may say what the memory did.
func Memory(ctx context.Context, store hippo.Store, reconcile Reconcile, tenant hippo.TenantID, id hippo.MemoryID) ([]Line, error) {
	if err := store.DeleteMemory(ctx, tenant, id); err != nil {
		return nil, err
	}
	if err := reconcile(ctx, tenant, []hippo.MemoryID{id}); err != nil {
		return nil, err
	}
	lines, names := []Line{}, []hippo.MemoryID{id}
	for next := 0; next < len(names); next++ {
		moved, err := store.DeleteMoves(ctx, tenant, names[next])
		if err != nil {
			return nil, err
		}
		for _, m := range moved {
			if !slices.Contains(names, m) {
				names = append(names, m)
			}
		}
	}
	for thread, err := range threads(ctx, store, tenant) {
		if err != nil {
			return lines, err
		}
		found, err := unpoint(ctx, store, tenant, thread, names)
		lines = append(lines, found...)
		if err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// unpoint removes the pointers of a thread at a memory, under all the names it had.
func unpoint(ctx context.Context, store hippo.Store, tenant hippo.TenantID, thread hippo.ThreadID, names []hippo.MemoryID) ([]Line, error) {
	var lines []Line
	for after := (hippo.Position{}); ; {
		episodes, err := store.EpisodesAfter(ctx, tenant, thread, after, page)
		if err != nil {
			return lines, err
		}
		for _, e := range episodes {
			after = e.To
			pointed := slices.DeleteFunc(slices.Clone(e.Pointers), func(p hippo.MemoryID) bool { return !slices.Contains(names, p) })
			for _, p := range pointed {
				if err := store.RemovePointer(ctx, tenant, thread, e.To, p); err != nil {
					return lines, err
				}
			}
			if len(pointed) > 0 {
				lines = append(lines, Line{Thread: thread, Handle: e.Handle, Gist: e.Gist})
			}
		}
		if len(episodes) < page {
			return lines, nil
		}
	}
}
