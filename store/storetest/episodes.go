package storetest

import (
	"slices"

	"github.com/hippofire/hippofire/hippo"
)

var episodeCases = []testCase{
	{"an episode reads back as its pass recorded it", episodeRoundTrip},
	{"the first episode is the one with the earliest from", episodeFirst},
	{"episodes before a position come by from, then by to, latest first", episodesEarlier},
	{"episodes behind a position come in the order of to", episodesLater},
	{"an episode is found by its handle", episodeHandled},
	{"episodes are counted by thread", episodesCounted},
}

// at is a position of the cases' calendar.
func at(n int, id hippo.MessageID) hippo.Position { return hippo.Position{At: day(n), ID: id} }

func (f *fixture) record(pass hippo.Pass) hippo.PassResult {
	f.Helper()
	result, err := f.store.RecordPass(f.ctx, f.tenant, f.thread, pass)
	f.ok(err)
	return result
}

// line is a pass that wrote nothing but a line.
func line(from, to hippo.Position) hippo.Pass {
	gist := "from " + string(from.ID) + " to " + string(to.ID)
	return hippo.Pass{Stretch: hippo.Stretch{From: from, To: to}, Hash: "hash of " + gist, Gist: gist}
}

// gists are what the cases know episodes by.
func gists(episodes []hippo.Episode) []string {
	out := make([]string, len(episodes))
	for i, e := range episodes {
		out[i] = e.Gist
	}
	return out
}

// lines are the gists of passes.
func lines(passes ...hippo.Pass) []string {
	out := make([]string, len(passes))
	for i, p := range passes {
		out[i] = p.Gist
	}
	return out
}

func (f *fixture) first() (hippo.Episode, bool) {
	f.Helper()
	e, ok, err := f.store.FirstEpisode(f.ctx, f.tenant, f.thread)
	f.ok(err)
	return e, ok
}

// episode demands the thread's one episode.
func (f *fixture) episode() hippo.Episode {
	f.Helper()
	e, ok := f.first()
	n, err := f.store.CountEpisodes(f.ctx, f.tenant, f.thread)
	f.ok(err)
	if !ok || n != 1 {
		f.Fatalf("%d episodes, want one", n)
	}
	return e
}

func episodeRoundTrip(f *fixture) {
	before := f.storeTime()
	pass := line(at(1, "a"), at(2, "é.b"))
	pass.Writes = []hippo.Write{{ID: "m2", Name: "n2"}, {ID: "m1", Name: "n1"}}
	pass.Blocked = "some rule"
	result := f.record(pass)
	want := hippo.Episode{Stretch: pass.Stretch, Gist: pass.Gist, Pointers: []hippo.MemoryID{"m2", "m1"}, Handle: hippo.HandleOf(pass.To), Blocked: "some rule"}
	got := f.episode()
	f.between(before, got.CreatedAt, f.storeTime())
	want.CreatedAt = got.CreatedAt
	same(f, "episode", got, want)
	if result.Episode == nil {
		f.Fatal("the result has no episode")
	}
	result.Episode.CreatedAt = got.CreatedAt
	same(f, "the result's episode", *result.Episode, want)
	if f.document(f.episodePath(pass.To)) == nil {
		f.Fatal("no document at the episode's path")
	}
}

// overlapping records stretches that share ends, in no order.
func overlapping(f *fixture) []hippo.Pass {
	passes := []hippo.Pass{
		line(at(1, "b"), at(4, "d")),
		line(at(2, "a"), at(3, "a")),
		line(at(2, "b"), at(3, "c")),
		line(at(2, "b"), at(5, "a")),
		line(at(2, "é"), at(2, "é")),
		line(at(6, "a"), at(7, "a")),
	}
	for _, i := range []int{3, 0, 5, 2, 4, 1} {
		f.record(passes[i])
	}
	return passes
}

func episodeFirst(f *fixture) {
	_, ok := f.first()
	same(f, "whether a thread without episodes has a first", ok, false)
	f.record(line(at(2, "b"), at(3, "c")))
	f.record(line(at(2, "a"), at(9, "c")))
	e, _ := f.first()
	same(f, "first of one time, by message id", e.Gist, "from a to c")
	passes := overlapping(f)
	e, ok = f.first()
	same(f, "whether there is a first", ok, true)
	same(f, "first", e.Gist, passes[0].Gist)
}

func episodesEarlier(f *fixture) {
	p := overlapping(f)
	before := func(position hippo.Position, limit int) []string {
		f.Helper()
		got, err := f.store.EpisodesBefore(f.ctx, f.tenant, f.thread, position, limit)
		f.ok(err)
		return gists(got)
	}
	same(f, "all", before(at(9, "a"), 10), lines(p[5], p[4], p[3], p[2], p[1], p[0]))
	same(f, "at most three", before(at(9, "a"), 3), lines(p[5], p[4], p[3]))
	same(f, "before a from that two share", before(p[3].From, 10), lines(p[1], p[0]))
	same(f, "by from, though to lies behind", before(p[4].From, 2), lines(p[3], p[2]))
	same(f, "before the first", before(p[0].From, 10), []string{})
}

func episodesLater(f *fixture) {
	p := overlapping(f)
	after := func(position hippo.Position, limit int) []string {
		f.Helper()
		got, err := f.store.EpisodesAfter(f.ctx, f.tenant, f.thread, position, limit)
		f.ok(err)
		return gists(got)
	}
	order := []hippo.Pass{p[4], p[1], p[2], p[0], p[3], p[5]}
	same(f, "all", after(hippo.Position{}, 10), lines(order...))
	same(f, "first page", after(hippo.Position{}, 4), lines(order[:4]...))
	same(f, "last page", after(p[0].To, 4), lines(order[4:]...))
	same(f, "behind the end", after(p[5].To, 4), []string{})
}

func episodeHandled(f *fixture) {
	for _, p := range overlapping(f) {
		e, err := f.store.EpisodeByHandle(f.ctx, f.tenant, f.thread, hippo.HandleOf(p.To))
		f.ok(err)
		same(f, "gist", e.Gist, p.Gist)
	}
	_, err := f.store.EpisodeByHandle(f.ctx, f.tenant, f.thread, hippo.HandleOf(at(9, "nothing")))
	f.fails(err, hippo.NotFound)
	_, err = f.store.EpisodeByHandle(f.ctx, f.tenant, "unknown", hippo.HandleOf(at(4, "d")))
	f.fails(err, hippo.NotFound)
}

func episodesCounted(f *fixture) {
	count := func(thread hippo.ThreadID) int {
		f.Helper()
		n, err := f.store.CountEpisodes(f.ctx, f.tenant, thread)
		f.ok(err)
		return n
	}
	same(f, "count of none", count(f.thread), 0)
	passes := overlapping(f)
	same(f, "count", count(f.thread), len(passes))
	same(f, "count of an unknown thread", count("unknown"), 0)
	same(f, "gists are different", len(slices.Compact(lines(passes...))), len(passes))
}
