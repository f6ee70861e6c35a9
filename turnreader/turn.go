// Package turnreader builds what a model sees in a turn: the list of what the
// agent knows, one line for each stretch that scrolled out of view, and the
// recent messages, within a budget. What that costs does not depend on how much
// the agent knows or how long the thread is.
package turnreader

import (
	"context"
	"time"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tokens"
)

// Options are what a Reader can be told; zero values are the defaults.
type Options struct {
	// Window is how many of the latest messages a turn replays; 30 by default.
	Window int
	// Tokens counts what a text costs, where a request names no other counter.
	Tokens tokens.Counter
	// Deadline is how long a turn waits for what it reads; 5 seconds by default.
	Deadline time.Duration
}

// The defaults of Options.
const (
	DefaultWindow   = 30
	DefaultDeadline = 5 * time.Second
)

// Reader builds turns.
type Reader struct {
	store    hippo.Store
	layout   hippo.Layout
	index    *Index
	window   int
	tokens   tokens.Counter
	deadline time.Duration
}

// New makes a Reader over a store and the Index of the same store.
func New(store hippo.Store, layout hippo.Layout, index *Index, options Options) *Reader {
	if options.Window == 0 {
		options.Window = DefaultWindow
	}
	if options.Deadline == 0 {
		options.Deadline = DefaultDeadline
	}
	if options.Tokens == nil {
		options.Tokens = tokens.FourChars
	}
	return &Reader{store: store, layout: layout, index: index, window: options.Window, tokens: options.Tokens, deadline: options.Deadline}
}

// Request asks for the turn of a thread.
type Request struct {
	Tenant hippo.TenantID
	Thread hippo.ThreadID
	// Message is the new message; nil where there is none. One whose id is stored
	// already is shown once.
	Message *hippo.Message
	// System is the caller's own text, which comes first.
	System string
	// Facts are what the caller recalled for this turn, the best first.
	Facts []string
	// Budget is what the turn may cost, in tokens; nil where it has no bound.
	Budget *int
	// Tokens counts; nil is the Reader's counter.
	Tokens tokens.Counter
	// Contract says what the turn may carry; nil is contract.Default.
	Contract *contract.Contract
}

// BlockKind names a part of the turn.
type BlockKind = contract.Block

// The parts of a turn, in the order in which they stand.
const (
	SystemBlock  = contract.SystemText
	MemoryList   = contract.MemoryList
	FactsBlock   = contract.RecalledFacts
	BufferBlock  = contract.Buffer
	RecentBlock  = contract.RecentMessages
	MessageBlock = contract.NewMessage
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

// None is the source of a list that was not read.
const None Source = "none"

// Ledger is what a turn cost, and what it does not show.
type Ledger struct {
	// Tokens is by block, with the sum under "total".
	Tokens map[string]int `json:"tokens"`
	// Budget is the bound that the turn was held to; absent where there was none.
	Budget *int `json:"budget,omitempty"`
	// Dropped lists what was left out or cut, and why.
	Dropped []Drop `json:"dropped,omitempty"`
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
	// BlockedPointers counts names of memories that a line would show, did the
	// scan not refuse them.
	BlockedPointers int `json:"blocked_pointers"`
	// DroppedPointers counts pointers of shown lines that lead to no memory that the
	// list knows.
	DroppedPointers int `json:"dropped_pointers"`
	// Milliseconds is by stage, with the whole under "total". Stages overlap.
	Milliseconds map[string]float64 `json:"milliseconds"`
}

// Why says why something is not shown, or not whole.
type Why string

// The reasons.
const (
	ByBudget    Why = "budget"       // there was no room for it
	ByCeiling   Why = "ceiling"      // its block is held to fewer tokens
	ByContract  Why = "contract"     // the contract does not include it
	ByWindow    Why = "window"       // the exchange it belongs to begins before the window
	Cut         Why = "cut"          // it alone is larger than the share of the messages
	Late        Why = "late"         // it did not come in time
	Unavailable Why = "unavailable"  // it could not be read
	UnknownRole Why = "unknown role" // no format has a role for it
	NoResult    Why = "no result"    // a tool call whose result is not shown
	NoCall      Why = "no call"      // a tool's result whose call is not shown
	Scanned     Why = "scan"         // a speaker's label that reads like an instruction
)

// Drop is something that the turn does not show, or not whole.
type Drop struct {
	Block BlockKind `json:"block"`
	Why   Why       `json:"why"`
	// Count is of messages, calls, names, facts or lines; absent where the whole
	// block is not there.
	Count int `json:"count,omitempty"`
	// Tokens is what it would have cost, where that is known.
	Tokens int `json:"tokens,omitempty"`
}

// Turn builds the turn. A thread that does not exist has an empty one. Its error
// is Invalid where the new message answers no call that is shown, OverBudget where
// what may not be cut is too large, and Unavailable where the messages are late.
func (r *Reader) Turn(ctx context.Context, req Request) (Turn, error) {
	var meter hippo.Meter
	w := newWork(r, req)
	done := w.time("total")
	if err := w.build(hippo.WithMeter(ctx, &meter)); err != nil {
		return Turn{}, err
	}
	turn := Turn{Tenant: req.Tenant, Thread: req.Thread, Blocks: w.blocks()}
	done()
	turn.Ledger = w.ledger(turn.Blocks)
	total := meter.Total()
	turn.Ledger.Reads, turn.Ledger.Documents, turn.Ledger.Bytes = meter.ByQuery(), total.Documents, total.Bytes
	return turn, nil
}
