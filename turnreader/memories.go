package turnreader

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/textscan"
)

// How many names one ListMemories returns, and how many it answers about. The
// text of the words it looks for is bounded too.
const (
	defaultNames  = 100
	maxNames      = 500
	maxAskedNames = 500
	maxWordsBytes = 500
)

// ListRequest asks for a page of what a tenant knows, or which of some names are
// known.
type ListRequest struct {
	Tenant string `json:"tenant"`
	// Kind keeps the names of one kind.
	Kind string `json:"kind,omitempty"`
	// Words keeps the names that contain each of these words, in any case.
	Words string `json:"words,omitempty"`
	Limit int    `json:"limit,omitempty"`
	// Cursor is the next_cursor of the page before.
	Cursor string `json:"cursor,omitempty"`
	// Names asks which of these are known, and for no page.
	Names []string `json:"names,omitempty"`
}

// ListedMemory is a name and when its memory last changed.
type ListedMemory struct {
	Name      string       `json:"name"`
	UpdatedAt hippo.Micros `json:"updated_at"`
}

// ListResponse is a page of the list, latest change first.
type ListResponse struct {
	Memories []ListedMemory `json:"memories"`
	// Missing are the names asked for that are not known, in their order.
	Missing []string `json:"missing,omitempty"`
	// Total counts what is listed under the same kind and words, over all pages.
	Total int `json:"total"`
	// BlockedNames counts what the page leaves out, because the scan refuses the
	// name.
	BlockedNames int `json:"blocked_names"`
	// NextCursor asks for the next page; absent on the last.
	NextCursor string `json:"next_cursor,omitempty"`
	// Index says where the list is from, Documents and Bytes what was read.
	Index     Source `json:"index"`
	Documents int    `json:"documents"`
	Bytes     int64  `json:"bytes"`
}

// List answers from the index, as new as the moment of the call. It reads no
// memory where there is an index. A memory that changes between two pages moves
// to the front of the list; every other one is on exactly one page.
func (x *Index) List(ctx context.Context, req ListRequest) (ListResponse, error) {
	q, err := x.parse(req)
	if err != nil {
		return ListResponse{}, err
	}
	var meter hippo.Meter
	known, source, err := x.Known(hippo.WithMeter(ctx, &meter), q.tenant)
	if err != nil {
		return ListResponse{}, err
	}
	resp := ListResponse{Memories: []ListedMemory{}}
	if len(req.Names) > 0 {
		known.answer(req.Names, &resp)
	} else {
		known.page(q, &resp)
	}
	cost := meter.Total()
	resp.Index, resp.Documents, resp.Bytes = source, cost.Documents, cost.Bytes
	return resp, nil
}

// listQuery is a ListRequest that was checked.
type listQuery struct {
	tenant hippo.TenantID
	kind   hippo.Kind
	words  []string
	limit  int
	behind hippo.Item
}

func (q *listQuery) matches(item hippo.Item) bool {
	if q.kind != "" && hippo.KindOf(item.Name) != q.kind {
		return false
	}
	if len(q.words) == 0 {
		return true
	}
	name := strings.ToLower(item.Name)
	for _, w := range q.words {
		if !strings.Contains(name, w) {
			return false
		}
	}
	return true
}

func (x *Index) parse(req ListRequest) (q listQuery, err error) {
	if q.tenant, err = hippo.NewTenantID(req.Tenant); err != nil {
		return q, hippo.InField(err, "tenant")
	}
	q.kind, q.words, q.limit = hippo.Kind(req.Kind), strings.Fields(strings.ToLower(req.Words)), req.Limit
	if q.limit == 0 {
		q.limit = defaultNames
	}
	switch {
	case len(req.Names) > 0 && (req.Kind != "" || req.Words != "" || req.Limit != 0 || req.Cursor != ""):
		return q, hippo.Errorf(hippo.Invalid, "names", "cannot stand beside kind, words, limit or cursor")
	case len(req.Names) > maxAskedNames:
		return q, hippo.Errorf(hippo.TooLarge, "names", "holds %d names; the limit is %d", len(req.Names), maxAskedNames)
	case len(req.Words) > maxWordsBytes:
		return q, hippo.Errorf(hippo.TooLarge, "words", "is %d bytes long; the limit is %d", len(req.Words), maxWordsBytes)
	case q.limit < 1 || q.limit > maxNames:
		return q, hippo.Errorf(hippo.Invalid, "limit", "%d lies outside 1 to %d", req.Limit, maxNames)
	}
	if req.Cursor != "" {
		q.behind, err = x.readCursor(req.Cursor)
	}
	return q, err
}

// answer tells which of some names are listed. They are the caller's own words,
// so that they are not scanned.
func (k *Known) answer(names []string, resp *ListResponse) {
	for _, name := range names {
		id, err := k.naming.ID(name)
		item, ok := k.find(id)
		if err != nil || !ok {
			resp.Missing = append(resp.Missing, name)
			continue
		}
		resp.Memories = append(resp.Memories, ListedMemory{item.Name, item.UpdatedAt})
	}
	resp.Total = len(resp.Memories)
}

func (k *Known) page(q listQuery, resp *ListResponse) {
	resp.Total = k.count(q)
	var last hippo.Item
	n := 0
	for item := range k.behind(q.behind) {
		if !q.matches(item) {
			continue
		}
		if n == q.limit {
			resp.NextCursor = cursor(last)
			return
		}
		n++
		last = item
		if _, hit := textscan.Scan(item.Name); hit {
			resp.BlockedNames++
			continue
		}
		resp.Memories = append(resp.Memories, ListedMemory{item.Name, item.UpdatedAt})
	}
}

func (k *Known) count(q listQuery) int {
	switch {
	case len(q.words) == 0 && q.kind == "":
		return k.total
	case len(q.words) == 0:
		return k.ofKind(q.kind)
	}
	n := 0
	for _, p := range k.parts {
		for _, item := range p.items {
			if q.matches(item) {
				n++
			}
		}
	}
	return n
}

// cursor is a place in the list: behind an item, whether or not it is still
// listed when the cursor comes back.
func cursor(item hippo.Item) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(int64(item.UpdatedAt), 10) + " " + string(item.ID)))
}

func (x *Index) readCursor(text string) (hippo.Item, error) {
	place, err := base64.RawURLEncoding.DecodeString(text)
	at, id, ok := strings.Cut(string(place), " ")
	updated, atErr := strconv.ParseInt(at, 10, 64)
	name, listable := x.naming.Name(hippo.MemoryID(id))
	if err != nil || !ok || atErr != nil || !listable {
		return hippo.Item{}, hippo.Errorf(hippo.Invalid, "cursor", "is not one that this function gave")
	}
	return hippo.Item{ID: hippo.MemoryID(id), Name: name, UpdatedAt: hippo.Micros(updated)}, nil
}
