package turnreader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/tokens"
	"github.com/hippofire/hippofire/turnreader"
)

// slow makes calls of a method wait, as a store does that is slow: it stops where
// the call is given up.
func slow(by time.Duration, methods ...string) func(context.Context, string) error {
	return func(ctx context.Context, method string) error {
		if !slices.Contains(methods, method) {
			return nil
		}
		select {
		case <-time.After(by):
			return nil
		case <-ctx.Done():
			return hippo.Wrap(hippo.Unavailable, ctx.Err(), "reading")
		}
	}
}

func TestStoreSlowByOneSecondAndByTen(t *testing.T) {
	for _, test := range []struct {
		by      time.Duration
		methods []string
		want    string
		after   time.Duration
	}{
		{time.Second, []string{"ReadIndex"}, "", time.Second},
		{time.Second, []string{"FirstEpisode"}, "", time.Second},
		{time.Second, []string{"ReadIndex", "RecentMessages", "EpisodesBefore"}, "", 2 * time.Second},
		{10 * time.Second, []string{"ReadIndex"}, "memory_list 0 late", 3 * time.Second},
		{10 * time.Second, []string{"EpisodesBefore"}, "buffer 0 late", 5 * time.Second},
		{10 * time.Second, []string{"ReadIndex", "EpisodesBefore"}, "memory_list 0 late, buffer 0 late", 5 * time.Second},
		{10 * time.Second, []string{"RecentMessages"}, "503", 5 * time.Second},
	} {
		t.Run(fmt.Sprintf("%v %v", test.by, test.methods), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fixture.Embedded(t)
				f.EmptyIndex()
				r := newReader(f)
				r.indexed("pages/a")
				messages := r.thread(60, 0)
				r.episode(messages[0], messages[5], "stretch 0", "pages/a")
				f.Fault.Before = slow(test.by, test.methods...)
				began := time.Now()
				turn, err := r.Turn(t.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread})
				if took := time.Since(began); took != test.after {
					t.Errorf("answered after %v, want %v", took, test.after)
				}
				if test.want == "503" {
					if !hippo.IsKind(err, hippo.Unavailable) {
						t.Errorf("error %v", err)
					}
					return
				}
				f.Must(err)
				if got := dropped(turn); got != test.want {
					t.Errorf("the ledger says %q, want %q", got, test.want)
				}
				if len(block(turn, turnreader.RecentBlock).Messages) != 30 {
					t.Error("messages are missing")
				}
				if late := strings.Contains(test.want, "buffer"); (block(turn, turnreader.BufferBlock).Text == "") != late {
					t.Error("the buffer is there where it is late, or missing where it is not")
				}
				if late := strings.Contains(test.want, "memory_list"); (block(turn, turnreader.MemoryList).Text == "") != late || (turn.Ledger.Index == turnreader.None) != late {
					t.Error("the list is there where it is late, or missing where it is not")
				}
			})
		})
	}
}

func TestMillisecondsAreOfTheStageThatTookThem(t *testing.T) {
	for stage, methods := range map[string][]string{
		"list": {"ReadIndex"}, "messages": {"RecentMessages"}, "buffer": {"FirstEpisode"}, "fit": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := fixture.Embedded(t)
			f.EmptyIndex()
			r := newReader(f)
			r.thread(60, 2)
			f.Fault.Before = slow(time.Second, methods...)
			turn := r.ask(turnreader.Request{Message: newMessage("user: count me"), Tokens: func(text string) int {
				if stage == "fit" && text == "count me" {
					time.Sleep(time.Second) // which it does once, for what is counted once
				}
				return tokens.FourChars(text)
			}})
			want := map[string]float64{"list": 0, "messages": 0, "fit": 0, "buffer": 0, "total": 1000}
			want[stage] = 1000
			if diff := cmp.Diff(want, turn.Ledger.Milliseconds); diff != "" {
				t.Errorf("%s is slow: %s", stage, diff)
			}
		})
	}
}

func TestStoreFailingHalfOfItsCalls(t *testing.T) {
	f := fixture.Embedded(t)
	f.EmptyIndex()
	r := newReader(f)
	r.indexed("pages/a")
	messages := r.thread(60, 0)
	r.episode(messages[0], messages[5], "stretch 0", "pages/a")
	whole := r.turn()
	f.Fault.Before = func(context.Context, string) error {
		if rand.IntN(2) == 0 {
			return hippo.Errorf(hippo.Unavailable, "", "the store is away")
		}
		return nil
	}
	answered, refused := 0, 0
	for range 200 {
		turn, err := r.Turn(t.Context(), turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread})
		if err != nil {
			refused++
			if !hippo.IsKind(err, hippo.Unavailable) {
				t.Fatal(err)
			}
			continue
		}
		answered++
		missing := map[turnreader.BlockKind]bool{}
		for _, d := range turn.Ledger.Dropped {
			if d.Why != turnreader.Unavailable {
				t.Errorf("%s is missing because %s", d.Block, d.Why)
			}
			missing[d.Block] = true
		}
		for _, b := range whole.Blocks {
			got := block(turn, b.Kind)
			if missing[b.Kind] && got.Tokens != 0 || !missing[b.Kind] && b.Kind != turnreader.BufferBlock && cmp.Diff(b, got) != "" {
				t.Fatalf("%s: %s", b.Kind, cmp.Diff(b, got))
			}
			// Without the list the buffer is there, but no pointer is sure.
			if b.Kind == turnreader.BufferBlock && !missing[b.Kind] && !missing[turnreader.MemoryList] && cmp.Diff(b, got) != "" {
				t.Fatalf("%s: %s", b.Kind, cmp.Diff(b, got))
			}
		}
	}
	if answered == 0 || refused == 0 {
		t.Errorf("%d turns answered, %d refused: the faults are not where they should be", answered, refused)
	}
}

func TestClientThatGoesAwayStopsTheWork(t *testing.T) {
	for _, method := range []string{"ReadIndex", "RecentMessages", "EpisodesBefore"} {
		synctest.Test(t, func(t *testing.T) {
			f := fixture.Embedded(t)
			f.EmptyIndex()
			r := newReader(f)
			r.thread(60, 2)
			ctx, leave := context.WithCancel(t.Context())
			var stopped sync.WaitGroup
			stopped.Add(1)
			f.Fault.Before = func(ctx context.Context, called string) error {
				if called != method {
					return nil
				}
				leave()
				<-ctx.Done()
				stopped.Done()
				return hippo.Wrap(hippo.Unavailable, ctx.Err(), "reading")
			}
			if _, err := r.Turn(ctx, turnreader.Request{Tenant: fixture.Tenant, Thread: fixture.Thread}); err == nil {
				t.Errorf("%s: a turn was built for nobody", method)
			}
			stopped.Wait() // the read under way was given up, or the test never ends
		})
	}
}
