package hippo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// ErrorKind is the closed set of ways in which a call can fail.
type ErrorKind int

const (
	// Internal is a failure nobody foresaw. It is retried, since nothing says
	// that it would fail again.
	Internal ErrorKind = iota
	// Invalid input can never succeed as it is.
	Invalid
	// NotFound means that what the call names does not exist.
	NotFound
	// TooLarge means that a limit of this system or of the store was exceeded.
	TooLarge
	// Conflict means that something changed since the caller read it.
	Conflict
	// Unavailable is a passing failure: the same call may succeed later.
	Unavailable
	// Denied means that the caller may not do this.
	Denied
	// OverBudget means that what may not be cut costs more tokens than there are.
	OverBudget
)

// errorKinds is the one table from a kind to what each edge makes of it.
var errorKinds = map[ErrorKind]struct {
	name   string
	status int
	retry  bool
}{
	Internal:    {"internal", http.StatusInternalServerError, true},
	Invalid:     {"invalid", http.StatusBadRequest, false},
	NotFound:    {"not found", http.StatusNotFound, false},
	TooLarge:    {"too large", http.StatusRequestEntityTooLarge, false},
	Conflict:    {"conflict", http.StatusConflict, false},
	Unavailable: {"unavailable", http.StatusServiceUnavailable, true},
	Denied:      {"denied", http.StatusForbidden, false},
	OverBudget:  {"over budget", http.StatusUnprocessableEntity, false},
}

// String is the kind's name in plain words.
func (k ErrorKind) String() string { return errorKinds[k].name }

// HTTPStatus is the status with which an HTTP function answers the kind.
func (k ErrorKind) HTTPStatus() int { return errorKinds[k].status }

// Retry says whether an event that failed this way is worth delivering again.
// An event whose error is not is acknowledged and logged.
func (k ErrorKind) Retry() bool { return errorKinds[k].retry }

// Error is an error of a known kind. Field names the input at fault, as the
// caller spelled it, and is empty where no single input is. Figures are the
// numbers behind it, by name, where there are any.
type Error struct {
	Kind    ErrorKind
	Field   string
	Msg     string
	Figures map[string]int
	Err     error
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind about a field; field may be empty.
func Errorf(kind ErrorKind, field, format string, args ...any) error {
	return &Error{Kind: kind, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// Wrap gives err a kind and says what was being done when it happened.
func Wrap(kind ErrorKind, err error, doing string) error {
	return &Error{Kind: kind, Msg: doing, Err: err}
}

// InField names the field in an error that a constructor made without knowing
// what the caller calls its input.
func InField(err error, field string) error {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Field = field
	return &named
}

// Under puts a prefix before the field that an error names.
func Under(err error, prefix string) error {
	var e *Error
	if err == nil || !errors.As(err, &e) || e.Field == "" {
		return InField(err, prefix)
	}
	return InField(err, prefix+"."+e.Field)
}

// ErrorKindOf is the kind of err: its own where it has one, Unavailable for a
// context that ended, Internal for anything else.
func ErrorKindOf(err error) ErrorKind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Unavailable
	}
	return Internal
}

// IsKind says whether err is of the kind.
func IsKind(err error, kind ErrorKind) bool { return err != nil && ErrorKindOf(err) == kind }

// ErrShardFull is wrapped by the error of a reconcile whose shard cannot take
// more before the index has grown.
var ErrShardFull = errors.New("the shard is full")

// ErrShardMissing is wrapped by the NotFound error of a write into a shard that
// does not exist.
var ErrShardMissing = errors.New("the shard does not exist")
