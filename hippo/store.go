package hippo

import "context"

// Store is where a tenant's memories, index and threads lie. The kit in
// store/storetest holds every sentence of this comment against every store.
//
// Errors are of the kinds of ErrorKind; a method's comment names those a caller
// is expected to tell apart. A failure that may pass is Unavailable, and so is
// the end of the context. A write that failed with Unavailable may have been
// applied all the same: every write here can be done again.
//
// Each method names one tenant and touches nothing of another. What a method
// returns is the caller's own to change. Times are the store's clock, never the
// host's. A single document is read as it was after the latest write that was
// acknowledged before the read began.
//
// Every method adds what it read and wrote to the context's Meter, under the
// method's name.
type Store interface {
	MemoryStore
	IndexStore
	ThreadStore
	ForgetStore

	// Tenants lists tenants in the order of their ids, at most limit of them,
	// beginning at from, and says where the list goes on; the zero cursor is where
	// it ends. A tenant is there when any document of its is, also where its own
	// document is not.
	Tenants(ctx context.Context, from Cursor, limit int) ([]TenantID, Cursor, error)
	// Threads lists a tenant's threads, as Tenants does.
	Threads(ctx context.Context, tenant TenantID, from Cursor, limit int) ([]ThreadID, Cursor, error)
	// SaveReport stores the report of the tenant's last repair.
	SaveReport(ctx context.Context, report Report) error
	// Report reads it back; NotFound where there was none.
	Report(ctx context.Context, tenant TenantID) (Report, error)
}

// Cursor is a place in a list of ids. The zero value is its beginning.
type Cursor struct {
	// After is the id behind which the list goes on.
	After string
	// Token is the store's own mark of the same place, where it has one: with it,
	// the list need not be read from its beginning. It may be kept for as long as
	// one likes; where a store does not take it any more, After says the place.
	Token string
}

// IsZero says whether c is the beginning of a list or, where a list was read to
// there, its end.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// MemoryStore holds the memories. Anybody may write them behind the store's
// back, with any fields.
type MemoryStore interface {
	// Memory reads one memory; NotFound where it does not exist. Its UpdatedAt is
	// the field updated_at where that is a timestamp, else the time of the
	// document's last write. A field that is no string reads as empty, and a
	// missing name as the one its id stands for.
	Memory(ctx context.Context, tenant TenantID, id MemoryID) (Memory, error)
	// MemoryTimes tells when each of the named memories last changed, without
	// moving content. One that does not exist is not in the answer.
	MemoryTimes(ctx context.Context, tenant TenantID, ids []MemoryID) (map[MemoryID]Micros, error)
	// SaveMemory writes name, content and updated_at and leaves other fields
	// as they are. A zero UpdatedAt is set to the store's time.
	SaveMemory(ctx context.Context, tenant TenantID, memory Memory) error
	// DeleteMemory deletes a memory; one that does not exist is no error.
	DeleteMemory(ctx context.Context, tenant TenantID, id MemoryID) error
	// CountMemories counts a tenant's memories, listable or not, at the price of
	// an aggregation: one read for up to 1,000.
	CountMemories(ctx context.Context, tenant TenantID) (int, error)
	// ScanEntries lists the tenant's memories, listable or not, in the order of
	// their ids' bytes, beginning behind after, without moving content. At most
	// limit of them; fewer means that the end was reached. A limit of 0 lists
	// them all, in one query of one snapshot.
	ScanEntries(ctx context.Context, tenant TenantID, after MemoryID, limit int) ([]Entry, error)
	// Moves tells, of the named memories, which were moved and where to.
	Moves(ctx context.Context, tenant TenantID, ids []MemoryID) (map[MemoryID]MemoryID, error)
}

// IndexStore holds the index: meta and shards.
type IndexStore interface {
	// Meta reads meta; one that does not exist is the zero value.
	Meta(ctx context.Context, tenant TenantID) (Meta, error)
	// ReadIndex reads the whole index, meta and every shard of every generation,
	// in one query of one snapshot. A shard that ReadIndexSince would not find,
	// because somebody spoilt the fields that it asks for, is left out, and such a
	// meta names no generation.
	ReadIndex(ctx context.Context, tenant TenantID) (IndexRead, error)
	// ReadIndexSince reads meta and those shards of gen whose Rev is greater than
	// the one seen, given by shard number. Meta is read even where no shard
	// changed, and in the same snapshot; with more than ShardsPerQuery shards, each
	// so many are read in a query of their own, and the answer is valid only if all
	// of them saw the same meta: where they did not, it is Conflict.
	ReadIndexSince(ctx context.Context, tenant TenantID, gen Generation, seen []int64) (IndexRead, error)
	// WriteEntries makes entries equal to their memories: one transaction reads
	// when each named memory last changed, and sets its entry in each shard that
	// names it, or deletes it there where the memory does not exist. Nothing else
	// of the shard is read or changed, but Rev grows by one. What was read is
	// still true when the shards are written. A shard that does not exist fails
	// the whole call with NotFound and ErrShardMissing and is never created. A
	// shard that would exceed the store's limits fails it with TooLarge.
	WriteEntries(ctx context.Context, tenant TenantID, targets []ShardTarget) error
	// RemoveEntries deletes entries from one shard whatever their memories say,
	// and leaves Rev one higher. A shard that does not exist is NotFound with
	// ErrShardMissing.
	RemoveEntries(ctx context.Context, tenant TenantID, target ShardTarget) error
	// AnnounceGeneration names next as the generation being filled and creates
	// all its shards, empty, in one commit. It keeps what read names as Current.
	// Where meta is no longer as it was read, it is Conflict and nothing changes. A
	// generation without an id or shards is Invalid.
	AnnounceGeneration(ctx context.Context, tenant TenantID, read Meta, next Generation) (Meta, error)
	// PromoteGeneration makes Next the Current and names no Next. Where meta is
	// no longer as it was read, it is Conflict and nothing changes. A meta that was
	// read without a Next is Invalid.
	PromoteGeneration(ctx context.Context, tenant TenantID, read Meta) (Meta, error)
	// SweepIndex deletes the shards that meta, in the snapshot in which they were
	// listed, does not name, and tells how many.
	SweepIndex(ctx context.Context, tenant TenantID) (int, error)
}

// ThreadStore holds threads: messages, episodes and the receipts of passes.
type ThreadStore interface {
	// SaveMessages creates messages as PlanSave decides, in one transaction, and
	// returns those it created. A message that is there already stays as it is.
	SaveMessages(ctx context.Context, tenant TenantID, thread ThreadID, messages []Message) ([]Message, error)
	// RecentMessages lists the latest messages, at most limit, oldest first.
	RecentMessages(ctx context.Context, tenant TenantID, thread ThreadID, limit int) ([]Message, error)
	// MessagesIn lists the messages of a stretch, both ends included, in order,
	// at most limit, beginning behind after (zero: at the stretch's beginning).
	MessagesIn(ctx context.Context, tenant TenantID, thread ThreadID, in Stretch, after Position, limit int) ([]Message, error)
	// MessagesBefore lists the messages before a position, latest first.
	MessagesBefore(ctx context.Context, tenant TenantID, thread ThreadID, before Position, limit int) ([]Message, error)
	// MessagesWithTerm lists the messages before a position that carry a term,
	// latest first.
	MessagesWithTerm(ctx context.Context, tenant TenantID, thread ThreadID, term string, before Position, limit int) ([]Message, error)
	// Positions tells where the named messages stand. One that does not exist is
	// not in the answer.
	Positions(ctx context.Context, tenant TenantID, thread ThreadID, ids []MessageID) (map[MessageID]Position, error)
	// CountMessages counts a thread's messages at the price of an aggregation.
	CountMessages(ctx context.Context, tenant TenantID, thread ThreadID) (int, error)

	// FirstEpisode reads the episode with the earliest From; false where the
	// thread has none.
	FirstEpisode(ctx context.Context, tenant TenantID, thread ThreadID) (Episode, bool, error)
	// EpisodesBefore lists the episodes whose From is before a position, by From
	// and then by To, latest first, at most limit.
	EpisodesBefore(ctx context.Context, tenant TenantID, thread ThreadID, before Position, limit int) ([]Episode, error)
	// EpisodesAfter lists the episodes whose To is behind a position, in the
	// order of To, at most limit.
	EpisodesAfter(ctx context.Context, tenant TenantID, thread ThreadID, after Position, limit int) ([]Episode, error)
	// EpisodeByHandle reads the episode with a handle; NotFound where none has it.
	EpisodeByHandle(ctx context.Context, tenant TenantID, thread ThreadID, handle string) (Episode, error)
	// CountEpisodes counts a thread's episodes at the price of an aggregation.
	CountEpisodes(ctx context.Context, tenant TenantID, thread ThreadID) (int, error)
	// RecordPass writes what PlanPass decides, in one transaction: memories with
	// the store's time as updated_at, deletes, moves, the receipt and the episode.
	// An episode left by an earlier pass under the same To is replaced, or deleted
	// where there is no line. What the pass wrote, here or by itself, ends a move
	// away from it. Of a pass recorded before, the result has the episode that is
	// there now.
	RecordPass(ctx context.Context, tenant TenantID, thread ThreadID, pass Pass) (PassResult, error)
}

// ForgetStore deletes what is to be forgotten. Documents are deleted whatever they
// hold, those that nobody could read included. What other programs keep below a
// document, or in a tenant's or thread's own, is theirs and stays.
type ForgetStore interface {
	// DeleteThread deletes a thread's messages, episodes and receipts, at most
	// limit documents, and tells how many. Fewer means that none is left.
	DeleteThread(ctx context.Context, tenant TenantID, thread ThreadID, limit int) (int, error)
	// DeleteTenant deletes a tenant's memories, moves, index and reports in the
	// same way. Its threads stay.
	DeleteTenant(ctx context.Context, tenant TenantID, limit int) (int, error)
	// DeleteMoves deletes what is noted of moves away from a memory and into it, and
	// lists those that were moved into it, in the order of their ids.
	DeleteMoves(ctx context.Context, tenant TenantID, id MemoryID) ([]MemoryID, error)
	// RemovePointer takes a memory out of the pointers of the episode that ends at
	// to. All else of the episode stays as it is; one that does not exist, or does
	// not point there, is no error.
	RemovePointer(ctx context.Context, tenant TenantID, thread ThreadID, to Position, id MemoryID) error
}
