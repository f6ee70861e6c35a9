package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/importer"
)

// replay saves a conversation and records a pass for each stretch: of a session
// where size is 0, else of size messages. What is left at the end of the
// conversation and is no whole stretch has had no pass yet.
func replay(ctx context.Context, app *functions.App, c importer.Conversation, size int) error {
	var messages []functions.Message
	var facts []importer.Fact
	var ends []int // of stretches, in messages
	for _, s := range c.Sessions {
		messages = append(messages, c.Messages(s)...)
		facts = append(facts, s.Facts...)
		if size == 0 && len(s.Turns) > 0 {
			ends = append(ends, len(messages))
		}
	}
	for end := size; size > 0 && end <= len(messages); end += size {
		ends = append(ends, end)
	}
	for chunk := range slices.Chunk(messages, hippo.MaxMessages) {
		if _, err := app.Save(ctx, functions.SaveRequest{ThreadRef: ref(c), Messages: chunk}); err != nil {
			return err
		}
	}
	from := 0
	for n, end := range ends {
		if _, err := app.Record(ctx, pass(c, n, messages[from:end], facts)); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// pass is what a memory pass would file about messages: a memory for each speaker
// with the facts learnt about them there, and the first of these facts as the
// line. A stretch from which nothing was learnt has no line.
func pass(c importer.Conversation, n int, messages []functions.Message, facts []importer.Fact) episodewriter.Request {
	at := make(map[string]int)
	for i, m := range messages {
		at[m.ID] = i
	}
	type placed struct {
		importer.Fact
		at int
	}
	var learnt []placed
	for _, f := range facts {
		first := len(messages)
		for _, turn := range f.Turns {
			if i, ok := at[turn]; ok {
				first = min(first, i)
			}
		}
		if first < len(messages) {
			learnt = append(learnt, placed{f, first})
		}
	}
	slices.SortStableFunc(learnt, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	req := episodewriter.Request{
		Tenant: hippo.TenantID(c.SampleID), Thread: importer.LocomoThread,
		From: hippo.MessageID(messages[0].ID), To: hippo.MessageID(messages[len(messages)-1].ID),
	}
	for _, f := range learnt {
		if req.Episode == "" {
			req.Episode = f.Text
		}
		name := fmt.Sprintf("%s/stretch %03d", f.Speaker, n+1)
		i := slices.IndexFunc(req.Writes, func(w episodewriter.Write) bool { return w.Name == name })
		if i < 0 {
			i = len(req.Writes)
			req.Writes = append(req.Writes, episodewriter.Write{Name: name})
		}
		req.Writes[i].Content += "- " + f.Text + "\n"
	}
	return req
}
