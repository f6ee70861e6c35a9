package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// startWithin bounds the wait for the first answer of a process.
	startWithin  = 20 * time.Second
	answerWithin = 10 * time.Second
)

// served matches the line in which a process without FUNCTION_TARGET names a
// function.
var served = regexp.MustCompile(`(?m)^Serving function: "(\w+)"$`)

// askAll starts the binary once for each function, as a deployment does, and
// asks for an answer.
func askAll(ctx context.Context, binary string, out io.Writer) error {
	names, err := functionNames(ctx, binary)
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range names {
		kind, err := askFunction(ctx, binary, name)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		fmt.Fprintf(out, "%s answers as %s\n", name, kind)
	}
	return errors.Join(failed...)
}

// functionNames lists the functions that a process with no target serves.
func functionNames(ctx context.Context, binary string) ([]string, error) {
	s, err := startServer(ctx, binary, "")
	if err != nil {
		return nil, err
	}
	said, err := s.stop()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, match := range served.FindAllStringSubmatch(said, -1) {
		names = append(names, match[1])
	}
	if len(names) == 0 {
		return nil, errors.New("no function is registered")
	}
	slices.Sort(names)
	return names, nil
}

func askFunction(ctx context.Context, binary, name string) (kind string, err error) {
	s, err := startServer(ctx, binary, name)
	if err != nil {
		return "", err
	}
	kind, err = ask(ctx, s.url)
	said, stopErr := s.stop()
	if err != nil {
		return "", fmt.Errorf("%w; it said:\n%s", err, said)
	}
	return kind, stopErr
}

// ask tells by its answers what a function is. One of HTTP refuses a GET in the
// project's own form. One of events acknowledges events that can never be used,
// whatever it is meant for.
func ask(ctx context.Context, url string) (kind string, err error) {
	got, err := send(ctx, http.MethodGet, url, http.Header{}, "")
	if err != nil {
		return "", err
	}
	if got == (answer{http.StatusMethodNotAllowed, "application/problem+json"}) {
		return "an HTTP function", nil
	}
	for _, e := range useless {
		acked, err := send(ctx, http.MethodPost, url, e.header(), e.data)
		if err != nil {
			return "", err
		}
		if acked.status != http.StatusOK {
			return "", fmt.Errorf("neither an HTTP function (GET: %v) nor one of events (%s: %v)", got, e.kind, acked)
		}
	}
	return "a function of events", nil
}

// event is a CloudEvent.
type event struct{ kind, source, contentType, data string }

// useless are an event of each trigger with data that is none of ours.
var useless = []event{
	{"google.cloud.firestore.document.v1.written", "//firestore.googleapis.com/projects/demo-check/databases/(default)",
		"application/protobuf", "\xff\xff\xff"},
	{"google.cloud.pubsub.topic.v1.messagePublished", "//pubsub.googleapis.com/projects/demo-check/topics/check",
		"application/json", `{"message":{"messageId":"1","data":"bm90aGluZyBvZiBvdXJz"}}`},
}

func (e event) header() http.Header {
	return http.Header{
		"Ce-Id": {"check-deploy"}, "Ce-Specversion": {"1.0"}, "Ce-Type": {e.kind}, "Ce-Source": {e.source},
		"Content-Type": {e.contentType},
	}
}

type answer struct {
	status      int
	contentType string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.contentType) }

func send(ctx context.Context, method, url string, header http.Header, data string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(data))
	if err != nil {
		return answer{}, err
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	contentType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return answer{resp.StatusCode, contentType}, nil
}
