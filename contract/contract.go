// Package contract says what a turn may carry: which blocks, how much each of
// them and the whole may cost, and which go first where that is too little.
// Contracts are written in YAML; docs/contract.schema.json describes the form.
package contract

import (
	"cmp"
	"maps"
	"slices"
)

// Block names a part of a turn.
type Block string

// The blocks, in the order in which they stand in a turn.
const (
	SystemText     Block = "system_text"
	MemoryList     Block = "memory_list"
	RecalledFacts  Block = "recalled_facts"
	Buffer         Block = "buffer"
	RecentMessages Block = "recent_messages"
	NewMessage     Block = "new_message"
)

// Blocks lists all of them in that order.
var Blocks = []Block{SystemText, MemoryList, RecalledFacts, Buffer, RecentMessages, NewMessage}

// Given says whether a block is what the caller gave for this very turn. Such a
// block is in every turn and is never cut, so that it has no rank; a contract can
// only say how much of it is too much.
func (b Block) Given() bool { return b == SystemText || b == NewMessage }

// Rule is what a contract says of a block.
type Rule struct {
	// Rank orders the blocks: where the whole is too large, the lowest goes first.
	Rank int
	// MaxTokens is the block's ceiling; nil where it has none.
	MaxTokens *int
}

// Contract is what a turn may carry.
type Contract struct {
	// MaxTokens is the ceiling of the whole; nil where it has none.
	MaxTokens *int
	Include   map[Block]Rule
}

// Default is the contract of a turn that names none: everything, without a
// ceiling. The list goes first, since a tool can page through it; then the
// buffer; then what the caller thought worth recalling; then the messages.
func Default() Contract {
	return Contract{Include: map[Block]Rule{
		MemoryList: {Rank: 10}, Buffer: {Rank: 20}, RecalledFacts: {Rank: 30}, RecentMessages: {Rank: 40},
	}}
}

// Includes says whether a turn may carry the block.
func (c Contract) Includes(b Block) bool {
	_, ok := c.Include[b]
	return ok || b.Given()
}

// Ranked lists the blocks that can be left out, the one that goes first first.
func (c Contract) Ranked() []Block {
	ranked := slices.DeleteFunc(slices.Collect(maps.Keys(c.Include)), Block.Given)
	slices.SortFunc(ranked, func(a, b Block) int { return cmp.Compare(c.Include[a].Rank, c.Include[b].Rank) })
	return ranked
}
