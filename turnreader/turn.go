// Package turnreader builds what a model sees in a turn: the list of what the
// agent knows, one line for each stretch that scrolled out of view, and the
// recent messages. What that costs does not depend on how much the agent knows
// or how long the thread is.
package turnreader

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/textscan"
)

// Options are what a Reader can be told; zero values are the defaults.
type Options struct {
	// Window is how many of the latest messages a turn replays; 30 by default.
	Window int
	// Tokens counts what a text costs.
	Tokens func(string) int
}

// DefaultWindow is how many messages a turn replays unless it is told otherwise.
const DefaultWindow = 30

// Reader builds turns.
type Reader struct {
	store  hippo.Store
	layout hippo.Layout
	index  *Index
	window int
	tokens func(string) int
}

// New makes a Reader over a store and the Index of the same store.
func New(store hippo.Store, layout hippo.Layout, index *Index, options Options) *Reader {
	if options.Window == 0 {
		options.Window = DefaultWindow
	}
	return &Reader{store: store, layout: layout, index: index, window: options.Window, tokens: options.Tokens}
}

// Request asks for the turn of a thread.
type Request struct {
	Tenant hippo.TenantID
	Thread hippo.ThreadID
	// Message is the new message; nil where there is none. One whose id is stored
	// already is shown once.
	Message *hippo.Message
}

// BlockKind names a part of the turn.
type BlockKind string

// The parts of a turn, in the order in which they stand.
const (
	MemoryList   BlockKind = "memory_list"
	BufferBlock  BlockKind = "buffer"
	RecentBlock  BlockKind = "recent_messages"
	MessageBlock BlockKind = "new_message"
)

// Block is one part of what the model sees: text of ours, or messages.
type Block struct {
	Kind     BlockKind       `json:"block"`
	Text     string          `json:"text,omitempty"`
	Lines    []Line          `json:"lines,omitempty"`
	Messages []hippo.Message `json:"messages,omitempty"`
	Tokens   int             `json:"tokens"`
}

// Turn is what the model sees, and what it cost.
type Turn struct {
	Tenant hippo.TenantID `json:"tenant"`
	Thread hippo.ThreadID `json:"thread"`
	Blocks []Block        `json:"blocks"`
	Ledger Ledger         `json:"ledger"`
}

// Ledger is what a turn cost.
type Ledger struct {
	// Tokens is by block, with the sum under "total".
	Tokens map[string]int `json:"tokens"`
	// Index says where the list is from.
	Index Source `json:"index"`
	// Memories counts what the agent knows, Listed what of it the list shows.
	Memories int `json:"memories"`
	Listed   int `json:"listed"`
	// Reads is what was read, by query.
	Reads     []hippo.Reads `json:"reads"`
	Documents int           `json:"documents"`
	Bytes     int64         `json:"bytes"`
	// Blocked counts buffer lines that the scan keeps out of sight.
	Blocked int `json:"blocked_lines"`
	// BlockedNames counts memories that the list would show, did the scan not
	// refuse their names.
	BlockedNames int `json:"blocked_names"`
	// BlockedPointers counts names of memories that a line would show, and
	// BlockedSpeakers messages whose speaker would be shown, did the scan not
	// refuse them.
	BlockedPointers int `json:"blocked_pointers"`
	// DroppedPointers counts pointers of shown lines that lead to no memory that the
	// list knows.
	DroppedPointers int `json:"dropped_pointers"`
	BlockedSpeakers int `json:"blocked_speakers"`
	// Milliseconds is by stage.
	Milliseconds map[string]float64 `json:"milliseconds"`
}

// Turn builds the turn. A thread that does not exist has an empty one.
func (r *Reader) Turn(ctx context.Context, req Request) (Turn, error) {
	var meter hippo.Meter
	ctx = hippo.WithMeter(ctx, &meter)
	w := &work{Reader: r, req: req, stages: map[string]float64{}}
	if err := w.read(ctx); err != nil {
		return Turn{}, err
	}
	turn := Turn{Tenant: req.Tenant, Thread: req.Thread, Blocks: w.blocks()}
	total := meter.Total()
	turn.Ledger = Ledger{
		Tokens: map[string]int{}, Index: w.source, Memories: w.known.Len(), Listed: w.known.block.Shown, BlockedNames: w.known.block.Blocked,
		Reads: meter.ByQuery(), Documents: total.Documents, Bytes: total.Bytes, Blocked: w.buffer.Blocked, Milliseconds: w.stages,
	}
	turn.Ledger.BlockedPointers, turn.Ledger.BlockedSpeakers = w.buffer.Withheld, w.unnamed
	turn.Ledger.DroppedPointers = w.buffer.Dropped
	for _, b := range turn.Blocks {
		turn.Ledger.Tokens[string(b.Kind)] += b.Tokens
		turn.Ledger.Tokens["total"] += b.Tokens
	}
	return turn, nil
}

// work is one turn being built.
type work struct {
	*Reader
	req      Request
	known    *Known
	source   Source
	messages []hippo.Message
	buffer   Buffer
	// unnamed counts the messages that are shown without their speaker.
	unnamed int

	mu     sync.Mutex
	stages map[string]float64
}

// read reads the list and the messages at the same time, then the buffer where
// something lies before the window.
func (w *work) read(ctx context.Context) error {
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		defer w.time("list")()
		w.known, w.source, err = w.index.Known(both, w.req.Tenant)
		return err
	})
	group.Go(func() (err error) {
		defer w.time("messages")()
		w.messages, err = w.store.RecentMessages(both, w.req.Tenant, w.req.Thread, w.window+1)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if len(w.messages) <= w.window {
		return nil
	}
	defer w.time("buffer")()
	w.messages = w.messages[1:]
	episodes, gap, err := w.readBuffer(ctx, w.req.Tenant, w.req.Thread, w.messages[0].Position())
	if err != nil {
		return err
	}
	w.buffer, err = w.render(ctx, w.req.Tenant, episodes, gap, w.known)
	return err
}

func (w *work) time(stage string) func() {
	start := time.Now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stages[stage] = float64(time.Since(start).Microseconds()) / 1000
	}
}

// blocks lays the turn out; a part that is empty is not there.
func (w *work) blocks() []Block {
	blocks := []Block{}
	if text := w.known.block.Text; text != "" {
		blocks = append(blocks, Block{Kind: MemoryList, Text: text, Tokens: w.tokens(text)})
	}
	if text := w.buffer.Text; text != "" {
		blocks = append(blocks, Block{Kind: BufferBlock, Text: text, Lines: w.buffer.Lines, Tokens: w.tokens(text)})
	}
	recent := w.messages
	if m := w.req.Message; m != nil {
		recent = slices.DeleteFunc(slices.Clone(recent), func(stored hippo.Message) bool { return stored.ID == m.ID })
	}
	if len(recent) > 0 {
		blocks = append(blocks, w.messageBlock(RecentBlock, recent))
	}
	if w.req.Message != nil {
		blocks = append(blocks, w.messageBlock(MessageBlock, []hippo.Message{*w.req.Message}))
	}
	return blocks
}

// messageBlock makes a block of messages, which become its own: a speaker's label
// that the scan refuses is taken away.
func (w *work) messageBlock(kind BlockKind, messages []hippo.Message) Block {
	b := Block{Kind: kind, Messages: messages}
	for i := range messages {
		m := &messages[i]
		if _, hit := textscan.Scan(m.Speaker); hit {
			m.Speaker = ""
			w.unnamed++
		}
		b.Tokens += w.tokens(messageText(*m))
	}
	return b
}

// messageText is everything of a message that a model reads.
func messageText(m hippo.Message) string {
	parts := []string{m.Speaker, m.Content}
	for _, c := range m.ToolCalls {
		parts = append(parts, c.Name, c.Arguments)
	}
	return strings.Join(parts, "")
}
