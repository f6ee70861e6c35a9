package functions

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"os"
	"regexp"
)

// trace is what a request's headers say of the trace that it belongs to.
type trace struct{ id, span string }

type traceKey struct{}

var (
	// traceparent is W3C's header, cloudTrace the platform's older one.
	traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)
	cloudTrace  = regexp.MustCompile(`^([0-9a-f]{32})(?:/[0-9]{1,20})?(?:;o=[0-9])?$`)
)

// traced is the context of a request with the trace that its headers name.
func traced(r *http.Request) context.Context {
	if m := traceparent.FindStringSubmatch(r.Header.Get("Traceparent")); m != nil {
		return context.WithValue(r.Context(), traceKey{}, trace{m[1], m[2]})
	}
	if m := cloudTrace.FindStringSubmatch(r.Header.Get("X-Cloud-Trace-Context")); m != nil {
		return context.WithValue(r.Context(), traceKey{}, trace{id: m[1]})
	}
	return r.Context()
}

// traceHandler adds to each line the trace of its context, in the fields by which
// Cloud Logging shows a request's lines together.
type traceHandler struct {
	slog.Handler
	project string
}

func newTraceHandler(h slog.Handler) traceHandler {
	return traceHandler{h, cmp.Or(os.Getenv("GOOGLE_CLOUD_PROJECT"), os.Getenv("HIPPOFIRE_PROJECT"))}
}

// Handle is slog.Handler's.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if t, ok := ctx.Value(traceKey{}).(trace); ok {
		name := t.id
		if h.project != "" {
			name = "projects/" + h.project + "/traces/" + t.id
		}
		r = r.Clone()
		r.AddAttrs(slog.String("logging.googleapis.com/trace", name))
		if t.span != "" {
			r.AddAttrs(slog.String("logging.googleapis.com/spanId", t.span))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs), h.project}
}

// WithGroup is slog.Handler's.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name), h.project}
}
