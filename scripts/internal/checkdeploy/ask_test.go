package main

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

func TestAnswerTellsWhatAFunctionIs(t *testing.T) {
	for _, tc := range []struct {
		name       string
		get        int
		getType    string
		post       int
		kind, fail string
	}{
		{"refuses a GET with a problem", 405, "application/problem+json; charset=utf-8", 0, "an HTTP function", ""},
		{"acknowledges what is useless", 501, "text/plain", 200, "a function of events", ""},
		{"asks for what is useless again", 501, "text/plain", 500, "", "messagePublished: 500"},
		{"does not serve", 404, "text/plain", 404, "", "GET: 404"},
		{"refuses a GET in another form", 405, "text/plain", 405, "", "GET: 405 text/plain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tc.getType)
				status := tc.get
				if r.Method == http.MethodPost {
					status = tc.post
					if strings.HasSuffix(r.Header.Get("Ce-Type"), "written") && tc.post == 500 {
						status = 200 // the other trigger's event is tried as well
					}
				}
				w.WriteHeader(status)
			}))
			defer s.Close()
			kind, err := ask(t.Context(), s.URL)
			if kind != tc.kind {
				t.Errorf("kind %q, want %q", kind, tc.kind)
			}
			if (err == nil) != (tc.fail == "") || err != nil && !strings.Contains(err.Error(), tc.fail) {
				t.Errorf("error %v, want %q", err, tc.fail)
			}
		})
	}
}

func TestProcessThatEndsAtOnceIsNoServer(t *testing.T) {
	binary, err := exec.LookPath("false")
	if err != nil {
		t.Skip("there is no command that does nothing but fail")
	}
	if _, err := functionNames(t.Context(), binary); err == nil || !strings.Contains(err.Error(), "ended at once: exit status 1") {
		t.Errorf("error %v, want that it ended", err)
	}
}
