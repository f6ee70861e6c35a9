package hippo

import (
	"cmp"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// IndexVersion is the format of the index that this program writes and reads.
// A newer program rebuilds an older index; an older one leaves a newer alone.
//
//	1  entries under "e", FNV-1a placement
const IndexVersion = 1

// What a shard may hold. Firestore refuses a document over 1 MiB (1,048,576
// bytes, field names included); the rest is left for a batch in flight. It also
// refuses a document with more than 40,000 index entries, of which an entry of
// "e" takes two where the exemption in firestore.indexes.json is missing: the
// entry bound keeps such a shard below that limit too. Beyond either bound the
// index grows.
const (
	ShardBudgetBytes   = 1_000_000
	ShardBudgetEntries = 19_000
)

// The number of shards is a multiple of ShardStep.
const (
	MinShards = 8
	ShardStep = 8
)

// fillOnBuild is the part of its budget to which a new shard is filled at most.
const fillOnBuild = 3

// Entry says when a memory last changed. It never holds content.
type Entry struct {
	ID        MemoryID
	UpdatedAt Micros
}

// GenerationID names one complete set of shards. It is random and never reused.
type GenerationID string

// NewGenerationID draws a generation id: 10 characters, 50 random bits.
func NewGenerationID() GenerationID {
	var b [7]byte
	rand.Read(b[:])
	return GenerationID(strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))[:10])
}

// Generation is one complete set of shards of a format version. The zero value
// is no generation.
type Generation struct {
	ID      GenerationID
	Shards  int
	Version int
}

// IsZero says whether g is no generation.
func (g Generation) IsZero() bool { return g.ID == "" }

// ShardOf is the shard of g in which a memory's entry stands.
func (g Generation) ShardOf(id MemoryID) ShardID {
	h := fnv.New64a()
	h.Write([]byte(id))
	return ShardID{Gen: g.ID, N: int(h.Sum64() % uint64(g.Shards))}
}

// ShardIDs lists the shards of g in order.
func (g Generation) ShardIDs() []ShardID {
	ids := make([]ShardID, g.Shards)
	for n := range ids {
		ids[n] = ShardID{Gen: g.ID, N: n}
	}
	return ids
}

// Place groups ids by their shard of g, shards in order, each id once.
func (g Generation) Place(ids []MemoryID) []ShardTarget {
	byShard := make(map[ShardID][]MemoryID)
	for _, id := range ids {
		s := g.ShardOf(id)
		byShard[s] = append(byShard[s], id)
	}
	targets := make([]ShardTarget, 0, len(byShard))
	for s, in := range byShard {
		slices.Sort(in)
		targets = append(targets, ShardTarget{Shard: s, IDs: slices.Compact(in)})
	}
	slices.SortFunc(targets, func(a, b ShardTarget) int { return cmp.Compare(a.Shard.N, b.Shard.N) })
	return targets
}

// ShardTarget names the entries of one shard that a reconcile writes.
type ShardTarget struct {
	Shard ShardID
	IDs   []MemoryID
}

// ShardID names a shard: number N of a generation.
type ShardID struct {
	Gen GenerationID
	N   int
}

// String is the shard's document id, such as "k3v9q2m7xa-003".
func (s ShardID) String() string { return fmt.Sprintf("%s-%03d", s.Gen, s.N) }

// ParseShardID reads the form that String writes; false where s is not one.
func ParseShardID(s string) (ShardID, bool) {
	gen, number, ok := strings.Cut(s, "-")
	n, err := strconv.Atoi(number)
	id := ShardID{Gen: GenerationID(gen), N: n}
	return id, ok && err == nil && gen != "" && n >= 0 && id.String() == s
}

// EntryBytes is what an entry of this id takes in its shard's document: the key,
// its terminator, and an integer (Firestore, "Storage size calculations").
func EntryBytes(id MemoryID) int { return len(id) + 1 + 8 }

// ShardsFor is the number of shards for so many entries of so many bytes in all:
// each at most a third full, a multiple of ShardStep, MinShards at least.
func ShardsFor(entries int, bytes int64) int {
	byBytes := (bytes*fillOnBuild + ShardBudgetBytes - 1) / ShardBudgetBytes
	byCount := (int64(entries)*fillOnBuild + ShardBudgetEntries - 1) / ShardBudgetEntries
	n := max(byBytes, byCount, MinShards)
	return int((n + ShardStep - 1) / ShardStep * ShardStep)
}

// ShardsPerQuery is how many shards one query can ask for beside meta: Firestore
// takes 30 clauses of an OR.
const ShardsPerQuery = 29

// Meta names the generation that readers use and the one being filled. The zero
// value is a meta that does not exist.
type Meta struct {
	// Current is what readers use; zero until the first build is complete.
	Current Generation
	// Next is being filled; zero while none is.
	Next Generation
	// BuiltAt is when Current was completed.
	BuiltAt Micros
	// Stamp is the store's own time of the last write, which a later write can
	// name as its precondition. Zero where meta does not exist.
	Stamp time.Time
}

// Exists says whether meta was there when it was read.
func (m Meta) Exists() bool { return !m.Stamp.IsZero() }

// Named lists the generations that meta names, Current first.
func (m Meta) Named() []Generation {
	var named []Generation
	for _, g := range []Generation{m.Current, m.Next} {
		if !g.IsZero() {
			named = append(named, g)
		}
	}
	return named
}

// Names says whether a shard is one of the generations that meta names.
func (m Meta) Names(s ShardID) bool {
	for _, g := range m.Named() {
		if g.ID == s.Gen && s.N < g.Shards {
			return true
		}
	}
	return false
}

// Shard is one shard document as it was read.
type Shard struct {
	ID      ShardID
	Rev     int64
	Entries map[MemoryID]Micros
}

// Bytes is what the shard's entries take.
func (s Shard) Bytes() int64 {
	var n int64
	for id := range s.Entries {
		n += int64(EntryBytes(id))
	}
	return n
}

// Over says whether the shard holds more than 1/part of its budget.
func (s Shard) Over(part int) bool {
	return s.Bytes()*int64(part) > ShardBudgetBytes || len(s.Entries)*part > ShardBudgetEntries
}

// IndexRead is what one query of the index saw, in one snapshot.
type IndexRead struct {
	Meta   Meta
	Shards []Shard
	// At is the time of the snapshot on the store's clock, zero if nothing was
	// there to read.
	At time.Time
}

// Of lists the shards of g that were read, by number, nil where one is missing.
func (r IndexRead) Of(g Generation) []*Shard {
	found := make([]*Shard, g.Shards)
	for i := range r.Shards {
		if s := &r.Shards[i]; s.ID.Gen == g.ID && s.ID.N < g.Shards {
			found[s.ID.N] = s
		}
	}
	return found
}

// Item is a listed memory.
type Item struct {
	ID        MemoryID
	Name      string
	UpdatedAt Micros
}

// CompareItems is the order of the memory list: latest change first, then name
// by its bytes.
func CompareItems(a, b Item) int {
	if c := cmp.Compare(b.UpdatedAt, a.UpdatedAt); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// Items is the list that a scan's entries give: what is listable, in order.
func (n Naming) Items(entries []Entry) []Item {
	items := make([]Item, 0, len(entries))
	for _, e := range entries {
		if name, ok := n.Name(e.ID); ok {
			items = append(items, Item{ID: e.ID, Name: name, UpdatedAt: e.UpdatedAt})
		}
	}
	slices.SortFunc(items, CompareItems)
	return items
}
