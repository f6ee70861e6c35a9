// Package schema is the one place that knows what the documents of a store look
// like: their fields, and what Firestore charges for them. Both stores use it,
// so that what one wrote the other can read.
//
// The documents, by their default paths (hippo.Paths) and, where the names of
// fields are settings (hippo.Fields), by those:
//
//	tenants/{tenant}/memories/{memory}      name, content, updated_at, and what other writers add
//	tenants/{tenant}/memory_index/meta      shard "meta", rev 0, version, gen, shards, next {gen, shards, version}, built_at
//	tenants/{tenant}/memory_index/{shard}   shard, gen, rev, e {memory: microseconds}
//	tenants/{tenant}/memory_moves/{memory}  into, at
//	.../threads/{thread}/messages/{message} role, content, created_at, speaker, tool_calls, tool_call_id, terms
//	.../threads/{thread}/episodes/{to}      from, to, gist, pointers, handle, blocked, created_at
//	.../threads/{thread}/passes/{to}        hash, replaced, at
//	tenants/{tenant}/reports/repair         the fields of hippo.Report
//
// Fields are the plain values that a Firestore document decodes to: string,
// int64, float64, bool, nil, time.Time, []any and map[string]any. Reading is
// lenient, because anybody may have written: what has another type than it
// should reads as absent.
package schema

import (
	"slices"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// Names of the fields that queries and partial writes name.
const (
	Shard   = "shard"
	Gen     = "gen"
	Rev     = "rev"
	Entries = "e"
	BuiltAt = "built_at"

	Into = "into"
	At   = "at"

	Terms     = "terms"
	CreatedAt = "created_at" // of an episode; a message's is a setting

	From   = "from"
	To     = "to"
	Handle = "handle"

	Hash = "hash"
)

// Ids of single documents.
const (
	MetaID   = "meta"
	ReportID = "repair"
)

const (
	version  = "version"
	shards   = "shards"
	next     = "next"
	speaker  = "speaker"
	calls    = "tool_calls"
	callID   = "tool_call_id"
	gist     = "gist"
	pointers = "pointers"
	blocked  = "blocked"
	replaced = "replaced"
)

// Fields are a document's fields.
type Fields = map[string]any

// ParseMemory reads a memory's document, whose fields have these names. updated is the document's own update
// time, name what the id stands for where the document does not say.
func ParseMemory(names hippo.Fields, id hippo.MemoryID, f Fields, updated time.Time, name string) hippo.Memory {
	m := hippo.Memory{ID: id, Name: text(f, names.MemoryName), Content: text(f, names.MemoryContent), UpdatedAt: MemoryTime(names, f, updated)}
	if m.Name == "" {
		m.Name = name
	}
	return m
}

// MemoryTime is when a memory last changed: its own updated_at where that is a
// timestamp, else the document's update time.
func MemoryTime(names hippo.Fields, f Fields, updated time.Time) hippo.Micros {
	if at, ok := f[names.MemoryUpdatedAt].(time.Time); ok {
		return hippo.MicrosOf(at)
	}
	return hippo.MicrosOf(updated)
}

// MetaFields writes meta. It has a rev, as shards do, because a query that
// compares rev for some documents finds none that lacks it.
func MetaFields(m hippo.Meta) Fields {
	f := Fields{
		Shard:   MetaID,
		Rev:     int64(0),
		version: int64(m.Current.Version),
		Gen:     string(m.Current.ID),
		shards:  int64(m.Current.Shards),
	}
	if m.BuiltAt != 0 {
		f[BuiltAt] = m.BuiltAt.Time()
	}
	if !m.Next.IsZero() {
		f[next] = Fields{Gen: string(m.Next.ID), shards: int64(m.Next.Shards), version: int64(m.Next.Version)}
	}
	return f
}

// MetaMask names every field of meta, and of a shard all but its entries.
func MetaMask() []string { return []string{Shard, Rev, version, Gen, shards, next, BuiltAt} }

// ParseMeta reads meta; stamp is the document's update time. A generation
// without shards is none. A meta that the query of a warm turn would not find
// names none.
func ParseMeta(f Fields, stamp time.Time) hippo.Meta {
	m := hippo.Meta{Stamp: stamp}
	if !findable(MetaID, f) {
		return m
	}
	m.Current, m.BuiltAt = generation(f), micros(f, BuiltAt)
	if n, ok := f[next].(Fields); ok {
		m.Next = generation(n)
	}
	return m
}

// findable says whether queries by shard and rev find an index document.
func findable(id string, f Fields) bool {
	_, ok := f[Rev].(int64)
	return ok && text(f, Shard) == id
}

// maxShards bounds what a meta that somebody spoilt can make its readers
// allocate. 500,000 memories with the longest ids need 2,300 shards.
const maxShards = 100_000

func generation(f Fields) hippo.Generation {
	g := hippo.Generation{ID: hippo.GenerationID(text(f, Gen)), Shards: integer(f, shards), Version: integer(f, version)}
	if g.ID == "" || g.Shards < 1 || g.Shards > maxShards {
		return hippo.Generation{}
	}
	return g
}

// EmptyShard writes a shard without entries.
func EmptyShard(id hippo.ShardID) Fields {
	return Fields{Shard: id.String(), Gen: string(id.Gen), Rev: int64(0), Entries: Fields{}}
}

// ParseShard reads a shard's document; false where it is none, as meta is not, or
// where the query of a warm turn would not find it.
func ParseShard(id string, f Fields) (hippo.Shard, bool) {
	shard, ok := hippo.ParseShardID(id)
	if !ok || !findable(id, f) {
		return hippo.Shard{}, false
	}
	s := hippo.Shard{ID: shard, Rev: int64(integer(f, Rev)), Entries: map[hippo.MemoryID]hippo.Micros{}}
	entries, _ := f[Entries].(Fields)
	for key, v := range entries {
		if at, ok := v.(int64); ok {
			s.Entries[hippo.MemoryID(key)] = hippo.Micros(at)
		}
	}
	return s, true
}

// MoveFields writes where a memory went.
func MoveFields(into hippo.MemoryID) Fields { return Fields{Into: string(into)} }

// ParseMove reads where a memory went; false where the document does not say.
func ParseMove(f Fields) (hippo.MemoryID, bool) {
	into := text(f, Into)
	return hippo.MemoryID(into), into != ""
}

// MemoryFields writes what of a memory is ours, all but when it changed.
func MemoryFields(names hippo.Fields, m hippo.Memory) Fields {
	return Fields{names.MemoryName: m.Name, names.MemoryContent: m.Content}
}

// MessageFields writes a message.
func MessageFields(names hippo.Fields, m hippo.Message) Fields {
	f := Fields{names.MessageRole: string(m.Role), names.MessageContent: m.Content, names.MessageCreatedAt: m.CreatedAt.Time()}
	put(f, speaker, m.Speaker)
	put(f, callID, m.ToolCallID)
	if len(m.ToolCalls) > 0 {
		list := make([]any, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			list[i] = Fields{"id": c.ID, "name": c.Name, "arguments": c.Arguments}
		}
		f[calls] = list
	}
	if len(m.Terms) > 0 {
		f[Terms] = list(m.Terms)
	}
	return f
}

// ParseMessage reads a message.
func ParseMessage(names hippo.Fields, id hippo.MessageID, f Fields) hippo.Message {
	m := hippo.Message{
		ID:         id,
		Role:       hippo.Role(text(f, names.MessageRole)),
		Content:    text(f, names.MessageContent),
		CreatedAt:  micros(f, names.MessageCreatedAt),
		Speaker:    text(f, speaker),
		ToolCallID: text(f, callID),
		Terms:      texts[string](f, Terms),
	}
	stored, _ := f[calls].([]any)
	for _, c := range stored {
		if call, ok := c.(Fields); ok {
			m.ToolCalls = append(m.ToolCalls, hippo.ToolCall{ID: text(call, "id"), Name: text(call, "name"), Arguments: text(call, "arguments")})
		}
	}
	return m
}

// EpisodeFields writes an episode, all but created_at, which is the store's time.
func EpisodeFields(e hippo.Episode) Fields {
	f := Fields{From: e.From.String(), To: e.To.String(), gist: e.Gist, pointers: list(e.Pointers), Handle: e.Handle}
	put(f, blocked, e.Blocked)
	return f
}

// WithoutPointer is the field of pointers without one of them; false where it is
// not among them.
func WithoutPointer(f Fields, id hippo.MemoryID) (Fields, bool) {
	all := texts[hippo.MemoryID](f, pointers)
	left := slices.DeleteFunc(slices.Clone(all), func(p hippo.MemoryID) bool { return p == id })
	return Fields{pointers: list(left)}, len(left) < len(all)
}

// ParseEpisode reads an episode; false where it does not say which stretch it is
// of.
func ParseEpisode(f Fields) (hippo.Episode, bool) {
	from, errFrom := hippo.ParsePosition(text(f, From))
	to, errTo := hippo.ParsePosition(text(f, To))
	return hippo.Episode{
		Stretch:   hippo.Stretch{From: from, To: to},
		Gist:      text(f, gist),
		Pointers:  texts[hippo.MemoryID](f, pointers),
		Handle:    text(f, Handle),
		Blocked:   text(f, blocked),
		CreatedAt: micros(f, CreatedAt),
	}, errFrom == nil && errTo == nil
}

// ReceiptFields writes the receipt of a pass, all but at, which is the store's
// time.
func ReceiptFields(r hippo.Receipt) Fields {
	f := Fields{Hash: r.Hash}
	if len(r.Replaced) > 0 {
		f[replaced] = list(r.Replaced)
	}
	return f
}

// ParseReceipt reads the receipt of a pass.
func ParseReceipt(f Fields) hippo.Receipt {
	return hippo.Receipt{Hash: text(f, Hash), Replaced: texts[string](f, replaced)}
}

// ReportFields writes a repair's report.
func ReportFields(r hippo.Report) Fields {
	findings := Fields{}
	for t, n := range r.Findings {
		findings[string(t)] = int64(n)
	}
	return Fields{
		version: int64(r.Version), "cause": r.Cause, "rebuilt": r.Rebuilt, "memories": int64(r.Memories), "findings": findings,
		"reads": int64(r.Reads), "writes": int64(r.Writes), "duration_micros": r.Duration, "finished_at": r.FinishedAt.Time(),
	}
}

// ParseReport reads a repair's report.
func ParseReport(tenant hippo.TenantID, f Fields) hippo.Report {
	r := hippo.Report{
		Tenant: tenant, Version: integer(f, version), Cause: text(f, "cause"), Memories: integer(f, "memories"),
		Findings: map[hippo.FindingType]int{}, Reads: integer(f, "reads"), Writes: integer(f, "writes"),
		Duration: int64(integer(f, "duration_micros")), FinishedAt: micros(f, "finished_at"),
	}
	r.Rebuilt, _ = f["rebuilt"].(bool)
	findings, _ := f["findings"].(Fields)
	for t := range findings {
		r.Findings[hippo.FindingType(t)] = integer(findings, t)
	}
	return r
}

func put(f Fields, field, value string) {
	if value != "" {
		f[field] = value
	}
}

func text(f Fields, field string) string {
	s, _ := f[field].(string)
	return s
}

func integer(f Fields, field string) int {
	n, _ := f[field].(int64)
	return int(n)
}

func micros(f Fields, field string) hippo.Micros {
	t, ok := f[field].(time.Time)
	if !ok {
		return 0
	}
	return hippo.MicrosOf(t)
}

func list[T ~string](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func texts[T ~string](f Fields, field string) []T {
	stored, _ := f[field].([]any)
	var out []T
	for _, v := range stored {
		if s, ok := v.(string); ok {
			out = append(out, T(s))
		}
	}
	return out
}
