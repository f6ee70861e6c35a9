package functions

import (
	"context"

	"github.com/hippofire/hippofire/turnreader"
)

// List lists the names of what a tenant knows, or says which of some are known.
func (a *App) List(ctx context.Context, req turnreader.ListRequest) (turnreader.ListResponse, error) {
	resp, err := a.index.List(ctx, req)
	if err == nil {
		a.log.InfoContext(ctx, "memories listed", "tenant", req.Tenant, "index", resp.Index, "names", len(resp.Memories),
			"total", resp.Total, "blocked_names", resp.BlockedNames, "documents", resp.Documents, "bytes", resp.Bytes)
	}
	return resp, err
}
