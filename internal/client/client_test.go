package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/client"
)

func TestPassingFailureIsTriedAgainAndOthersAreNot(t *testing.T) {
	for _, test := range []struct {
		status, calls int
		kind          hippo.ErrorKind
	}{
		{http.StatusServiceUnavailable, 4, hippo.Unavailable},
		{http.StatusBadRequest, 1, hippo.Invalid},
		{http.StatusNotFound, 1, hippo.NotFound},
		{http.StatusTeapot, 1, hippo.Internal},
	} {
		calls := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.WriteHeader(test.status)
			w.Write([]byte(`{"detail":"what is wrong","field":"tenant"}`))
		}))
		_, err := client.New(server.URL+"/").Turn(t.Context(), functions.TurnRequest{})
		if calls != test.calls || !hippo.IsKind(err, test.kind) || err.Error() != "tenant: what is wrong" {
			t.Errorf("%d: %d calls, %v", test.status, calls, err)
		}
		server.Close()
	}
}

func TestAnswerAfterAFailureCounts(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte(`{"name":"pages/a","content":"text"}`))
	}))
	defer server.Close()
	got, err := client.New(server.URL).Open(t.Context(), functions.OpenRequest{Tenant: "t", Name: "pages/a"})
	if err != nil || got.Content != "text" {
		t.Errorf("%+v %v", got, err)
	}
}
