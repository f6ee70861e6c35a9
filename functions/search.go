package functions

import (
	"context"

	"github.com/hippofire/hippofire/history"
)

// Search finds the messages of a thread that say certain words.
func (a *App) Search(ctx context.Context, req history.SearchRequest) (history.SearchResponse, error) {
	resp, err := a.history.Search(ctx, req)
	if err == nil {
		a.log.InfoContext(ctx, "history searched", "tenant", req.Tenant, "thread", req.Thread, "terms", len(resp.Terms), "hits", len(resp.Hits),
			"whole_thread", resp.WholeThread, "documents", resp.Documents, "bytes", resp.Bytes)
	}
	return resp, err
}
