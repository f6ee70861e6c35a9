package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
)

// RegisterTrigger makes the Firestore emulator at an address post an event for
// each write to a document whose path is of the pattern, in the form of the
// production trigger, to the functions emulator that it was started with:
//
//	http://HOST:PORT/functions/projects/{project}/triggers/{id}
//
// Registering the same id again replaces the trigger. The emulator forgets its
// triggers when it ends.
func RegisterTrigger(ctx context.Context, firestoreAddr, project, database, pattern, id string) error {
	body, err := json.Marshal(map[string]any{
		"eventType": docevent.Written,
		"database":  database,
		"namespace": "(default)",
		"document":  map[string]string{"value": pattern, "matchType": "PATH_PATTERN"},
	})
	if err != nil {
		return hippo.Wrap(hippo.Internal, err, "register a trigger")
	}
	u := fmt.Sprintf("http://%s/emulator/v1/projects/%s/eventarcTrigger?eventarcTriggerId=%s",
		firestoreAddr, url.PathEscape(project), url.QueryEscape(id))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(body))
	if err != nil {
		return hippo.Wrap(hippo.Invalid, err, "register a trigger")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "register a trigger")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return hippo.Errorf(hippo.Invalid, "", "the Firestore emulator at %s refuses the trigger: %s: %s", firestoreAddr, resp.Status, said)
	}
	return nil
}
