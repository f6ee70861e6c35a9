package history

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/terms"
)

// What one search reads, in message documents: the latest, whether or not they
// carry terms; then those that carry a term of the query; then what stands around
// the hits. With the queries that find nothing, which are billed too, it is
// maxRead at most.
const (
	maxRead   = maxLatest + maxByTerm + maxAround
	maxLatest = 60
	maxByTerm = 100
	maxAround = 2 * around * maxHits
)

// How many hits one search gives, and how many messages before and behind each.
const (
	defaultHits = 5
	maxHits     = 10
	around      = 2
)

// How much text a search takes, and how much it shows of a hit and of a message
// around one, in bytes.
const (
	maxQueryBytes = 1000
	hitBytes      = 2000
	aroundBytes   = 600
)

// SearchRequest asks for the messages of a thread that say certain words.
type SearchRequest struct {
	Tenant string `json:"tenant"`
	Thread string `json:"thread"`
	Query  string `json:"query"`
	// Limit is how many hits to return at most.
	Limit int `json:"limit,omitempty"`
	// Cursor is the next_cursor of the search before: go on further back.
	Cursor string `json:"cursor,omitempty"`
}

// Hit is a message that says words of the query, and those around it.
type Hit struct {
	Message Said   `json:"message"`
	Before  []Said `json:"before"`
	After   []Said `json:"after"`
	// Matched are the terms of the query that it says.
	Matched []string `json:"matched"`
}

// SearchResponse is the hits, best first, and how far back the search looked.
type SearchResponse struct {
	Hits []Hit `json:"hits"`
	// Terms are what was looked for: words by their stems.
	Terms []string `json:"terms"`
	// WholeThread says that no message was passed over that keeps one of the terms; a
	// message keeps the 200 most distinctive of what it says.
	WholeThread bool `json:"whole_thread"`
	// LookedBackTo is how far back every term was followed, where that is not to
	// the thread's beginning: of older messages only the rarer terms were.
	LookedBackTo hippo.Micros `json:"looked_back_to,omitzero"`
	// WithoutTermsBackTo is how far back those messages were looked at that were
	// stored without search terms, where that is not to the thread's beginning.
	WithoutTermsBackTo hippo.Micros `json:"without_terms_back_to,omitzero"`
	// NextCursor asks for a search from there on; absent where there is no need.
	NextCursor string `json:"next_cursor,omitempty"`
	// Documents is how many documents were read.
	Documents int `json:"documents"`
	// Bytes is how much was read.
	Bytes int64 `json:"bytes"`
}

// Search finds the messages of a thread that say most of the query's words, rare
// words counting most. It reads no more of a long thread than of a short one. Its
// errors are of kind Invalid or TooLarge, naming the field.
func (r *Reader) Search(ctx context.Context, req SearchRequest) (SearchResponse, error) {
	q, err := parseSearch(req)
	if err != nil {
		return SearchResponse{}, err
	}
	var meter hippo.Meter
	s := &search{store: r.store, query: q, found: make(map[hippo.MessageID]hippo.Message), byTerm: make(map[string]int)}
	hits, err := s.run(hippo.WithMeter(ctx, &meter))
	if err != nil {
		return SearchResponse{}, err
	}
	resp := SearchResponse{Hits: hits, Terms: q.followed(), WholeThread: true}
	if !s.whole {
		resp.WithoutTermsBackTo = s.oldest().At
	}
	if from, open := s.openFrom(); open {
		resp.WholeThread, resp.LookedBackTo, resp.NextCursor = false, from.At, from.String()
	}
	cost := meter.Total()
	resp.Documents, resp.Bytes = cost.Documents, cost.Bytes
	return resp, nil
}

// query is a SearchRequest that was checked.
type query struct {
	tenant hippo.TenantID
	thread hippo.ThreadID
	terms  []string
	limit  int
	before hippo.Position
}

func parseSearch(req SearchRequest) (q query, err error) {
	if q.tenant, q.thread, err = hippo.ThreadOf(req.Tenant, req.Thread); err != nil {
		return q, err
	}
	q.limit, q.before = req.Limit, hippo.EndOfTime
	if q.limit == 0 {
		q.limit = defaultHits
	}
	switch {
	case strings.TrimSpace(req.Query) == "":
		return q, hippo.Errorf(hippo.Invalid, "query", "is missing")
	case !utf8.ValidString(req.Query):
		return q, hippo.Errorf(hippo.Invalid, "query", "is not valid UTF-8")
	case len(req.Query) > maxQueryBytes:
		return q, hippo.Errorf(hippo.TooLarge, "query", "is %d bytes long; the limit is %d", len(req.Query), maxQueryBytes)
	case q.limit < 1 || q.limit > maxHits:
		return q, hippo.Errorf(hippo.Invalid, "limit", "%d lies outside 1 to %d hits", req.Limit, maxHits)
	}
	if q.terms = terms.Query(req.Query); len(q.terms) == 0 {
		return q, hippo.Errorf(hippo.Invalid, "query", "has no word to look for: name what was talked about, such as a person, a place or a figure")
	}
	if req.Cursor != "" {
		if q.before, err = hippo.ParsePosition(req.Cursor); err != nil {
			return q, hippo.Errorf(hippo.Invalid, "cursor", "is not one that this function gave")
		}
	}
	return q, nil
}
