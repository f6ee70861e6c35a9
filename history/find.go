package history

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/terms"
)

// How terms are followed through a thread: how many of a query's terms at most,
// the most distinctive first; how many messages of each are read at first; and
// how many at a time of the one that has turned out rarest.
const (
	maxFollowed = 8
	firstLook   = 4
	nextLook    = 12
)

// followed lists the terms that are looked for in the whole thread.
func (q query) followed() []string { return q.terms[:min(len(q.terms), maxFollowed)] }

// search is one search under way.
type search struct {
	store hippo.ThreadStore
	query
	// latest are the newest messages, newest first; whole says that there are no
	// others.
	latest []hippo.Message
	whole  bool
	trails []*trail
	// found are the messages that have a term of the query, byTerm how many of
	// them have each.
	found  map[hippo.MessageID]hippo.Message
	byTerm map[string]int
}

// trail is how far a term was followed back through the thread.
type trail struct {
	term string
	seen int
	at   hippo.Position
	// ended says that no older message has the term.
	ended bool
}

// run finds, ranks and shows.
func (s *search) run(ctx context.Context) ([]Hit, error) {
	var err error
	s.latest, err = s.store.MessagesBefore(ctx, s.tenant, s.thread, s.before, maxLatest)
	if err != nil {
		return nil, err
	}
	s.whole = len(s.latest) < maxLatest
	s.add(s.latest)
	if !s.whole {
		if err := s.follow(ctx); err != nil {
			return nil, err
		}
	}
	return s.show(ctx, s.ranked())
}

// oldest is where the latest messages begin.
func (s *search) oldest() hippo.Position { return s.latest[len(s.latest)-1].Position() }

// add keeps those messages that have a term of the query.
func (s *search) add(messages []hippo.Message) {
	for _, m := range messages {
		if _, ok := s.found[m.ID]; ok {
			continue
		}
		has := termsOf(m)
		for _, t := range s.terms {
			if slices.Contains(has, t) {
				s.byTerm[t]++
				s.found[m.ID] = m
			}
		}
	}
}

// follow reads older messages by the query's terms: a few of each, then more of
// whichever seems rarest, until every term was followed to the thread's beginning
// or the bound is reached.
func (s *search) follow(ctx context.Context) error {
	left := maxByTerm
	for _, t := range s.followed() {
		s.trails = append(s.trails, &trail{term: t, at: s.oldest()})
	}
	first := make([][]hippo.Message, len(s.trails))
	group, both := errgroup.WithContext(ctx)
	for i, t := range s.trails {
		group.Go(func() (err error) {
			first[i], err = s.store.MessagesWithTerm(both, s.tenant, s.thread, t.term, t.at, firstLook)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, t := range s.trails {
		left -= s.step(t, first[i], firstLook)
	}
	for left > 0 {
		t := s.rarest()
		if t == nil {
			return nil
		}
		look := min(left, nextLook)
		older, err := s.store.MessagesWithTerm(ctx, s.tenant, s.thread, t.term, t.at, look)
		if err != nil {
			return err
		}
		left -= s.step(t, older, look)
	}
	return nil
}

// step takes what was read of a trail, and tells how many documents that cost.
func (s *search) step(t *trail, messages []hippo.Message, asked int) (cost int) {
	s.add(messages)
	t.seen += len(messages)
	if len(messages) > 0 {
		t.at = messages[len(messages)-1].Position()
	}
	t.ended = len(messages) < asked
	return max(1, len(messages))
}

// rarest is the trail, of those that go on, with the fewest messages in the time
// it has come through; nil where all have ended.
func (s *search) rarest() *trail {
	var rarest *trail
	for _, t := range s.trails {
		if !t.ended && (rarest == nil || s.density(t) < s.density(rarest)) {
			rarest = t
		}
	}
	return rarest
}

func (s *search) density(t *trail) float64 {
	return float64(t.seen) / float64(1+s.oldest().At-t.at.At)
}

// openFrom is the newest place from which a term was not followed further; false
// where all of them were followed to the thread's beginning.
func (s *search) openFrom() (from hippo.Position, open bool) {
	for _, t := range s.trails {
		if !t.ended && (!open || from.Before(t.at)) {
			from, open = t.at, true
		}
	}
	return from, open
}

// ranked lists what was found, best first: what says more and rarer terms of the
// query, in fewer words, and of equals the newer.
func (s *search) ranked() []hippo.Message {
	score := make(map[hippo.MessageID]float64)
	list := make([]hippo.Message, 0, len(s.found))
	for id, m := range s.found {
		list = append(list, m)
		has := termsOf(m)
		for _, t := range s.terms {
			if slices.Contains(has, t) {
				score[id] += s.weight(t)
			}
		}
		score[id] /= 1 + lengthPenalty*float64(len(has))
	}
	slices.SortFunc(list, func(a, b hippo.Message) int {
		return cmp.Or(cmp.Compare(score[b.ID], score[a.ID]), b.Position().Compare(a.Position()))
	})
	return list
}

// What ranks hits: a term that as many messages have counts for little, and a
// message loses with each term it has.
const (
	commonThread  = 300
	lengthPenalty = 0.01
)

// weight is higher for a rarer term. One that goes on further back is taken to be
// twice as frequent as what was seen of it.
func (s *search) weight(term string) float64 {
	n := float64(s.byTerm[term])
	for _, t := range s.trails {
		if t.term == term && !t.ended {
			n *= 2
		}
	}
	return math.Log1p(commonThread / max(n, 1))
}

// show gives the best messages as hits, with what stands around them. One that
// stands beside a better hit is shown there and not again.
func (s *search) show(ctx context.Context, ranked []hippo.Message) ([]Hit, error) {
	hits := []Hit{}
	shown := make(map[hippo.MessageID]bool)
	for _, m := range ranked {
		if len(hits) == s.limit {
			break
		}
		if shown[m.ID] {
			continue
		}
		before, after, err := s.around(ctx, m)
		if err != nil {
			return nil, err
		}
		hits = append(hits, s.hit(m, before, after))
		for _, beside := range slices.Concat(before, after) {
			shown[beside.ID] = true
		}
	}
	return hits, nil
}

// around gives the messages before and behind one, each oldest first.
func (s *search) around(ctx context.Context, m hippo.Message) (before, after []hippo.Message, err error) {
	at := slices.IndexFunc(s.latest, func(l hippo.Message) bool { return l.ID == m.ID })
	if at >= 0 && (s.whole || at+around < len(s.latest)) && (at >= around || s.before == hippo.EndOfTime) {
		before = slices.Clone(s.latest[at+1 : min(len(s.latest), at+1+around)])
		after = slices.Clone(s.latest[max(0, at-around):at])
		slices.Reverse(before)
		slices.Reverse(after)
		return before, after, nil
	}
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		before, err = s.store.MessagesBefore(both, s.tenant, s.thread, m.Position(), around)
		slices.Reverse(before)
		return err
	})
	group.Go(func() (err error) {
		after, err = s.store.MessagesIn(both, s.tenant, s.thread, hippo.Stretch{From: m.Position(), To: hippo.EndOfTime}, m.Position(), around)
		return err
	})
	return before, after, group.Wait()
}

// hit shows a message and those around it. Of a long message it shows the part
// that says most of the query's terms.
func (s *search) hit(m hippo.Message, before, after []hippo.Message) Hit {
	h := Hit{Before: sayAll(before), After: sayAll(after)}
	h.Message, _ = say(m, s.bestPart(m), hitBytes)
	has := termsOf(m)
	for _, t := range s.terms {
		if slices.Contains(has, t) {
			h.Matched = append(h.Matched, t)
		}
	}
	return h
}

func sayAll(messages []hippo.Message) []Said {
	all := make([]Said, len(messages))
	for i, m := range messages {
		all[i], _ = say(m, 0, aroundBytes)
	}
	return all
}

// bestPart is the offset of the part of a message, hitBytes long, in which most
// of the query's terms stand.
func (s *search) bestPart(m hippo.Message) (offset int) {
	text := textOf(m)
	if len(text) <= hitBytes {
		return 0
	}
	best := -1
	for at, rest := 0, 1; rest > 0 && best < len(s.terms); at += hitBytes / 2 {
		var part string
		part, _, rest = hippo.Part(text, at, hitBytes)
		has := terms.Of(part)
		n := 0
		for _, t := range s.terms {
			if slices.Contains(has, t) {
				n++
			}
		}
		if n > best {
			best, offset = n, at
		}
	}
	return offset
}
