package hippo

import (
	"cmp"
	"slices"
)

// FindingType is what can be wrong between an index and its store.
type FindingType string

const (
	// Missing: a listable memory has no entry in its shard.
	Missing FindingType = "missing"
	// Stale: an entry has another time than its memory.
	Stale FindingType = "stale"
	// Orphan: an entry names a memory that does not exist.
	Orphan FindingType = "orphan"
	// Misplaced: an entry stands in a shard that is not its own, and its own
	// shard has none.
	Misplaced FindingType = "misplaced"
	// Duplicate: an entry stands in a shard that is not its own, beside the one
	// in its own shard.
	Duplicate FindingType = "duplicate"
	// Oversize: a shard is over half of its budget.
	Oversize FindingType = "oversize"
	// Unindexable: a memory's id is not listable. It is reported, and is no
	// difference between index and scan, since both leave it out.
	Unindexable FindingType = "unindexable"
	// Absent: a shard document, the meta or a complete generation is missing.
	Absent FindingType = "absent"
)

// Finding is one thing that is wrong.
type Finding struct {
	Type FindingType `json:"type"`
	// ID is the memory concerned; empty for Oversize and Absent.
	ID MemoryID `json:"id,omitempty"`
	// Shard is the shard document concerned; empty for Unindexable.
	Shard string `json:"shard,omitempty"`
	// Remove says that the entry in Shard has to be removed there whatever the
	// memory is, because it is no shard of the memory, or its id stands for no
	// name.
	Remove bool `json:"-"`
}

// Range is a part of the memory ids in the order of a scan: behind After, up to
// and with UpTo. An empty UpTo reaches to infinity.
type Range struct {
	After, UpTo MemoryID
}

func (r Range) has(id MemoryID) bool { return id > r.After && (r.UpTo == "" || id <= r.UpTo) }

// Diff compares what a generation's shards say about a range of ids with what a
// scan of that range found. It is the only judge of an index: the repair, the
// check and the tests all ask it. The index is to be read before the scan, so
// that what changes in between is at worst found once too often.
func Diff(naming Naming, gen Generation, index IndexRead, scan []Entry, in Range) []Finding {
	var findings []Finding
	truth := make(map[MemoryID]Micros, len(scan))
	for _, e := range scan {
		if naming.Listable(e.ID) {
			truth[e.ID] = e.UpdatedAt
		} else {
			findings = append(findings, Finding{Type: Unindexable, ID: e.ID})
		}
	}
	shards := index.Of(gen)
	entry := func(id MemoryID) (at Micros, shard *Shard, ok bool) {
		if shard = shards[gen.ShardOf(id).N]; shard != nil {
			at, ok = shard.Entries[id]
		}
		return at, shard, ok
	}
	stray := make(map[MemoryID]bool)
	for _, s := range shards {
		if s == nil {
			continue
		}
		for id := range s.Entries {
			if !in.has(id) {
				continue
			}
			home := gen.ShardOf(id)
			_, exists := truth[id]
			if home == s.ID && exists || !canBeKey(id) {
				continue
			}
			f := Finding{Type: Orphan, ID: id, Shard: s.ID.String(), Remove: home != s.ID || !naming.Listable(id)}
			if home != s.ID {
				stray[id] = true
				f.Type = Misplaced
				if _, _, ok := entry(id); ok {
					f.Type = Duplicate
				}
			}
			findings = append(findings, f)
		}
	}
	for id, at := range truth {
		got, shard, ok := entry(id)
		if shard == nil {
			continue
		}
		switch {
		case !ok && !stray[id]:
			findings = append(findings, Finding{Type: Missing, ID: id, Shard: shard.ID.String()})
		case ok && got != at:
			findings = append(findings, Finding{Type: Stale, ID: id, Shard: shard.ID.String()})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Shard, b.Shard))
	})
	return findings
}

// canBeKey says whether an entry of this id can be written at all. One that
// somebody put there by other ways can be neither removed nor listed, and is
// passed over.
func canBeKey(id MemoryID) bool {
	return len(id) <= MaxEntryKeyBytes && checkDocumentID(string(id), MaxDocumentIDBytes) == nil
}

// ShardFindings lists what is wrong with a generation's shards as documents.
func ShardFindings(gen Generation, index IndexRead) []Finding {
	var findings []Finding
	for n, s := range index.Of(gen) {
		id := ShardID{Gen: gen.ID, N: n}.String()
		switch {
		case s == nil:
			findings = append(findings, Finding{Type: Absent, Shard: id})
		case s.Over(2):
			findings = append(findings, Finding{Type: Oversize, Shard: id})
		}
	}
	return findings
}

// Report is what the last repair of a tenant did. Times are the store's where
// the store gave one, durations in microseconds.
type Report struct {
	Tenant     TenantID            `json:"tenant"`
	Version    int                 `json:"version"`
	Cause      string              `json:"cause"`
	Rebuilt    bool                `json:"rebuilt"`
	Memories   int                 `json:"memories"`
	Findings   map[FindingType]int `json:"findings"`
	Reads      int                 `json:"reads"`
	Writes     int                 `json:"writes"`
	Duration   int64               `json:"duration_micros"`
	FinishedAt Micros              `json:"finished_at"`
}
