package turnreader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
)

// text is a block of text: fenced lines, of which the last ones can be left out.
type text struct {
	s      string
	tokens int
	// lines counts the names or facts that it shows.
	lines int
}

func listText(k *Known) text {
	return text{s: k.block.Text, lines: k.block.Shown}
}

// factsText is the block of what the caller recalled.
func factsText(facts []string, c contract.Contract) text {
	if len(facts) == 0 || !c.Includes(FactsBlock) {
		return text{}
	}
	b := prompttext.Block{
		Title: "RECALLED FACTS",
		Note:  "What was looked up for this turn. It is from the agent's own records; it is not the user's words.",
	}
	for _, f := range facts {
		b.Lines = append(b.Lines, item+f)
	}
	return text{s: b.String(), lines: len(facts)}
}

// item is what a line of a block begins with that stands for a name or a fact.
const item = "- "

// fitTexts counts the list and the facts and holds them to their ceilings.
func (w *work) fitTexts() {
	defer w.time("fit")()
	if len(w.req.Facts) > 0 && !w.contract.Includes(FactsBlock) {
		w.drop(FactsBlock, ByContract, len(w.req.Facts), 0)
	}
	w.list = w.fitText(MemoryList, w.list)
	w.facts = w.fitText(FactsBlock, factsText(w.req.Facts, w.contract))
}

// fitText counts a block and shortens it to its ceiling, from its end.
func (w *work) fitText(b BlockKind, t text) text {
	t.tokens = w.textTokens(t.s)
	ceiling := w.ceiling(b)
	if t.tokens <= ceiling {
		return t
	}
	why := ByCeiling
	if w.contract.Include[b].MaxTokens == nil {
		why = ByBudget
	}
	short, left := w.shorten(t.s, ceiling)
	if left == t.lines || left == 0 {
		w.drop(b, why, 0, t.tokens)
		return text{}
	}
	cost := w.textTokens(short)
	w.drop(b, why, left, t.tokens-cost)
	return text{s: short, tokens: cost, lines: t.lines - left}
}

// shorten leaves out the last items of a fenced block until it costs no more than
// limit, says in it how many, and returns that number.
func (w *work) shorten(block string, limit int) (string, int) {
	lines := strings.Split(block, "\n")
	isItem := func(l string) bool { return strings.HasPrefix(l, item) }
	first := slices.IndexFunc(lines, isItem)
	if first < 0 {
		return block, 0
	}
	items := 0
	for first+items < len(lines) && isItem(lines[first+items]) {
		items++
	}
	frame := slices.Concat(lines[:first], []string{leftOut(items)}, lines[first+items:])
	used, shown := w.textTokens(strings.Join(frame, "\n")), 0
	for shown < items && used+w.count(lines[first+shown]+"\n") <= limit {
		used += w.count(lines[first+shown] + "\n")
		shown++
	}
	short := slices.Concat(lines[:first+shown], []string{leftOut(items - shown)}, lines[first+items:])
	return strings.Join(short, "\n"), items - shown
}

func leftOut(n int) string { return fmt.Sprintf("Left out for want of room: %d more.", n) }

// shortenBuffer leaves out the buffer's oldest lines, but not its first, until it
// fits into room. What is left out then stands in the gap.
func (w *work) shortenBuffer(room int) {
	b := &w.buffer
	full, left := w.textTokens(b.Text), 0
	for w.textTokens(b.Text) > room {
		at := b.gapAt
		if at >= len(b.Lines) {
			w.drop(BufferBlock, w.bufferWhy(), 0, full)
			w.buffer = Buffer{Blocked: b.Blocked}
			return
		}
		b.Lines = slices.Delete(slices.Clone(b.Lines), at, at+1)
		b.Gap = true
		b.Text = b.block()
		left++
	}
	if left > 0 {
		w.drop(BufferBlock, w.bufferWhy(), left, full-w.textTokens(b.Text))
	}
}

func (w *work) bufferWhy() Why {
	if w.contract.Include[BufferBlock].MaxTokens != nil {
		return ByCeiling
	}
	return ByBudget
}

// blocks lays the turn out: first what stays the same from turn to turn, then what
// changes, the new message last. A part that is empty is not there.
func (w *work) blocks() []Block {
	blocks := []Block{}
	add := func(b Block) {
		if b.Text != "" && !w.plan.out[b.Kind] {
			blocks = append(blocks, b)
		}
	}
	add(Block{Kind: SystemBlock, Text: w.req.System, Tokens: w.given[SystemBlock]})
	add(Block{Kind: MemoryList, Text: w.list.s, Tokens: w.list.tokens})
	add(Block{Kind: FactsBlock, Text: w.facts.s, Tokens: w.facts.tokens})
	add(Block{Kind: BufferBlock, Text: w.buffer.Text, Lines: w.buffer.Lines, Tokens: w.textTokens(w.buffer.Text)})
	recent := Block{Kind: RecentBlock}
	for _, u := range w.plan.units {
		recent.Messages = append(recent.Messages, u.messages...)
		recent.Tokens += u.tokens
	}
	if len(recent.Messages) > 0 {
		blocks = append(blocks, recent)
	}
	if m := w.req.Message; m != nil {
		blocks = append(blocks, Block{Kind: MessageBlock, Messages: []hippo.Message{w.label(MessageBlock, *m)}, Tokens: w.given[MessageBlock]})
	}
	return blocks
}

// ledger is what the blocks cost, but for what was read.
func (w *work) ledger(blocks []Block) Ledger {
	l := Ledger{Tokens: map[string]int{}, Budget: w.limit, Dropped: w.dropped, Index: w.source, Blocked: w.buffer.Blocked, BlockedPointers: w.buffer.Withheld, DroppedPointers: w.buffer.Dropped, Milliseconds: map[string]float64{}}
	for stage, took := range w.stages {
		l.Milliseconds[stage] = float64(took.Microseconds()) / 1000
	}
	if w.known != nil {
		l.Memories, l.BlockedNames = w.known.Len(), w.known.block.Blocked
	}
	for _, b := range blocks {
		l.Tokens[string(b.Kind)] += b.Tokens
		l.Tokens["total"] += b.Tokens
		if b.Kind == MemoryList {
			l.Listed = w.list.lines
		}
	}
	return l
}
