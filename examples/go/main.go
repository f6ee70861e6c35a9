// Command go shows one exchange of an agent, and its memory pass, with the
// standard library alone:
//
//	go run ./examples/go http://127.0.0.1:8080 [THREAD]
//
// The address is what "hippofire local" prints; docs/deploy.md says how deployed
// functions are called. Where FIRESTORE_EMULATOR_HOST and HIPPOFIRE_PROJECT are set,
// the pass writes one memory by itself, as an agent does that has a database
// client; docs/agent.md shows the same with Google's library.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const tenant = "example"

// object is a JSON object.
type object = map[string]any

var client = &http.Client{Timeout: time.Minute}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./examples/go URL [THREAD]")
		os.Exit(2)
	}
	thread := "go"
	if len(os.Args) > 2 {
		thread = os.Args[2]
	}
	if err := exchange(agent{base: os.Args[1], thread: thread}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// agent calls the functions for one thread.
type agent struct{ base, thread string }

func exchange(a agent) error {
	asked := object{"id": "m1", "role": "user", "content": "We take the place on Main St, $2,300 a month."}
	var turn struct {
		Blocks []any
		Ledger struct{ Tokens map[string]int }
	}
	if err := a.call("TurnContext", object{"message": asked}, &turn); err != nil {
		return err
	}
	fmt.Printf("the model sees %d blocks, %d tokens\n", len(turn.Blocks), turn.Ledger.Tokens["total"])

	reply := object{"id": "m2", "role": "assistant", "content": "Noted. I will ask for the papers."} // the model's
	var saved struct{ Created []any }
	if err := a.call("SaveTurn", object{"messages": []any{asked, reply}}, &saved); err != nil {
		return err
	}
	fmt.Printf("saved %d messages\n", len(saved.Created))

	// What the memory pass decided to keep. It is sent as it is, and the very same
	// again where no answer came.
	episode := object{
		"from": "m1", "to": "m2", "speaker": "user",
		"episode": "Took the place on Main St at $2,300 a month; papers to be asked for",
		"writes":  []any{object{"name": "pages/Second Location", "content": "Main St, $2,300 a month, agreed."}},
	}
	if host, project := os.Getenv("FIRESTORE_EMULATOR_HOST"), os.Getenv("HIPPOFIRE_PROJECT"); host != "" && project != "" {
		if err := writeMemory(host, project, "notebook/Papers", "Ask for the lease of Main St."); err != nil {
			return err
		}
		episode["wrote"] = []string{"notebook/Papers"}
	}
	var recorded, again struct {
		Written, Indexed, Repeated bool
		Handle                     string
		Missing                    []string
	}
	if err := a.call("RecordEpisode", episode, &recorded); err != nil {
		return err
	}
	fmt.Printf("recorded: %v, indexed: %v, missing: %v\n", recorded.Written, recorded.Indexed, recorded.Missing)
	if err := a.call("RecordEpisode", episode, &again); err != nil {
		return err
	}
	fmt.Printf("again: repeated %v\n", again.Repeated)
	return a.lookBack(recorded.Handle)
}

// lookBack does what the model's tools do.
func (a agent) lookBack(handle string) error {
	var opened struct{ Messages []any }
	if err := a.call("OpenStretch", object{"handle": handle}, &opened); err != nil {
		return err
	}
	fmt.Printf("behind the line: %d messages\n", len(opened.Messages))
	var found struct {
		Hits []struct{ Message struct{ ID string } }
	}
	if err := a.call("SearchHistory", object{"query": "Main St"}, &found); err != nil {
		return err
	}
	for _, hit := range found.Hits[:min(1, len(found.Hits))] {
		fmt.Printf("found: %s\n", hit.Message.ID)
	}
	return nil
}

// call calls a function, and again while the failure may pass: a repeated call
// changes nothing.
func (a agent) call(function string, body object, into any) error {
	body["tenant"], body["thread"] = tenant, a.thread
	for attempt := 0; ; attempt++ {
		passing, err := post(a.base+"/"+function, "", body, into)
		if err == nil || !passing || attempt == 3 {
			return err
		}
		time.Sleep(250 * time.Millisecond << attempt)
	}
}

// post sends JSON and reads the answer; passing says that a failure may pass.
func post(url, token string, body, into any) (passing bool, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil {
		return true, err
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode >= 500, fmt.Errorf("%s answered %d: %s", url, resp.StatusCode, answer)
	}
	return false, json.Unmarshal(answer, into)
}

// writeMemory writes a memory as anybody may; the trigger keeps the index equal to
// it. The document's id is the name in unpadded base64url.
func writeMemory(host, project, name, content string) error {
	database := "projects/" + project + "/databases/(default)"
	id := base64.RawURLEncoding.EncodeToString([]byte(name))
	write := object{
		"update": object{
			"name":   database + "/documents/tenants/" + tenant + "/memories/" + id,
			"fields": object{"name": object{"stringValue": name}, "content": object{"stringValue": content}},
		},
		"updateMask":       object{"fieldPaths": []string{"name", "content"}},
		"updateTransforms": []any{object{"fieldPath": "updated_at", "setToServerValue": "REQUEST_TIME"}},
	}
	_, err := post("http://"+host+"/v1/"+database+"/documents:commit", "owner", object{"writes": []any{write}}, &object{})
	return err
}
