package turnreader_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/turnreader"
)

func TestBlockThatTheContractDoesNotIncludeIsNeverRead(t *testing.T) {
	queries := map[contract.Block][]string{
		contract.MemoryList: {"ReadIndex", "ReadIndexSince"}, contract.Buffer: {"FirstEpisode", "EpisodesBefore", "Moves"}, contract.RecentMessages: {"RecentMessages"},
	}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newReader(f)
		f.EmptyIndex()
		messages := r.thread(60, 0)
		r.episode(messages[0], messages[5], "stretch 0", "pages/a")
		for left := range queries {
			c := contract.Default()
			delete(c.Include, left)
			turn := r.ask(turnreader.Request{Contract: &c})
			for _, read := range turn.Ledger.Reads {
				if slices.Contains(queries[left], read.Query) && !(left == contract.MemoryList && len(block(turn, contract.Buffer).Lines) > 0) {
					t.Errorf("without %s: %s was called", left, read.Query)
				}
			}
			if b := block(turn, left); b.Tokens != 0 {
				t.Errorf("%s is there all the same", left)
			}
			for other := range queries {
				if other != left && block(turn, other).Tokens == 0 {
					t.Errorf("without %s there is no %s", left, other)
				}
			}
		}
		only := &contract.Contract{Include: map[contract.Block]contract.Rule{contract.RecentMessages: {Rank: 1}}}
		turn := r.ask(turnreader.Request{Contract: only, Facts: []string{"x"}})
		if len(turn.Ledger.Reads) != 1 || turn.Ledger.Reads[0].Query != "RecentMessages" || turn.Ledger.Index != turnreader.None || dropped(turn) != "recalled_facts 1 contract" {
			t.Errorf("reads %v, index %s, dropped %s", turn.Ledger.Reads, turn.Ledger.Index, dropped(turn))
		}
	})
}

func TestOnOverflowTheLowestRankGoesFirst(t *testing.T) {
	r := newReader(fixture.Embedded(t))
	r.EmptyIndex()
	r.indexed(fixture.Names(40)...)
	r.say("user: "+words(50), "assistant: "+words(50))
	wide := tokensOf(1000)
	ranks := func(list, facts int) *contract.Contract {
		return &contract.Contract{Include: map[contract.Block]contract.Rule{
			contract.MemoryList: {Rank: list, MaxTokens: wide}, contract.RecalledFacts: {Rank: facts, MaxTokens: wide}, contract.RecentMessages: {Rank: 9},
		}}
	}
	ask := turnreader.Request{Facts: []string{words(150)}}
	full := r.ask(ask)
	ask.Budget = tokensOf(full.Ledger.Tokens["total"] - 90) // the messages give way to a quarter, and that is not enough
	for _, test := range []struct {
		c    *contract.Contract
		want string
	}{
		{ranks(1, 2), "memory_list 0 budget"},
		{ranks(2, 1), "recalled_facts 0 budget"},
	} {
		ask.Contract = test.c
		turn := r.ask(ask)
		if got := dropped(turn); got != test.want || shown(turn) != "m0 m1" {
			t.Errorf("dropped %s, want %s; shown %s", got, test.want, shown(turn))
		}
		if total := turn.Ledger.Tokens["total"]; total > *ask.Budget {
			t.Errorf("%d tokens of %d", total, *ask.Budget)
		}
	}
}

func TestBlockIsHeldToItsCeiling(t *testing.T) {
	r := newReader(fixture.Embedded(t))
	r.EmptyIndex()
	r.indexed(fixture.Names(100)...)
	r.say("user: "+words(50), "assistant: "+words(50), "user: "+words(50), "assistant: "+words(50))
	c := &contract.Contract{Include: map[contract.Block]contract.Rule{
		contract.MemoryList: {Rank: 1, MaxTokens: tokensOf(200)}, contract.RecalledFacts: {Rank: 2, MaxTokens: tokensOf(100)}, contract.RecentMessages: {Rank: 3, MaxTokens: tokensOf(150)},
		contract.SystemText: {MaxTokens: tokensOf(30)}, contract.NewMessage: {MaxTokens: tokensOf(60)},
	}}
	turn := r.ask(turnreader.Request{Contract: c, Facts: []string{words(30), words(30), words(30)}})
	for block, ceiling := range map[turnreader.BlockKind]int{turnreader.MemoryList: 200, turnreader.FactsBlock: 100, turnreader.RecentBlock: 150} {
		if got := turn.Ledger.Tokens[string(block)]; got > ceiling || got < ceiling/2 {
			t.Errorf("%s costs %d of %d", block, got, ceiling)
		}
	}
	names := listed(turn)
	if turn.Ledger.Listed != len(names) || len(names) < 20 || !strings.Contains(block(turn, turnreader.MemoryList).Text, fmt.Sprintf("\nLeft out for want of room: %d more.\n", 100-len(names))) {
		t.Errorf("%d names are listed, the ledger says %d: %s", len(names), turn.Ledger.Listed, block(turn, turnreader.MemoryList).Text)
	}
	if got, want := dropped(turn), fmt.Sprintf("memory_list %d ceiling, recalled_facts 2 ceiling, recent_messages 2 ceiling", 100-len(names)); got != want {
		t.Errorf("the ledger says %s, want %s", got, want)
	}
	for field, ask := range map[string]turnreader.Request{"system": {System: words(40)}, "message": {Message: newMessage("user: " + words(60))}} {
		ask.Contract = c
		if e := r.refused(ask); e.Kind != hippo.OverBudget || e.Field != field || e.Figures["needed"] == 0 {
			t.Errorf("%s: %v %v", field, e, e.Figures)
		}
	}
}
