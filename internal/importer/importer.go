// Package importer loads conversations from files through the functions, as an
// agent's backend would have saved them.
package importer

import (
	"context"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
)

// Backend is the part of the functions that an import calls.
type Backend interface {
	Save(ctx context.Context, req functions.SaveRequest) (functions.SaveResponse, error)
	Record(ctx context.Context, req episodewriter.Request) (episodewriter.Response, error)
}

// Summary counts what an import did.
type Summary struct {
	Messages int `json:"messages_created"`
	Existing int `json:"messages_existing"`
	Passes   int `json:"passes_recorded"`
	Repeated int `json:"passes_repeated"`
	Memories int `json:"memories_written"`
}

// save sends messages in runs as long as one SaveTurn takes.
func (s *Summary) save(ctx context.Context, to Backend, tenant, thread string, messages []functions.Message) error {
	for len(messages) > 0 {
		n := fits(messages)
		resp, err := to.Save(ctx, functions.SaveRequest{ThreadRef: functions.ThreadRef{Tenant: tenant, Thread: thread}, Messages: messages[:n]})
		if err != nil {
			return err
		}
		s.Messages += len(resp.Created)
		s.Existing += resp.Existing
		messages = messages[n:]
	}
	return nil
}

// fits is how many of the messages go into one SaveTurn.
func fits(messages []functions.Message) int {
	bytes := 0
	for n, m := range messages {
		bytes += hippo.Message{Content: m.Content, Speaker: m.Speaker, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}.Bytes()
		if n == hippo.MaxMessages || n > 0 && bytes > hippo.MaxSaveBytes {
			return n
		}
	}
	return len(messages)
}

func (s *Summary) record(ctx context.Context, to Backend, req episodewriter.Request) error {
	resp, err := to.Record(ctx, req)
	switch {
	case err != nil:
		return err
	case resp.Repeated:
		s.Repeated++
	case resp.Written:
		s.Passes++
		s.Memories += len(req.Writes)
	}
	return nil
}
