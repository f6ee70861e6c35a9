package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/history"
	"github.com/hippofire/hippofire/internal/fixture"
)

func (r *reading) search(query string, limit int, cursor string) history.SearchResponse {
	r.Helper()
	resp, err := r.Search(r.Context(), history.SearchRequest{Tenant: string(fixture.Tenant), Thread: string(fixture.Thread), Query: query, Limit: limit, Cursor: cursor})
	r.Must(err)
	if resp.Documents > 200 {
		r.Errorf("searching for %q read %d documents", query, resp.Documents)
	}
	return resp
}

// ids are the hits, best first.
func ids(hits []history.Hit) []hippo.MessageID {
	var out []hippo.MessageID
	for _, h := range hits {
		out = append(out, h.Message.ID)
	}
	return out
}

func TestWordsFarBackAreFoundWithWhatStandsAroundThem(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReading(f)
		r.chat(40)
		want := r.say("Mr. Arceneaux agreed to a deposit of $1,150.", false)
		r.chat(300)
		r.save()
		for _, query := range []string{"Arceneaux", "what deposit did Arceneaux agree to?", "1150", "deposits"} {
			resp := r.search(query, 0, "")
			if len(resp.Hits) == 0 || resp.Hits[0].Message.ID != want.ID {
				t.Fatalf("%q finds %v", query, ids(resp.Hits))
			}
			h := resp.Hits[0]
			same(t, "before", texts(h.Before), []string{r.messages[38].Content, r.messages[39].Content})
			same(t, "after", texts(h.After), []string{r.messages[41].Content, r.messages[42].Content})
			same(t, "text", h.Message.Text, want.Content)
			if !resp.WholeThread || resp.LookedBackTo != 0 || resp.NextCursor != "" {
				t.Errorf("%q: it says it looked back to %s only", query, resp.LookedBackTo)
			}
		}
	})
}

func TestMessageOfAStretchWithoutLineIsFound(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReading(f)
		r.chat(100)
		want := r.say("The alarm company is Bayou Security.", false)
		r.chat(100)
		r.save()
		r.line(0, 49)
		r.line(150, 199)
		if got := ids(r.search("alarm company", 1, "").Hits); !slices.Equal(got, []hippo.MessageID{want.ID}) {
			t.Errorf("found %v", got)
		}
	})
}

func TestScriptsWithoutSpacesAreFound(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReading(f)
		r.chat(10)
		said := map[string]hippo.Message{
			"第二家店":    r.say("客户想在十月开第二家店，预算每月两千五。", false),
			"二号店":     r.say("オーナーは二号店を開きたい。", false),
			"ร้าน":    r.say("เจ้าของอยากเปิดร้านที่สอง", false),
			"가게":      r.say("주인은 두번째 가게를 열고 싶어 한다.", false),
			"الايجار": r.say("اتفقنا على الإيجار الشهري.", false),
		}
		r.chat(100)
		r.save()
		for query, want := range said {
			if got := ids(r.search(query, 1, "").Hits); !slices.Equal(got, []hippo.MessageID{want.ID}) {
				t.Errorf("%q finds %v, want %s", query, got, want.ID)
			}
		}
	})
}

func TestMessagesWithoutTermsAreSearchedNewestFirstWithinABound(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReading(f)
		out := r.say("The safe code is Pelican.", true)
		for range 100 {
			r.say("imported talk", true)
		}
		in := r.say("The back door code is Heron.", true)
		r.chat(59)
		r.save()
		if got := ids(r.search("heron", 0, "").Hits); !slices.Equal(got, []hippo.MessageID{in.ID}) {
			t.Errorf("the sixtieth from the end is not found: %v", got)
		}
		resp := r.search("pelican", 0, "")
		same(t, "hits", ids(resp.Hits), []hippo.MessageID(nil))
		same(t, "how far back messages without terms were looked at", resp.WithoutTermsBackTo, r.messages[len(r.messages)-60].CreatedAt)
		resp = r.search("pelican", 0, r.messages[50].Position().String())
		same(t, "hits further back", ids(resp.Hits), []hippo.MessageID{out.ID})
		same(t, "how far back then", resp.WithoutTermsBackTo, hippo.Micros(0))
	})
}

func TestSearchOfALongThreadReadsNoMoreThanTheBoundAndSaysHowFarItLooked(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReading(f)
		rare := r.say("In Thibodaux we looked at a lease, a permit, a trailer, a fleet, a counter, a deposit and a rental.", false)
		for i := range 700 {
			r.say(fmt.Sprintf("Lease, permit, trailer, fleet, counter, deposit, rental: day %d.", i), false)
		}
		r.save()
		query := "lease permit trailer fleet counter deposit rental Thibodaux"
		resp := r.search(query, 10, "")
		if len(resp.Hits) != 10 || resp.Hits[0].Message.ID != rare.ID {
			t.Errorf("%d hits, the best of them %v", len(resp.Hits), ids(resp.Hits)[:1])
		}
		if resp.WholeThread || resp.LookedBackTo == 0 || resp.LookedBackTo >= r.messages[640].CreatedAt || resp.NextCursor == "" {
			t.Errorf("it says it looked back to %s, the whole thread: %v", resp.LookedBackTo, resp.WholeThread)
		}
		if resp.Documents < 100 {
			t.Errorf("%d documents read: the bound is not tried", resp.Documents)
		}
		if f.Wire != nil {
			before := f.Wire.Total()
			again := r.search(query, 10, "")
			if got := f.Wire.Total().Reads - before.Reads; got != again.Documents {
				t.Errorf("it says it read %d documents; over the wire went %d", again.Documents, got)
			}
		}
	})
}

func TestSearchOf2400MessagesReadsWhatThatOf600Reads(t *testing.T) {
	read := map[int]history.SearchResponse{}
	for _, n := range []int{600, 2400} {
		r := newReading(fixture.Embedded(t))
		r.say("In Thibodaux we looked at a lease.", false)
		for i := 1; i < n; i++ {
			r.say([]string{"The lease again.", "Talk.", "Talk.", "Talk."}[i%4], false)
		}
		r.save()
		read[n] = r.search("the lease in Thibodaux", 5, "")
		same(t, "the best hit", ids(read[n].Hits)[0], r.messages[0].ID)
	}
	if read[600].Documents != read[2400].Documents || read[600].Documents > 200 {
		t.Errorf("documents read: %d of 600 messages, %d of 2400", read[600].Documents, read[2400].Documents)
	}
}

func TestSearchGoesOnFromWhereItLookedTo(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReading(f)
	for i := range 500 {
		r.say(fmt.Sprintf("The lease again, day %d.", i), false)
	}
	r.save()
	places := []hippo.Micros{r.messages[499].CreatedAt}
	for cursor, done := "", false; !done; {
		resp := r.search("lease", 3, cursor)
		for _, h := range resp.Hits {
			if h.Message.CreatedAt >= places[len(places)-1] && cursor != "" {
				t.Fatalf("a hit of %s when looking before %s", h.Message.CreatedAt, places[len(places)-1])
			}
		}
		cursor, done = resp.NextCursor, resp.WholeThread
		if places = append(places, resp.LookedBackTo); len(places) > 10 {
			t.Fatal("the search does not end")
		}
	}
	if len(places) < 4 {
		t.Errorf("500 messages were looked through in %d steps", len(places)-1)
	}
}

func TestRarerAndMoreWordsComeFirst(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReading(f)
	for range 30 {
		r.say("the lease, the lease", false)
		r.say("talk", false)
		r.say("talk", false)
		r.say("talk", false)
		r.say("talk", false)
	}
	both := r.say("the lease in Houma", false)
	r.chat(5)
	one := r.say("Houma, says she", false)
	r.chat(100)
	r.save()
	same(t, "hits", ids(r.search("lease Houma", 2, "").Hits), []hippo.MessageID{both.ID, one.ID})
}

func TestHitBesideABetterOneIsShownThereOnly(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReading(f)
		r.chat(10)
		r.say("the lease?", false)
		best := r.say("the lease in Houma", false)
		r.say("that lease", false)
		r.chat(20)
		other := r.say("another lease", false)
		r.chat(100)
		r.save()
		resp := r.search("lease Houma", 0, "")
		same(t, "hits", ids(resp.Hits), []hippo.MessageID{best.ID, other.ID})
		same(t, "before the best", texts(resp.Hits[0].Before)[1], "the lease?")
		same(t, "after the best", texts(resp.Hits[0].After)[0], "that lease")
	})
}

func TestShortThreadCostsItsMessages(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReading(f)
	r.chat(20)
	r.save()
	resp := r.search("talk", 10, "")
	if resp.Documents != 20 || !resp.WholeThread || resp.WithoutTermsBackTo != 0 {
		t.Errorf("%d documents read of 20 messages, whole thread %v", resp.Documents, resp.WholeThread)
	}
	if newReading(fixture.Embedded(t)).search("talk", 0, "").Hits == nil {
		t.Error("the hits of an empty thread are null, not an empty list")
	}
}

func TestOfALongMessageThePartThatMatchesIsShown(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReading(f)
	r.say(strings.Repeat("Nothing of note. ", 3000)+"The deposit is $1,150. "+strings.Repeat("Nothing of note. ", 3000), false)
	r.chat(3)
	r.save()
	h := r.search("deposit 1150", 1, "").Hits[0]
	if !strings.Contains(h.Message.Text, "$1,150") || len(h.Message.Text) > 2000 || h.Message.Offset == 0 || h.Message.Bytes < 100_000 {
		t.Errorf("shown: %d bytes at %d of %d", len(h.Message.Text), h.Message.Offset, h.Message.Bytes)
	}
}

func TestToolCallsAndSpeakersAreFound(t *testing.T) {
	f := fixture.Embedded(t)
	r := newReading(f)
	m := hippo.Message{ID: "call", Role: hippo.Assistant, CreatedAt: start - 2, ToolCalls: []hippo.ToolCall{{ID: "1", Name: "send_mail", Arguments: `{"to":"clovis@example.com"}`}}}
	m.Terms = history.Terms(m)
	by := hippo.Message{ID: "by", Role: hippo.User, Content: "Fine by me.", Speaker: "Wendell", CreatedAt: start - 1}
	by.Terms = history.Terms(by)
	r.messages = []hippo.Message{m, by}
	r.save()
	same(t, "by a tool's argument", ids(r.search("mail to Clovis", 1, "").Hits), []hippo.MessageID{"call"})
	same(t, "by who spoke", ids(r.search("Wendell", 1, "").Hits), []hippo.MessageID{"by"})
}

func TestSearchesThatAreRefused(t *testing.T) {
	r := newReading(fixture.Embedded(t))
	for _, c := range []struct {
		req   history.SearchRequest
		kind  hippo.ErrorKind
		field string
	}{
		{history.SearchRequest{Thread: "th", Query: "x"}, hippo.Invalid, "tenant"},
		{history.SearchRequest{Tenant: "t", Thread: "..", Query: "x"}, hippo.Invalid, "thread"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: " \n"}, hippo.Invalid, "query"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: "what was it"}, hippo.Invalid, "query"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: "\xff"}, hippo.Invalid, "query"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: strings.Repeat("x", 1001)}, hippo.TooLarge, "query"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: "x", Limit: 11}, hippo.Invalid, "limit"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: "x", Limit: -1}, hippo.Invalid, "limit"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: "x", Cursor: "next"}, hippo.Invalid, "cursor"},
		{history.SearchRequest{Tenant: "t", Thread: "th", Query: "x", Cursor: start.String() + "_a/b"}, hippo.Invalid, "cursor"},
	} {
		_, err := r.Search(t.Context(), c.req)
		refusedBy(t, err, c.kind, c.field)
	}
}

func TestStoreThatFailsFailsTheSearch(t *testing.T) {
	for _, method := range []string{"MessagesBefore", "MessagesWithTerm", "MessagesIn"} {
		f := fixture.Embedded(t)
		r := newReading(f)
		r.say("the lease", false)
		r.chat(100)
		r.save()
		f.Fault.Before = f.FailAll(method, hippo.Errorf(hippo.Unavailable, "", "no"))
		_, err := r.Search(t.Context(), history.SearchRequest{Tenant: "t", Thread: "th", Query: "lease"})
		if !hippo.IsKind(err, hippo.Unavailable) {
			t.Errorf("%s fails, and the search says %v", method, err)
		}
	}
}
