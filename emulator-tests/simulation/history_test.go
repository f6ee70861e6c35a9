package simulation

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/repairmsg"
)

// histories is how many histories a run tries where -rapid.checks does not say
// another number.
const histories = "300"

func TestMain(m *testing.M) {
	flag.Parse()
	defaults := map[string]string{
		"rapid.checks": histories,
		"rapid.seed":   strconv.FormatInt(time.Now().UnixNano(), 10),
		// The seed is enough to repeat a history, and a file is in the way.
		"rapid.nofailfile": "true",
	}
	flag.Visit(func(f *flag.Flag) { delete(defaults, f.Name) })
	for name, value := range defaults {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// kind says what can happen in a history, and so what has to be true at its end.
type kind struct {
	lossy  bool // events can be lost
	hands  bool // index documents are deleted by hand
	faulty bool // calls fail, processes are killed
	mixed  bool // a newer program joins
	grows  bool // more is imported than eight shards hold
}

// script is a history that is being drawn.
type script struct {
	*rapid.T
	*World
	kind kind
	plan Program
	// imported counts what importMany wrote.
	imported int
	// even, where it is set, chooses in the place of rapid, which prefers small
	// numbers: so that each history can be made short, but few are wild.
	even *rand.Rand
}

// names are few, so that changes meet; each history begins with some more.
var names = []string{"pages/a", "pages/b", "notebook/c", "d", "sources/é", "pages/f"}

func (s *script) must(err error) {
	if err != nil {
		s.Fatalf("%v\nWhat happened:\n%s", err, s.Trace())
	}
}

func (s *script) pick(n int, label string) int {
	if s.even != nil {
		return s.even.IntN(n)
	}
	return rapid.IntRange(0, n-1).Draw(s.T, label)
}

func oneOf[T any](s *script, of []T, label string) T { return of[s.pick(len(of), label)] }

func (s *script) program() Program {
	p := s.plan
	p.Skew = oneOf(s, []time.Duration{0, 90 * time.Second, -90 * time.Second}, "skew")
	if s.kind.mixed {
		p.Newer = s.pick(2, "newer") == 1
	}
	return p
}

// change lets a user, an import or another program write.
func (s *script) change() {
	name := oneOf(s, names, "name")
	switch s.pick(8, "change") {
	case 0, 1, 2:
		s.must(s.Save(name, 0))
	case 3, 4:
		s.must(s.Delete(name))
	case 5: // renamed
		s.must(s.Save(oneOf(s, names, "into"), 0))
		s.must(s.Delete(name))
	case 6: // imported with the date of long ago
		s.must(s.Save(name, hippo.Micros(s.pick(1000, "at")+1)))
	case 7:
		id := oneOf(s, []hippo.MemoryID{"not base64url!", "cGFnZXMvYQ"}, "id")
		s.must(s.PutForeign(id, map[string]any{"name": "x", "updated_at": "yesterday"}))
	}
	s.settle()
}

// step lets one thing happen.
func (s *script) step() {
	choice := s.pick(100, "step")
	switch {
	case choice >= 72 && choice < 80 && s.kind.grows:
		s.importMany()
	case choice < 45 && len(s.parked) > 0:
		s.Let(s.pick(len(s.parked), "call"), s.fault())
	case choice < 65 && len(s.waiting) > 0:
		s.Deliver(s.pick(len(s.waiting), "delivery"), s.pick(len(s.processes), "to"))
	case choice < 68 && len(s.waiting) > 0:
		s.Double(s.pick(len(s.waiting), "delivery"))
	case choice < 72 && len(s.waiting) > 0 && s.kind.lossy:
		s.Drop(s.pick(len(s.waiting), "delivery"))
	case choice < 82:
		s.change()
	case choice < 87:
		s.BeginTurn(s.pick(len(s.processes), "process"))
	case choice < 89:
		s.Send(repairmsg.Message{Tenant: tenant, Cause: oneOf(s, []repairmsg.Cause{
			repairmsg.Nightly, repairmsg.NoIndex, repairmsg.LostShard, repairmsg.FullShard,
		}, "cause")})
	case choice < 92 && s.kind.hands:
		s.must(s.DeleteIndexDocument(s.pick(64, "document")))
	case choice < 94 && s.kind.faulty:
		s.Replace(s.pick(len(s.processes), "process"), s.program())
	case choice < 95 && !s.kind.mixed: // an older program never takes some of what is on its way
		s.rest()
	default:
		s.Wait(time.Duration(s.pick(4, "wait")) * 30 * time.Millisecond)
	}
	s.must(s.found())
}

// importMany writes some hundred memories with the longest names there are and
// delivers much of what is waiting.
func (s *script) importMany() {
	for range 250 {
		s.must(s.Save(longName(s.imported), 0))
		s.imported++
	}
	s.settle()
	for n := s.pick(len(s.waiting), "deliveries"); n > 0; n-- {
		s.Deliver(0, n%len(s.processes))
	}
}

// enoughToGrow is how many of the longest names make an index of eight shards
// grow: more than half of what the two shards hold in which they meet.
const enoughToGrow = 750

// long are names of memories that meet in two shards of every eight, so that some
// hundred of them make an index grow, and some more are refused by it.
var long []string

// longName is the i-th of them.
func longName(i int) string {
	if i >= len(long) {
		long = fixture.LongNames(2*i+1000, 4)
	}
	return long[i]
}

func (s *script) fault() Fault {
	if !s.kind.faulty || s.pick(12, "fault") > 0 {
		return NoFault
	}
	return Fault(1 + s.pick(len(faults), "type"))
}

// rest lets everything come to rest in the middle of a history. Where no event
// can be lost, every turn has to be right then.
func (s *script) rest() {
	s.must(s.Drain())
	for i := range s.processes {
		s.must(s.Turn(i, !s.kind.lossy))
	}
}

// end brings the history to its end: what was lost is mended by the nightly
// repair, of the newest program alone; where nothing was lost, nothing needs to
// be.
func (s *script) end() {
	if s.kind.mixed {
		s.plan.Newer = true
		for i := range s.processes {
			s.Replace(i, s.plan)
		}
	}
	s.must(s.Drain())
	for range 3 { // a turn finds what is missing, and asks once a minute
		for i := range s.processes {
			s.must(s.Turn(i, !s.kind.lossy))
		}
		s.must(s.Drain())
		s.Wait(2 * time.Minute)
	}
	for range 2 { // the second grows what the first has filled
		// An older program drops the message that would have swept what a newer one
		// has left over.
		if s.kind.lossy || s.kind.grows || s.kind.mixed {
			s.Send(repairmsg.Message{Cause: repairmsg.Nightly})
			s.must(s.Drain())
		}
	}
	if s.kind.hands && !s.kind.lossy {
		for i := range s.processes { // whose caches are older than what was deleted
			s.Replace(i, s.plan)
			s.must(s.Turn(i, true))
			s.must(s.Drain())
			s.Wait(2 * time.Minute)
		}
	}
	s.must(s.Equal())
	s.repairAgain()
	if s.kind.grows && s.shards() > hippo.MinShards {
		grown.Add(1)
	}
}

// grown counts the histories at whose end an index had grown.
var grown atomic.Int64

// repairAgain demands that a repair of a right index writes no document of it.
func (s *script) repairAgain() {
	before := s.revisions()
	s.Send(repairmsg.Message{Tenant: tenant, Cause: repairmsg.Nightly})
	s.must(s.Drain())
	if after := s.revisions(); !maps.Equal(before, after) {
		s.Fatalf("a second repair wrote the index: %v became %v", before, after)
	}
	s.must(s.Equal())
}

func (s *script) shards() int {
	meta, err := s.store.Meta(context.Background(), tenant)
	s.must(err)
	return meta.Current.Shards
}

func (s *script) revisions() map[string]int64 {
	index, err := s.store.ReadIndex(context.Background(), tenant)
	s.must(err)
	revs := map[string]int64{"meta": index.Meta.Stamp.UnixMicro()}
	for _, shard := range index.Shards {
		revs[shard.ID.String()] = shard.Rev
	}
	return revs
}

var total struct {
	sync.Mutex
	Stats
	seeds int
}

func (s *Stats) add(o Stats) {
	s.Changes += o.Changes
	s.Events += o.Events
	s.Dropped += o.Dropped
	s.Doubled += o.Doubled
	s.Messages += o.Messages
	s.Kills += o.Kills
	s.Deleted += o.Deleted
	s.Turns += o.Turns
	s.Builds += o.Builds
	if s.Faults == nil {
		s.Faults = map[string]int{}
	}
	for name, n := range o.Faults {
		s.Faults[name] += n
	}
}

// inBubble runs f in a synctest bubble and hands on what it panics with, as rapid
// ends a history that went wrong by a panic.
func inBubble(t *testing.T, f func()) {
	var failed any
	synctest.Test(t, func(*testing.T) {
		defer func() { failed = recover() }()
		f()
	})
	switch {
	case failed == nil:
	case strings.HasSuffix(fmt.Sprintf("%T", failed), "invalidData"):
		panic(failed) // rapid tells by the line that this is no failure of the history
	default:
		panic(failed)
	}
}

func history(t *testing.T, k kind) func(*rapid.T) {
	return func(rt *rapid.T) {
		inBubble(t, func() {
			page := rapid.IntRange(2, 7).Draw(rt, "page size")
			if k.grows {
				page *= 100
			}
			plan := Program{PageSize: page, LeaveEachPage: rapid.Bool().Draw(rt, "leave each page")}
			w, err := NewWorld(rapid.IntRange(1, 3).Draw(rt, "processes"), plan)
			if err != nil {
				rt.Fatal(err)
			}
			defer w.Close()
			s := &script{T: rt, World: w, kind: k, plan: plan}
			if rapid.Bool().Draw(rt, "even") {
				s.even = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			}
			for i := range rapid.IntRange(0, 20).Draw(rt, "memories") {
				s.must(s.Save(fmt.Sprintf("pages/%02d", i), 0))
			}
			if s.pick(4, "index") > 0 { // there is one already
				s.Send(repairmsg.Message{Tenant: tenant, Cause: repairmsg.NoIndex})
				s.must(s.Drain())
			}
			for range s.pick(151, "steps") {
				s.step()
			}
			for k.grows && s.imported < enoughToGrow {
				s.importMany()
			}
			s.end()
			total.Lock()
			defer total.Unlock()
			total.add(w.Stats)
			total.seeds++
		})
	}
}

// TestEveryHistoryEndsRight draws histories of each kind. -rapid.checks=N says
// how many, -rapid.seed=N repeats those of one seed.
func TestEveryHistoryEndsRight(t *testing.T) {
	for _, k := range []kind{
		{},
		{faulty: true},
		{faulty: true, lossy: true},
		{faulty: true, hands: true},
		{faulty: true, lossy: true, hands: true},
		{faulty: true, mixed: true},
		{faulty: true, mixed: true, lossy: true, hands: true},
	} {
		t.Run(k.String(), func(t *testing.T) { rapid.Check(t, history(t, k)) })
	}
	t.Run("growth", growing)
	total.Lock()
	defer total.Unlock()
	t.Logf("-rapid.seed=%s: %d histories, %+v", flag.Lookup("rapid.seed").Value, total.seeds, total.Stats)
}

// growing draws fewer histories, as each writes thousands of memories.
func growing(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	all, err := strconv.Atoi(checks.String())
	if err != nil {
		t.Fatal(err)
	}
	defer checks.Set(checks.String())
	if err := checks.Set(strconv.Itoa(max(all/60, 1))); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, history(t, kind{faulty: true, grows: true}))
	rapid.Check(t, history(t, kind{faulty: true, lossy: true, hands: true, grows: true}))
	t.Logf("in %d histories the index grew", grown.Load())
	if all >= 300 && grown.Load() == 0 {
		t.Error("no history made the index grow")
	}
}

// String names what a kind of history has.
func (k kind) String() string {
	var has []string
	for _, part := range []struct {
		is   bool
		name string
	}{{k.faulty, "failing calls and killed processes"}, {k.lossy, "lost events"}, {k.hands, "documents deleted by hand"}, {k.mixed, "two versions"}} {
		if part.is {
			has = append(has, part.name)
		}
	}
	if has == nil {
		return "only disorder"
	}
	return strings.Join(has, ", ")
}
