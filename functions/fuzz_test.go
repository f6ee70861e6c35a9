package functions

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/hippo"
)

// FuzzRequestBody reads any body as any request. What is refused is refused as
// invalid, with a message that can be shown; what is taken passes its own checks
// or fails them in the same way.
func FuzzRequestBody(f *testing.F) {
	for _, seed := range []string{
		`{"tenant":"t","thread":"th","messages":[{"id":"m1","role":"user","content":"x","created_at":"2026-10-01T10:00:00Z"}]}`,
		`{"tenant":"t","thread":"th","from":"a","to":"b","episode":"e","writes":[{"name":"n","content":"c"}]}`,
		`{"tenant":"t","name":"n","offset":3}`, `{"tenant":1}`, `[`, `{"a":{"b":[{"c":`, "{\"tenant\":\"\xff\"}", `{} {}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var save SaveRequest
		var turn TurnRequest
		var record episodewriter.Request
		var open OpenRequest
		for _, into := range []any{&save, &turn, &record, &open} {
			refusedAsInvalid(t, decodeStrict(body, into))
		}
		if _, err := save.messages(); err != nil && hippo.ErrorKindOf(err).Retry() {
			t.Errorf("messages are refused as %v", err)
		}
		if _, _, err := turn.ids(); err != nil {
			refusedAsInvalid(t, err)
		}
	})
}

func refusedAsInvalid(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if !hippo.IsKind(err, hippo.Invalid) || !utf8.ValidString(err.Error()) {
		t.Errorf("refused as %q (%s)", err, hippo.ErrorKindOf(err))
	}
}

// FuzzEvent reads any body and headers as an event. Nothing may panic, and an event
// that is taken has an id and a type or is a push.
func FuzzEvent(f *testing.F) {
	f.Add("1.0", "google.cloud.firestore.document.v1.written", "application/protobuf", "e1", []byte{0x0a, 0x00})
	f.Add("", "", "application/cloudevents+json", "", []byte(`{"specversion":"1.0","id":"1","type":"t","source":"s","data":{}}`))
	f.Add("", "", "application/json", "", []byte(`{"message":{"messageId":"1","data":"e30="}}`))
	f.Add("0.3", "t", "text/plain", "\x00", []byte("x"))
	f.Fuzz(func(t *testing.T, version, kind, contentType, id string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		for name, value := range map[string]string{"Ce-Specversion": version, "Ce-Type": kind, "Ce-Id": id, "Ce-Source": "s", "Content-Type": contentType} {
			if value != "" {
				r.Header[name] = []string{value}
			}
		}
		e, err := eventOf(r)
		if err != nil {
			if hippo.ErrorKindOf(err).Retry() {
				t.Errorf("an event that can never be read is asked for again: %v", err)
			}
			return
		}
		if _, err := repairMessage(e); err != nil && hippo.ErrorKindOf(err).Retry() {
			t.Errorf("a message that can never be read is asked for again: %v", err)
		}
	})
}
