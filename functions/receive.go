package functions

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/hippofire/hippofire/hippo"
)

// receive answers one event function: an event of Eventarc, as a CloudEvent in
// either mode, or the plain push of a Pub/Sub subscription. An error asks for the
// event to be delivered again.
//
// The framework's own event functions are not used. Its CloudEvents receiver hands
// a request to whichever goroutine asks first: an event may be taken by the
// goroutine, and under the context, of another request, is cancelled when that
// one ends, and the last of a burst may wait for ever for somebody to take it.
func receive(w http.ResponseWriter, r *http.Request, take func(context.Context, event.Event) error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeProblem(w, http.StatusMethodNotAllowed, "", "this function takes POST, not "+r.Method)
		return
	}
	r = r.WithContext(traced(r))
	var e event.Event
	body, err := readBody(w, r, readWithin)
	if err == nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		e, err = eventOf(r)
	}
	if err == nil {
		err = take(r.Context(), e)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// eventOf reads the event that a request carries. Its errors are of kind Invalid
// where no delivery of the request could ever be read.
func eventOf(r *http.Request) (event.Event, error) {
	if cehttp.NewMessageFromHttpRequest(r).ReadEncoding() == binding.EncodingUnknown {
		return pushOf(r)
	}
	e, err := cehttp.NewEventFromHTTPRequest(r)
	if err == nil {
		err = e.Validate()
	}
	if err != nil {
		return event.Event{}, hippo.Errorf(hippo.Invalid, "", "the request is no event: %v", err)
	}
	return *e, nil
}

// pushOf makes the event of a push that Pub/Sub made without Eventarc.
func pushOf(r *http.Request) (event.Event, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return event.Event{}, err
	}
	var push struct {
		Message struct {
			ID string `json:"messageId"`
		} `json:"message"`
	}
	json.Unmarshal(body, &push) // the id is for the log; whoever takes the event reads the rest
	e := event.New()
	e.SetID(push.Message.ID)
	e.SetType(published)
	e.SetSource("//pubsub.googleapis.com/")
	return e, e.SetData(event.ApplicationJSON, body)
}
