package functions

import (
	"context"

	"github.com/hippofire/hippofire/history"
)

// OpenStretch reads the messages behind a line of the buffer.
func (a *App) OpenStretch(ctx context.Context, req history.StretchRequest) (history.StretchResponse, error) {
	return a.history.Stretch(ctx, req)
}
