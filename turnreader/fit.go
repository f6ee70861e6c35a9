package turnreader

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hippofire/hippofire/hippo"
)

// How a budget is divided where the contract does not say: each block of text is
// shortened to this part of it, and the messages keep this part before a block of
// a higher rank than theirs has to go.
const budgetPart = 4

// maxBufferRoom is the most that is set aside for a buffer where there is a budget:
// about what twelve lines with all their pointers cost.
const maxBufferRoom = 2000

// A message that alone is larger than the share of the messages counts as this part
// of it while the others are chosen, so that they have room beside it; but not as
// less than so many tokens, where the share has them. It then has what they leave.
const (
	cutPart = 4
	cutLeft = 64
)

// unbounded is the room where there is no bound.
const unbounded = math.MaxInt32

// plan is what a turn shows of what was read.
type plan struct {
	units []unit
	// out are the blocks that are left out.
	out map[BlockKind]bool
	// hidden counts messages that are left out, hiddenTokens what they cost.
	hidden, hiddenTokens int
	// share is what the messages have, part what one has that alone is larger.
	share, part int
}

// hides says whether messages are left out.
func (p plan) hides() bool { return p.hidden > 0 }

// ceiling is how many tokens a block may have.
func (w *work) ceiling(b BlockKind) int {
	if rule := w.contract.Include[b]; rule.MaxTokens != nil {
		return *rule.MaxTokens
	}
	if w.limit == nil || b == RecentBlock || b.Given() {
		return unbounded
	}
	return *w.limit / budgetPart
}

// bufferRoom is what is set aside for the buffer.
func (w *work) bufferRoom() int {
	room := w.ceiling(BufferBlock)
	if w.limit != nil {
		room = min(room, maxBufferRoom)
	}
	return room
}

// checkGiven counts the caller's own blocks, and refuses what can be seen to be too
// large before anything is read.
func (w *work) checkGiven() error {
	defer w.time("fit")()
	costs := w.given
	if w.req.System != "" {
		costs[SystemBlock] = w.textTokens(w.req.System)
	}
	if m := w.req.Message; m != nil {
		costs[MessageBlock] = w.messageTokens(*m)
	}
	for _, given := range []struct {
		block BlockKind
		field string
	}{{SystemBlock, "system"}, {MessageBlock, "message"}} {
		cost, ceiling := costs[given.block], w.ceiling(given.block)
		if cost > ceiling {
			return overBudget(given.field, fmt.Sprintf("needs %d tokens; the contract allows %d", cost, ceiling), ceiling, map[BlockKind]int{given.block: cost})
		}
	}
	return w.checkRequired(costs)
}

// checkRequired refuses what may not be cut where it alone is over the budget.
func (w *work) checkRequired(costs map[BlockKind]int) error {
	if w.limit == nil || total(costs) <= *w.limit {
		return nil
	}
	field := "budget"
	if w.req.Budget == nil || *w.req.Budget > *w.limit {
		field = "contract"
	}
	return overBudget(field, fmt.Sprintf("what may not be cut needs %d tokens; the budget is %d", total(costs), *w.limit), *w.limit, costs)
}

func overBudget(field, what string, bound int, costs map[BlockKind]int) error {
	figures := map[string]int{"budget": bound, "needed": total(costs)}
	for b, cost := range costs {
		figures[string(b)] = cost
	}
	return &hippo.Error{Kind: hippo.OverBudget, Field: field, Msg: what, Figures: figures}
}

func total(costs map[BlockKind]int) (sum int) {
	for _, cost := range costs {
		sum += cost
	}
	return sum
}

// fit decides what the turn shows where the buffer takes so many tokens. The
// messages have what the other blocks leave, in whole exchanges. Where that is less
// than their part, blocks go, the lowest rank first.
func (w *work) fit(buffer int) (plan, error) {
	defer w.time("fit")()
	p := plan{out: map[BlockKind]bool{}}
	required := maps.Clone(w.given)
	if u := w.window.pinned; u != nil {
		required[RecentBlock] = u.tokens
		if ceiling := w.ceiling(RecentBlock); u.tokens > ceiling {
			return p, overBudget("contract", fmt.Sprintf("the call that the new message answers needs %d tokens; the contract allows the recent messages %d", u.tokens, ceiling), ceiling, required)
		}
	}
	if err := w.checkRequired(required); err != nil {
		return p, err
	}
	share := w.ceiling(RecentBlock) - required[RecentBlock]
	if w.limit != nil {
		share = min(share, w.give(&p, *w.limit-total(required), buffer))
	}
	w.fill(&p, share)
	return p, nil
}

// give leaves out blocks until the others fit into room and the messages have
// their part, and returns what is left for the messages.
func (w *work) give(p *plan, room, buffer int) int {
	sizes := map[BlockKind]int{MemoryList: w.list.tokens, FactsBlock: w.facts.tokens, BufferBlock: buffer}
	messages := 0
	for _, u := range w.window.units {
		messages += u.tokens
	}
	messages = min(messages, *w.limit/budgetPart)
	for _, b := range w.contract.Ranked() {
		if total(sizes)+messages <= room {
			break
		}
		switch {
		case b == RecentBlock:
			messages = 0
		case sizes[b] > 0:
			p.out[b] = true
			delete(sizes, b)
		}
	}
	return max(0, room-total(sizes))
}

// fill takes as many of the latest messages as fit into the share.
func (w *work) fill(p *plan, share int) {
	p.share, p.part = share, max(share/cutPart, min(share, cutLeft))
	units := slices.Clone(w.window.units)
	for i, u := range units {
		units[i] = w.cut(u, share, p.part)
	}
	p.units = slices.Clip(newest(units, share))
	for _, u := range w.window.units[:len(units)-len(p.units)] {
		p.hidden += len(u.messages)
		p.hiddenTokens += u.tokens
	}
	if w.window.pinned != nil {
		p.units = append(p.units, *w.window.pinned)
	}
}

// cut shortens the messages of a unit that alone are larger than the share to so
// many tokens.
func (w *work) cut(u unit, share, to int) unit {
	if u.tokens <= share {
		return u
	}
	out := unit{tokens: u.tokens, messages: slices.Clone(u.messages)}
	for i, m := range u.messages {
		before := u.costs[i]
		if before <= share {
			continue
		}
		mark := fmt.Sprintf("\n[… cut here: %d tokens in all]", before)
		frame := m
		frame.Content = mark
		kept := w.count.Cut(m.Content, to-w.messageTokens(frame))
		if kept == "" || kept == m.Content {
			continue
		}
		out.messages[i].Content = kept + mark
		after := w.messageTokens(out.messages[i])
		out.tokens -= before - after
		out.cut++
		out.kept += after
		out.lost += before - after
	}
	return out
}

// spread gives messages that were cut what nothing else needs, the latest first.
// Which messages are shown stays the same.
func (w *work) spread(p *plan) {
	shown := len(p.units)
	if w.window.pinned != nil {
		shown--
	}
	whole := w.window.units[len(w.window.units)-shown:]
	spare := w.spare(*p)
	for i := shown - 1; i >= 0 && spare > 0; i-- {
		u := p.units[i]
		if u.cut == 0 {
			continue
		}
		more := w.cut(whole[i], p.share, (u.kept+spare)/u.cut)
		if cost := more.tokens - u.tokens; cost > 0 && cost <= spare {
			p.units[i] = more
			spare -= cost
		}
	}
}

// spare is what the messages could cost beside those that are shown.
func (w *work) spare(p plan) int {
	recent := 0
	for _, u := range p.units {
		recent += u.tokens
	}
	spare := w.ceiling(RecentBlock) - recent
	if w.limit == nil {
		return spare
	}
	others := total(w.given) + w.textTokens(w.buffer.Text)
	for b, t := range map[BlockKind]text{MemoryList: w.list, FactsBlock: w.facts} {
		if !p.out[b] {
			others += t.tokens
		}
	}
	return min(spare, *w.limit-others-recent)
}

// settle makes the plan the turn's, and notes what it does not show.
func (w *work) settle(p plan) {
	w.spread(&p)
	w.plan = p
	for _, b := range slices.Sorted(maps.Keys(p.out)) {
		w.drop(b, ByBudget, 0, map[BlockKind]int{MemoryList: w.list.tokens, FactsBlock: w.facts.tokens}[b])
	}
	if p.hidden > 0 {
		why := ByBudget
		if w.limit == nil {
			why = ByCeiling
		}
		w.drop(RecentBlock, why, p.hidden, p.hiddenTokens)
	}
	for _, u := range p.units {
		if u.cut > 0 {
			w.drop(RecentBlock, Cut, u.cut, u.lost)
		}
	}
}
