package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/history"
)

// stretchMessages is how many messages one memory pass consolidates.
const stretchMessages = 8

// writers is how many requests are under way while a thread is written.
const writers = 8

// thread writes a thread of so many messages, about as long as people's and
// agents' are, with an episode for each stretch that is complete.
func (w *World) thread(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, n int, progress func(int)) error {
	messages := make([]hippo.Message, n)
	for i := range messages {
		m := hippo.Message{ID: hippo.MessageID(fmt.Sprintf("m%06d", i)), Role: hippo.User, CreatedAt: hippo.MicrosOf(epoch.Add(time.Duration(i) * time.Minute))}
		m.Content = fmt.Sprintf("What did supplier %d say about the lease, and is the deposit still due in spring?", i)
		if i%2 == 1 {
			m.Role, m.Content = hippo.Assistant, fmt.Sprintf("Supplier %d wants the deposit by March. %s", i, strings.Repeat("The rest of it can wait until the papers are signed. ", 6))
		}
		m.Terms = history.Terms(m)
		messages[i] = m
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for first := 0; first < n; first += hippo.MaxMessages {
		group.Go(func() error {
			_, err := w.SaveMessages(ctx, tenant, thread, messages[first:min(first+hippo.MaxMessages, n)])
			progress(first)
			return err
		})
	}
	for first := 0; first+stretchMessages <= n; first += stretchMessages {
		group.Go(func() error {
			return w.episode(ctx, tenant, thread, hippo.Stretch{From: messages[first].Position(), To: messages[first+stretchMessages-1].Position()}, first)
		})
	}
	return group.Wait()
}

// episode records the pass of a stretch, which wrote two memories.
func (w *World) episode(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, of hippo.Stretch, number int) error {
	pass := hippo.Pass{Stretch: of, Hash: "h", Gist: fmt.Sprintf("Asked supplier %d about the lease and the deposit; nothing decided until the papers are signed.", number)}
	for i := range 2 {
		id, err := w.Layout.Naming.ID(memoryName((number + i) % 50))
		if err != nil {
			return err
		}
		pass.Wrote = append(pass.Wrote, id)
	}
	_, err := w.RecordPass(ctx, tenant, thread, pass)
	return err
}
