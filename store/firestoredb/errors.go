package firestoredb

import (
	"context"
	"errors"
	"regexp"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hippofire/hippofire/hippo"
)

// Firestore answers many refusals with InvalidArgument and tells them apart only
// by their text: a document over its size or with too many index entries is one
// of them, and so is a transaction that ran out of time. ResourceExhausted is a
// spent quota, which passes, or a request over its size.
var (
	sizeText        = regexp.MustCompile(`(?i)\bsize\b|longer than|too (large|many|big)|index entries|nested entity`)
	transactionText = regexp.MustCompile(`(?i)transaction.*(invalid|closed|expired|no longer)`)
)

// codeOf is Firestore's code of an error that has no kind yet. One that has a
// kind is a decision of ours, and nobody's to try again.
func codeOf(err error) codes.Code {
	var known *hippo.Error
	if errors.As(err, &known) {
		return codes.Unknown
	}
	return status.Code(err)
}

// translate gives an error of Firestore its kind. An error that has one already
// stays as it is.
func translate(err error, doing string) error {
	var known *hippo.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return hippo.Wrap(kindOf(err), err, doing)
}

func kindOf(err error) hippo.ErrorKind {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return hippo.Unavailable
	}
	text := status.Convert(err).Message()
	switch status.Code(err) {
	case codes.NotFound:
		return hippo.NotFound
	case codes.AlreadyExists:
		return hippo.Conflict
	case codes.PermissionDenied, codes.Unauthenticated:
		return hippo.Unavailable // a role can be granted yet, and no caller is to blame
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.Canceled, codes.Internal:
		return hippo.Unavailable
	case codes.ResourceExhausted:
		if sizeText.MatchString(text) {
			return hippo.TooLarge
		}
		return hippo.Unavailable
	case codes.InvalidArgument:
		switch {
		case transactionText.MatchString(text):
			return hippo.Unavailable
		case sizeText.MatchString(text):
			return hippo.TooLarge
		}
		return hippo.Invalid
	}
	return hippo.Internal
}
