package hippo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hippofire/hippofire/hippo"
)

func TestEveryKindHasItsLineInTheTable(t *testing.T) {
	want := map[hippo.ErrorKind]struct {
		name   string
		status int
		retry  bool
	}{
		hippo.Internal:    {"internal", 500, true},
		hippo.Invalid:     {"invalid", 400, false},
		hippo.NotFound:    {"not found", 404, false},
		hippo.TooLarge:    {"too large", 413, false},
		hippo.Conflict:    {"conflict", 409, false},
		hippo.Unavailable: {"unavailable", 503, true},
		hippo.Denied:      {"denied", 403, false},
		hippo.OverBudget:  {"over budget", 422, false},
	}
	kinds := 0
	for kind := hippo.Internal; kind.String() != ""; kind++ {
		kinds++
		w, ok := want[kind]
		if !ok || kind.String() != w.name || kind.HTTPStatus() != w.status || kind.Retry() != w.retry {
			t.Errorf("kind %d is %q with status %d and retry %t, want %+v", kind, kind, kind.HTTPStatus(), kind.Retry(), w)
		}
	}
	if kinds != len(want) {
		t.Errorf("%d kinds have a name, want %d: they are numbered without a gap", kinds, len(want))
	}
}

func TestTheKindOfAnErrorSurvivesWrapping(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  error
		want hippo.ErrorKind
	}{
		{cause, hippo.Internal},
		{hippo.Errorf(hippo.Conflict, "", "x"), hippo.Conflict},
		{fmt.Errorf("outer: %w", hippo.Errorf(hippo.TooLarge, "f", "x")), hippo.TooLarge},
		{errors.Join(cause, hippo.Errorf(hippo.Denied, "", "x")), hippo.Denied},
		{hippo.Wrap(hippo.NotFound, hippo.Errorf(hippo.Invalid, "", "x"), "reading"), hippo.NotFound},
		{context.Canceled, hippo.Unavailable},
		{fmt.Errorf("outer: %w", context.DeadlineExceeded), hippo.Unavailable},
		{hippo.Wrap(hippo.Internal, context.Canceled, "reading"), hippo.Internal},
	} {
		if got := hippo.ErrorKindOf(c.err); got != c.want || !hippo.IsKind(c.err, c.want) {
			t.Errorf("%v is of kind %q, want %q", c.err, got, c.want)
		}
	}
	if hippo.IsKind(nil, hippo.Internal) {
		t.Error("no error is of a kind")
	}
	if err := hippo.Wrap(hippo.NotFound, hippo.ErrShardMissing, "a-000"); !errors.Is(err, hippo.ErrShardMissing) {
		t.Errorf("%v does not wrap its cause", err)
	}
}

func TestAnErrorSaysItsFieldItsMessageAndItsCause(t *testing.T) {
	cause := errors.New("cause")
	for want, err := range map[string]error{
		"is missing":              hippo.Errorf(hippo.Invalid, "", "is missing"),
		"tenant: is 3 bytes long": hippo.Errorf(hippo.Invalid, "tenant", "is %d bytes long", 3),
		"reading: cause":          hippo.Wrap(hippo.Internal, cause, "reading"),
		"memory: reading: cause":  hippo.InField(hippo.Wrap(hippo.Internal, cause, "reading"), "memory"),
		"b: is missing":           hippo.InField(hippo.Errorf(hippo.Invalid, "a", "is missing"), "b"),
		"a.b: is missing":         hippo.Under(hippo.Errorf(hippo.Invalid, "b", "is missing"), "a"),
		"a: is missing":           hippo.Under(hippo.Errorf(hippo.Invalid, "", "is missing"), "a"),
		"cause":                   hippo.Under(cause, "a"),
	} {
		if err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

func TestNamingAFieldLeavesTheErrorItWasGiven(t *testing.T) {
	err := hippo.Errorf(hippo.Invalid, "a", "is missing")
	_ = hippo.InField(err, "b")
	if err.Error() != "a: is missing" {
		t.Errorf("the error became %q", err)
	}
	if hippo.InField(nil, "a") != nil || hippo.Under(nil, "a") != nil {
		t.Error("no error became one")
	}
}
