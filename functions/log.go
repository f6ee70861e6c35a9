package functions

import (
	"io"
	"log/slog"
)

// NewLog makes a log of JSON lines with the field names that Cloud Logging reads
// a line's severity, message and trace from.
func NewLog(w io.Writer) *slog.Logger {
	return slog.New(newTraceHandler(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.LevelKey:
			a.Key = "severity"
			if a.Value.String() == slog.LevelWarn.String() {
				a.Value = slog.StringValue("WARNING")
			}
		case slog.MessageKey:
			a.Key = "message"
		}
		return a
	}})))
}
