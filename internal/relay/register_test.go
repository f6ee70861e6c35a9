package relay

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
)

func TestTriggerIsRegisteredInTheProductionForm(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got = []string{req.Method, req.URL.String(), req.Header.Get("Content-Type"), string(body)}
	}))
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")
	if err := RegisterTrigger(t.Context(), addr, "demo", "(default)", "tenants/{tenant}/memories/{memory}", "index hook"); err != nil {
		t.Fatal(err)
	}
	want := []string{"POST", "/emulator/v1/projects/demo/eventarcTrigger?eventarcTriggerId=index+hook", "application/json",
		`{"database":"(default)","document":{"matchType":"PATH_PATTERN","value":"tenants/{tenant}/memories/{memory}"},"eventType":"google.cloud.firestore.document.v1.written","namespace":"(default)"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRegisteringSaysWhyItFailed(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for server, kind := range map[*httptest.Server]hippo.ErrorKind{refusing: hippo.Invalid, gone: hippo.Unavailable} {
		err := RegisterTrigger(t.Context(), strings.TrimPrefix(server.URL, "http://"), "demo", "(default)", "a/{b}", "hook")
		if !hippo.IsKind(err, kind) {
			t.Errorf("error %v, want one of kind %v", err, kind)
		}
	}
}

func TestEmulatorTakesTheTrigger(t *testing.T) {
	addr := emulatortest.Firestore(t)
	for range 2 {
		if err := RegisterTrigger(t.Context(), addr, "relay-register", "(default)", hippo.DefaultPaths().Memory, "hook"); err != nil {
			t.Error(err)
		}
	}
}
