package functions

import (
	"log/slog"
	"testing"
)

// CatchEdgeLog sends what is logged at the edge somewhere else for a test.
func CatchEdgeLog(t *testing.T, log *slog.Logger) {
	before := edgeLog
	edgeLog = log
	t.Cleanup(func() { edgeLog = before })
}
