package functions

import (
	"context"
	"fmt"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/format"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/tokens"
	"github.com/hippofire/hippofire/tools"
	"github.com/hippofire/hippofire/turnreader"
)

// TurnRequest asks for a turn.
type TurnRequest struct {
	ThreadRef
	// Message is the new message. One that is stored already is shown once.
	Message *Message `json:"message,omitempty"`
	// System is the caller's own text, which comes first.
	System string `json:"system,omitempty"`
	// Facts are what the caller recalled for this turn, the best first.
	Facts []string `json:"facts,omitempty"`
	// Budget is how many tokens the turn may cost; without it there is no bound.
	Budget *int `json:"budget,omitempty"`
	// Tokenizer names what counts tokens: chars4, o200k or cl100k; the configured one
	// where it is absent.
	Tokenizer string `json:"tokenizer,omitempty"`
	// Contract names a configured contract.
	Contract string `json:"contract,omitempty"`
	// ContractInline is a contract by itself, in YAML.
	ContractInline string `json:"contract_inline,omitempty"`
	// Format names the form of the answer: blocks, openai, anthropic or gemini; blocks
	// where it is absent.
	Format string `json:"format,omitempty"`
	// Tools asks for the definitions of the tools that the model can be given.
	Tools bool `json:"tools,omitempty"`
}

// TurnResponse is a turn in the format that was asked for.
type TurnResponse struct {
	Tenant hippo.TenantID `json:"tenant"`
	Thread hippo.ThreadID `json:"thread"`
	Format format.Format  `json:"format"`
	// Blocks are the turn as it is; absent in a provider's format.
	Blocks []turnreader.Block `json:"blocks,omitzero"`
	// Body is the part of a provider's request that the turn makes.
	Body any `json:"body,omitempty"`
	// Tools are the tools' definitions as they are; in a provider's format they
	// stand in the body.
	Tools  []tools.Tool      `json:"tools,omitempty"`
	Ledger turnreader.Ledger `json:"ledger"`
}

// Turn builds what a model is to see in a turn of a thread.
func (a *App) Turn(ctx context.Context, req TurnRequest) (TurnResponse, error) {
	form, err := format.Parse(req.Format)
	if err != nil {
		return TurnResponse{}, hippo.InField(err, "format")
	}
	ask, err := a.turnRequest(req)
	if err != nil {
		return TurnResponse{}, err
	}
	turn, err := a.reader.Turn(ctx, ask)
	if err != nil {
		return TurnResponse{}, err
	}
	a.logTurn(ctx, turn, form, req.Contract)
	resp := TurnResponse{Tenant: turn.Tenant, Thread: turn.Thread, Format: form, Ledger: turn.Ledger}
	out := rendered(turn)
	if req.Tools {
		out.Tools = tools.All
	}
	if resp.Body = form.Body(out); resp.Body == nil {
		resp.Blocks, resp.Tools = turn.Blocks, out.Tools
	}
	return resp, nil
}

// logTurn writes the turn's ledger to the log.
func (a *App) logTurn(ctx context.Context, turn turnreader.Turn, form format.Format, named string) {
	l := turn.Ledger
	fields := []any{"tenant", turn.Tenant, "thread", turn.Thread, "format", form, "contract", named, "index", l.Index,
		"memories", l.Memories, "listed", l.Listed, "tokens", l.Tokens, "dropped", l.Dropped, "reads", l.Reads,
		"documents", l.Documents, "bytes", l.Bytes, "blocked_lines", l.Blocked, "blocked_names", l.BlockedNames, "blocked_pointers", l.BlockedPointers,
		"dropped_pointers", l.DroppedPointers, "milliseconds", l.Milliseconds}
	if l.Budget != nil {
		fields = append(fields, "budget", *l.Budget)
	}
	a.log.InfoContext(ctx, "turn", fields...)
}

// turnRequest checks what was asked for; its errors name the field.
func (a *App) turnRequest(req TurnRequest) (turnreader.Request, error) {
	tenant, thread, err := req.ids()
	ask := turnreader.Request{Tenant: tenant, Thread: thread, System: req.System, Facts: req.Facts, Budget: req.Budget}
	if err != nil {
		return ask, err
	}
	if req.Message != nil {
		m, err := req.Message.message("message")
		if err != nil {
			return ask, err
		}
		ask.Message = &m
	}
	if req.Budget != nil && *req.Budget < 0 {
		return ask, hippo.Errorf(hippo.Invalid, "budget", "%d is negative", *req.Budget)
	}
	for i, fact := range req.Facts {
		if fact == "" {
			return ask, hippo.Errorf(hippo.Invalid, fmt.Sprintf("facts[%d]", i), "is missing")
		}
	}
	if req.Tokenizer != "" {
		if ask.Tokens, err = tokens.ByName(req.Tokenizer); err != nil {
			return ask, hippo.InField(err, "tokenizer")
		}
	}
	ask.Contract, err = a.chosenContract(req)
	return ask, err
}

// chosenContract is the contract that a request names or holds; nil for neither.
func (a *App) chosenContract(req TurnRequest) (*contract.Contract, error) {
	switch {
	case req.Contract != "" && req.ContractInline != "":
		return nil, hippo.Errorf(hippo.Invalid, "contract_inline", "cannot stand beside contract")
	case req.ContractInline != "":
		c, err := contract.Parse([]byte(req.ContractInline))
		return &c, hippo.Under(err, "contract_inline")
	case req.Contract != "":
		c, ok := a.contracts[req.Contract]
		if !ok {
			return nil, hippo.Errorf(hippo.Invalid, "contract", "no contract of the name %q is configured", req.Contract)
		}
		return &c, nil
	}
	return nil, nil
}

// rendered parts a turn by what its formats tell apart.
func rendered(turn turnreader.Turn) format.Turn {
	var out format.Turn
	for _, b := range turn.Blocks {
		switch b.Kind {
		case turnreader.FactsBlock:
			out.Changing = b.Text
		case turnreader.BufferBlock:
			out.Buffer = b.Text
		case turnreader.RecentBlock, turnreader.MessageBlock:
			out.Messages = append(out.Messages, b.Messages...)
		default:
			out.Stable = append(out.Stable, b.Text)
		}
	}
	return out
}
