package relay

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
)

// Event is one event as the function will see it.
type Event struct {
	ID string
	// Change is zero where the event is of no document.
	Change docevent.Change
	Data   []byte

	header http.Header
}

// attributes are CloudEvents attributes by name.
type attributes map[string]string

// maxPostBytes bounds what the emulator may post: two documents of 1 MiB with
// names and field names, in base64.
const maxPostBytes = 16 << 20

// schema describes the payload; Eventarc and the emulator name the same one.
const schema = "https://github.com/googleapis/google-cloudevents/blob/main/proto/google/events/cloud/firestore/v1/data.proto"

// posted reads what the emulator posts and puts right what is wrong with it: the
// payload is base64 text; the content type stands in ce-datacontenttype too, for
// which the CloudEvents SDK refuses the event; ce-source says "projects/" twice;
// ce-time is cut to the second; and a path in a header is not escaped.
func posted(req *http.Request) (Event, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, maxPostBytes))
	if err != nil {
		return Event{}, hippo.Wrap(hippo.Invalid, err, "read the posted event")
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(body)))
	n, err := base64.StdEncoding.Decode(data, body)
	if err != nil {
		return Event{}, hippo.Wrap(hippo.Invalid, err, "decode the posted event")
	}
	e := Event{Data: data[:n]}
	a := make(attributes)
	for name, values := range req.Header {
		if attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-"); ok && attribute != "datacontenttype" {
			a[attribute] = values[0]
		}
	}
	e.ID = a["id"]
	if e.ID == "" {
		return Event{}, hippo.Errorf(hippo.Invalid, "ce-id", "is missing")
	}
	a["source"] = strings.Replace(a["source"], "/projects/projects/", "/projects/", 1)
	if e.Change, err = docevent.Decode(e.Data); err == nil {
		a.describe(e.Change)
	}
	e.header = a.header()
	return e, nil
}

// published makes the event that Eventarc would make of a change.
func published(id string, c docevent.Change, now time.Time) (Event, error) {
	data, err := c.Encode()
	if err != nil {
		return Event{}, err
	}
	a := attributes{
		"specversion": "1.0",
		"id":          id,
		"type":        docevent.Written,
		"source":      "//firestore.googleapis.com/projects/" + c.Project + "/databases/" + c.Database,
		"time":        now.UTC().Format(time.RFC3339Nano),
		"dataschema":  schema,
		"project":     c.Project,
		"database":    c.Database,
		"namespace":   "(default)",
	}
	a.describe(c)
	return Event{ID: id, Change: c, Data: data, header: a.header()}, nil
}

// pushed makes the request that Pub/Sub makes of a message, which is no
// CloudEvent; the function makes it one.
func pushed(id, subscription string, data []byte, now time.Time) (Event, error) {
	at := now.UTC().Format(time.RFC3339Nano)
	body, err := json.Marshal(map[string]any{
		"subscription": subscription,
		"message":      map[string]any{"data": data, "messageId": id, "message_id": id, "publishTime": at, "publish_time": at},
	})
	if err != nil {
		return Event{}, hippo.Wrap(hippo.Internal, err, "encode a message")
	}
	return Event{ID: id, Data: body, header: http.Header{"Content-Type": {"application/json"}}}, nil
}

// describe makes the attributes say what the payload says.
func (a attributes) describe(c docevent.Change) {
	a["document"] = c.Path
	a["subject"] = "documents/" + c.Path
	if !c.UpdatedAt.IsZero() && !c.Deleted {
		a["time"] = c.UpdatedAt.UTC().Format(time.RFC3339Nano)
	}
}

func (a attributes) header() http.Header {
	h := make(http.Header)
	for name, value := range a {
		h.Set("Ce-"+name, escape(value))
	}
	h.Set("Content-Type", "application/protobuf")
	return h
}

// escape writes an attribute as an HTTP header holds it: whatever is not
// printable ASCII, and the space, quote and percent sign, by percent encoding
// (CloudEvents, HTTP protocol binding 3.1.3.2).
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '%' {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
