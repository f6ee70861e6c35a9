package edgefuzz

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/repairmsg"
)

// FuzzEvent posts any headers and body to the functions that events trigger. An
// event is taken, or refused for good where no delivery of it could ever be read.
func FuzzEvent(f *testing.F) {
	written, err := docevent.Change{Project: "p", Database: "(default)", Path: "tenants/t/memories/bg"}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	push := func(message []byte) []byte {
		return []byte(`{"message":{"messageId":"1","data":"` + base64.StdEncoding.EncodeToString(message) + `"}}`)
	}
	ask := repairmsg.Message{Tenant: "t", Cause: repairmsg.Operator}
	const published = "google.cloud.pubsub.topic.v1.messagePublished"
	f.Add("1.0", docevent.Written, "application/protobuf", "e1", written)
	f.Add("1.0", docevent.Written, "application/protobuf", "e1", []byte{0x0a, 0x00})
	f.Add("1.0", published, "application/json", "e1", push(ask.Encode()))
	f.Add("1.0", published, "application/json", "e1", push([]byte(`{"tenant":"a/b","cause":"operator"}`)))
	f.Add("", "", "application/json", "", push(ask.Encode()))
	f.Add("", "", "application/json", "", push([]byte(`{"cause":"continue","gen":"x","after":"y","run":{"tenant":"u"}}`)))
	f.Add("", "", "application/cloudevents+json", "", []byte(`{"specversion":"1.0","id":"1","type":"t","source":"s","data":{}}`))
	f.Add("", "", "application/cloudevents-batch+json", "", []byte(`[]`))
	f.Add("0.3", "t", "text/plain", "\x00", []byte("x"))
	f.Fuzz(func(t *testing.T, version, kind, contentType, id string, body []byte) {
		synctest.Test(t, func(t *testing.T) { // the hook waits for more to write at once
			e := newEdge(t)
			for _, function := range functions.EventNames() {
				r := httptest.NewRequest(http.MethodPost, "/"+function, bytes.NewReader(body))
				for name, value := range map[string]string{"Ce-Specversion": version, "Ce-Type": kind, "Ce-Id": id, "Ce-Source": "s", "Content-Type": contentType} {
					if value != "" {
						r.Header[name] = []string{value}
					}
				}
				if status, answer := e.answer(r); status != http.StatusNoContent && status != http.StatusBadRequest {
					t.Errorf("%s answered %d: %v", function, status, answer)
				}
			}
		})
	})
}
