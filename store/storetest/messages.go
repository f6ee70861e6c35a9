package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hippofire/hippofire/hippo"
)

var messageCases = []testCase{
	{"a message reads back whole", messageRoundTrip},
	{"messages without a time get the store's, in order", messagesTimed},
	{"times that run backwards are sorted and strictly increase", messagesSorted},
	{"a message that is there stays as it is", messagesRetried},
	{"of racing saves of one message one creates it", messagesRaced},
	{"recent messages are the latest, oldest first", messagesRecent},
	{"messages of a stretch come with both ends, by pages", messagesOfStretch},
	{"messages before a position come latest first", messagesEarlier},
	{"messages with a term come latest first", messagesTermed},
	{"positions leave out what does not exist", messagePositions},
	{"messages are counted by thread", messagesCounted},
}

// said is a message of the cases' thread: its id and its time are its name.
func said(id hippo.MessageID, at hippo.Micros, terms ...string) hippo.Message {
	return hippo.Message{ID: id, Role: hippo.User, Content: "content of " + string(id), CreatedAt: at, Terms: terms}
}

func (f *fixture) save(messages ...hippo.Message) []hippo.Message {
	f.Helper()
	created, err := f.store.SaveMessages(f.ctx, f.tenant, f.thread, messages)
	f.ok(err)
	return created
}

func messageIDs(messages []hippo.Message) []hippo.MessageID {
	ids := make([]hippo.MessageID, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	return ids
}

func (f *fixture) recent(limit int) []hippo.Message {
	f.Helper()
	messages, err := f.store.RecentMessages(f.ctx, f.tenant, f.thread, limit)
	f.ok(err)
	return messages
}

func messageRoundTrip(f *fixture) {
	want := []hippo.Message{
		{ID: "1", Role: hippo.System, Content: "Be brief.", CreatedAt: day(1)},
		{ID: "2.a", Role: hippo.User, Content: "Größe? 😀\n\"quoted\" <b>", CreatedAt: day(1) + 1, Speaker: "Ann", Terms: []string{"große", "😀"}},
		{ID: "3", Role: hippo.Assistant, CreatedAt: day(1) + 2, ToolCalls: []hippo.ToolCall{{ID: "c1", Name: "open_memory", Arguments: `{"name":"a/b"}`}, {ID: "c2", Name: "list", Arguments: ""}}},
		{ID: "4", Role: hippo.Tool, Content: "", ToolCallID: "c1", CreatedAt: day(1) + 3},
	}
	same(f, "created", f.save(want...), want)
	same(f, "read", f.recent(10), want)
}

func messagesTimed(f *fixture) {
	before := f.storeTime()
	created := f.save(said("c", 0), said("a", 0), said("b", 0))
	same(f, "order", messageIDs(created), []hippo.MessageID{"c", "a", "b"})
	f.between(before, created[0].CreatedAt, f.storeTime())
	if created[0].CreatedAt >= created[1].CreatedAt || created[1].CreatedAt >= created[2].CreatedAt {
		f.Fatalf("times do not increase: %v", created)
	}
	same(f, "read", f.recent(10), created)
}

func messagesSorted(f *fixture) {
	created := f.save(said("a", day(3)), said("b", day(1)), said("c", day(3)), said("d", day(2)), said("e", day(1)))
	want := []hippo.Message{said("b", day(1)), said("e", day(1)+1), said("d", day(2)), said("a", day(3)), said("c", day(3)+1)}
	same(f, "created", created, want)
	same(f, "read", f.recent(10), want)
}

func messagesRetried(f *fixture) {
	first := f.save(said("a", day(1), "one"), said("b", 0))
	changed := said("a", day(5), "two")
	changed.Content = "other content"
	same(f, "created by a retry", f.save(changed, said("b", 0)), nil)
	same(f, "read after a retry", f.recent(10), first)
	same(f, "created beside what is there", f.save(said("b", day(9)), said("c", day(2)), changed), []hippo.Message{said("c", day(2))})
	same(f, "created of none", f.save(), nil)
	same(f, "created of one id twice", f.save(said("d", day(3)), said("d", day(4))), []hippo.Message{said("d", day(3))})
}

func messagesRaced(f *fixture) {
	const callers = 8
	created, errs := make([][]hippo.Message, callers), make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			m := said("a", day(i+1))
			errs[i] = retry(func() (err error) {
				created[i], err = f.store.SaveMessages(f.ctx, f.tenant, f.thread, []hippo.Message{m})
				return err
			})
		})
	}
	group.Wait()
	for _, err := range errs {
		f.ok(err)
	}
	winners := slices.Concat(created...)
	same(f, "creations", len(winners), 1)
	same(f, "read", f.recent(10), winners)
}

// tied saves five messages, the three in the middle at the same time.
func tied(f *fixture) []hippo.Message {
	messages := []hippo.Message{said("z", day(1)), said("a", day(2)), said("b", day(2)), said("é", day(2)), said("m", day(3))}
	for _, i := range []int{2, 4, 0, 3, 1} {
		f.save(messages[i])
	}
	return messages
}

func messagesRecent(f *fixture) {
	same(f, "an unknown thread", f.recent(5), nil)
	all := tied(f)
	same(f, "all", f.recent(10), all)
	same(f, "as many as there are", f.recent(5), all)
	same(f, "the last three", f.recent(3), all[2:])
	same(f, "the last", f.recent(1), all[4:])
}

func messagesOfStretch(f *fixture) {
	all := tied(f)
	in := func(from, to int, after hippo.Position, limit int) []hippo.Message {
		f.Helper()
		s := hippo.Stretch{From: all[from].Position(), To: all[to].Position()}
		got, err := f.store.MessagesIn(f.ctx, f.tenant, f.thread, s, after, limit)
		f.ok(err)
		return got
	}
	var start hippo.Position
	same(f, "whole", in(0, 4, start, 10), all)
	same(f, "both ends inside equal times", in(1, 2, start, 10), all[1:3])
	same(f, "one message", in(2, 2, start, 10), all[2:3])
	same(f, "first page", in(1, 4, start, 2), all[1:3])
	same(f, "second page", in(1, 4, all[2].Position(), 2), all[3:5])
	same(f, "behind the end", in(1, 3, all[3].Position(), 2), nil)
	same(f, "behind a position before the stretch", in(2, 3, all[0].Position(), 10), all[2:4])
	got, err := f.store.MessagesIn(f.ctx, f.tenant, "unknown", hippo.Stretch{From: all[0].Position(), To: all[4].Position()}, start, 10)
	f.ok(err)
	same(f, "an unknown thread", got, nil)
}

func messagesEarlier(f *fixture) {
	all := tied(f)
	before := func(p hippo.Position, limit int) []hippo.Message {
		f.Helper()
		got, err := f.store.MessagesBefore(f.ctx, f.tenant, f.thread, p, limit)
		f.ok(err)
		slices.Reverse(got)
		return got
	}
	same(f, "before the last", before(all[4].Position(), 10), all[:4])
	same(f, "before one of equal times", before(all[2].Position(), 10), all[:2])
	same(f, "at most two", before(all[4].Position(), 2), all[2:4])
	same(f, "before the first", before(all[0].Position(), 10), nil)
	same(f, "behind every message of a time", before(all[3].Position().After(), 10), all[:4])
}

func messagesTermed(f *fixture) {
	all := []hippo.Message{
		said("z", day(1), "quote", "maria"), said("a", day(2), "quote"), said("b", day(2), "quotes"),
		said("c", day(2), "x", "quote", "quote"), said("m", day(3), "quote"), said("n", day(4)),
	}
	f.save(all[0], all[1], all[4], all[5])
	f.save(all[2])
	f.save(all[3])
	with := func(term string, before hippo.Position, limit int) []hippo.MessageID {
		f.Helper()
		got, err := f.store.MessagesWithTerm(f.ctx, f.tenant, f.thread, term, before, limit)
		f.ok(err)
		return messageIDs(got)
	}
	end := hippo.Position{At: day(9)}
	same(f, "all of a term", with("quote", end, 10), []hippo.MessageID{"m", "c", "a", "z"})
	same(f, "at most two", with("quote", end, 2), []hippo.MessageID{"m", "c"})
	same(f, "before a position", with("quote", all[3].Position(), 10), []hippo.MessageID{"a", "z"})
	same(f, "another term", with("maria", end, 10), []hippo.MessageID{"z"})
	same(f, "a term that no message has", with("quot", end, 10), nil)
}

func messagePositions(f *fixture) {
	all := tied(f)
	got, err := f.store.Positions(f.ctx, f.tenant, f.thread, []hippo.MessageID{"é", "nothing", "z"})
	f.ok(err)
	same(f, "positions", got, map[hippo.MessageID]hippo.Position{"é": all[3].Position(), "z": all[0].Position()})
	got, err = f.store.Positions(f.ctx, f.tenant, "unknown", []hippo.MessageID{"z"})
	f.ok(err)
	same(f, "positions in an unknown thread", got, map[hippo.MessageID]hippo.Position{})
	got, err = f.store.Positions(f.ctx, f.tenant, f.thread, nil)
	f.ok(err)
	same(f, "positions of none", got, map[hippo.MessageID]hippo.Position{})
}

func messagesCounted(f *fixture) {
	for n := range 3 {
		f.save(said(hippo.MessageID(fmt.Sprint(n)), day(n+1)))
		got, err := f.store.CountMessages(f.ctx, f.tenant, f.thread)
		f.ok(err)
		same(f, "count", got, n+1)
	}
	got, err := f.store.CountMessages(f.ctx, f.tenant, "unknown")
	f.ok(err)
	same(f, "count of an unknown thread", got, 0)
}
