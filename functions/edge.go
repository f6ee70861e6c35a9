package functions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
)

// maxBody bounds a request's body. It holds the 3 MiB of the largest SaveTurn or
// RecordEpisode in whatever form a client writes JSON, which takes up to six bytes for
// one of the text (\u000a), and names and ids beside it. The platform's own limit is
// 32 MiB.
const maxBody = 20 << 20

// Problem is an error as RFC 9457 writes it, with the field at fault beside it.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field,omitempty"`
	// Figures are the numbers behind a refusal, by name, where there are any.
	Figures map[string]int `json:"figures,omitempty"`
}

// edgeLog takes what goes wrong at the edge, where there may be no App yet.
var edgeLog = NewLog(os.Stderr)

// serve answers one HTTP function: a POST of JSON that decodes strictly into the
// request, answered by JSON or by a problem.
func serve[Req, Resp any](w http.ResponseWriter, r *http.Request, answer func(context.Context, Req) (Resp, error)) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeProblem(w, http.StatusMethodNotAllowed, "", "this function takes POST, not "+r.Method)
		return
	}
	r = r.WithContext(withToken(traced(r), r))
	var req Req
	body, err := readBody(w, r, readWithin)
	if err == nil {
		err = decodeStrict(body, &req)
	}
	var resp Resp
	if err == nil {
		resp, err = answer(r.Context(), req)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, "application/json", resp)
}

// readWithin bounds the time in which a body has to arrive. The framework's server
// has no limit of its own, and a client that sends a byte now and then would hold
// one of the instance's requests for as long as the platform allows.
const readWithin = 20 * time.Second

// readBody reads a request's body within its limits. The deadline is lifted again
// afterwards: the server goes on reading to learn whether the client is still
// there, and would take a deadline that passes for its end.
func readBody(w http.ResponseWriter, r *http.Request, within time.Duration) ([]byte, error) {
	// A writer that cannot set a deadline has a server with limits of its own.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(within))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, hippo.Errorf(hippo.Unavailable, "", "the body did not arrive within %s", within)
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, err
}

// told says what a caller is told of an error: our own words, and not those of what
// it stands on, which name documents and more.
func told(err error) string {
	var e *hippo.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	ours := *e
	ours.Err = nil
	if cause, ok := e.Err.(*hippo.Error); ok {
		ours.Err = errors.New(told(cause))
	}
	return ours.Error()
}

// fail answers with the problem that err is. What is not the caller's to mend is
// logged too, and its details stay in the log.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		err = hippo.Errorf(hippo.TooLarge, "", "the body is larger than %d bytes", tooLarge.Limit)
	}
	kind := hippo.ErrorKindOf(err)
	p := Problem{Status: kind.HTTPStatus(), Detail: told(err)}
	var e *hippo.Error
	if errors.As(err, &e) {
		p.Field, p.Figures = e.Field, e.Figures
	}
	if kind == hippo.Unavailable || kind == hippo.Internal {
		edgeLog.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "kind", kind.String(), "error", err)
		p.Detail = "the store could not be reached or did not answer in time; the same request can be sent again"
		if kind == hippo.Internal {
			p.Detail = "something unforeseen happened; the log says more"
		}
		w.Header().Set("Retry-After", "1")
	}
	if errors.Is(err, errUnauthenticated) {
		p.Status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	p.write(w)
}

func writeProblem(w http.ResponseWriter, status int, field, detail string) {
	Problem{Status: status, Field: field, Detail: detail}.write(w)
}

func (p Problem) write(w http.ResponseWriter) {
	p.Type, p.Title = "about:blank", http.StatusText(p.Status)
	writeJSON(w, p.Status, "application/problem+json", p)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v) // the client may be gone; nothing is left to tell it
}

// decodeStrict reads exactly one JSON object without unknown fields. Its errors
// are of kind Invalid and name the field where it is known.
func decodeStrict(body []byte, into any) error {
	if at := invalidUTF8(body); at >= 0 {
		return hippo.Errorf(hippo.Invalid, fieldAt(body, int64(at)), "is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return hippo.Errorf(hippo.Invalid, fieldAt(body, syntax.Offset), "the body is not JSON: %v at byte %d", err, syntax.Offset)
	case errors.As(err, &typed):
		return hippo.Errorf(hippo.Invalid, strings.TrimPrefix(typed.Field, "ThreadRef."), "must be %s, not %s", plainType(typed.Type.String()), typed.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return hippo.Errorf(hippo.Invalid, "", "the body is not JSON: it ends too early")
	case err != nil:
		if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			name, _ := strconv.Unquote(field)
			return hippo.Errorf(hippo.Invalid, name, "is no field of this request")
		}
		return hippo.Errorf(hippo.Invalid, "", "the body cannot be read: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return hippo.Errorf(hippo.Invalid, "", "the body holds more than one JSON value")
	}
	return nil
}

// plainType says in JSON's words what a Go type takes.
func plainType(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "an array"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"):
		return "a whole number"
	case goType == "bool":
		return "true or false"
	case strings.Contains(goType, "."):
		return "an object or a string"
	}
	return "a string"
}

// invalidUTF8 is where the first byte that is not UTF-8 stands; -1 for none.
func invalidUTF8(body []byte) int {
	for at := 0; at < len(body); {
		r, size := utf8.DecodeRune(body[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// fieldAt names the field that stands at an offset of a JSON text, such as
// "messages[2].id"; empty where that cannot be told.
func fieldAt(body []byte, offset int64) string {
	d := json.NewDecoder(bytes.NewReader(body))
	var path []pathPart
	for {
		token, err := d.Token()
		if err != nil {
			return joinPath(path)
		}
		top := len(path) - 1
		switch token {
		case json.Delim('{'), json.Delim('['):
			path = append(path, pathPart{array: token == json.Delim('[')})
		case json.Delim('}'), json.Delim(']'):
			path = path[:top]
			advance(path)
		default:
			if top >= 0 && !path[top].array && !path[top].named {
				path[top].key, path[top].named = fmt.Sprint(token), true
				continue
			}
			if d.InputOffset() > offset {
				return joinPath(path)
			}
			advance(path)
		}
	}
}

// pathPart is one level of nesting: the key or index that stands there.
type pathPart struct {
	array, named bool
	key          string
	index        int
}

// advance moves past a value of the innermost level.
func advance(path []pathPart) {
	if n := len(path); n > 0 {
		path[n-1].index++
		path[n-1].named = false
	}
}

func joinPath(path []pathPart) string {
	var s strings.Builder
	for _, p := range path {
		switch {
		case p.array:
			fmt.Fprintf(&s, "[%d]", p.index)
		case p.named && s.Len() > 0:
			s.WriteString("." + p.key)
		case p.named:
			s.WriteString(p.key)
		}
	}
	return s.String()
}
