package importer_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/importer"
)

// checks is a backend that only looks at what it gets.
type checks struct{ *testing.T }

func (c checks) Save(_ context.Context, req functions.SaveRequest) (functions.SaveResponse, error) {
	if _, err := hippo.NewTenantID(req.Tenant); err != nil {
		c.Errorf("a message of the tenant %q is sent", req.Tenant)
	}
	if len(req.Messages) == 0 || len(req.Messages) > hippo.MaxMessages {
		c.Errorf("%d messages are sent at once", len(req.Messages))
	}
	return functions.SaveResponse{}, nil
}

func (c checks) Record(context.Context, episodewriter.Request) (episodewriter.Response, error) {
	return episodewriter.Response{}, nil
}

// FuzzImport reads any file. Nothing may panic, and what is sent is what the
// functions take.
func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":"x","created_at":"2026-10-01T10:00:00Z"}` + "\n"))
	f.Add([]byte(`[{"sample_id":"1","conversation":{"speaker_a":"A","speaker_b":"B","session_1":[{"speaker":"A","dia_id":"D1:1","text":"x"}]}}]`))
	f.Add([]byte("{\"tenant\":\"a/b\"}\n\xff\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		importer.Messages(t.Context(), checks{t}, bytes.NewReader(file), func(int) {})
		if conversations, err := importer.ReadLocomo(bytes.NewReader(file)); err == nil {
			for _, c := range conversations {
				for _, s := range c.Sessions {
					c.Messages(s)
					c.Pass(s)
				}
			}
		} else if strings.TrimSpace(err.Error()) == "" {
			t.Error("an error that says nothing")
		}
	})
}
