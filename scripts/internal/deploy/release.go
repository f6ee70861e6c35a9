package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// rulesAPI releases security rules over the Firebase Rules API. gcloud has no
// command for it.
type rulesAPI struct {
	url, project, database string
	// token gives what the API knows the caller by.
	token func(ctx context.Context) (string, error)
	file  string
	text  string
	// replace allows to release over rules that let clients in.
	replace bool
}

const rulesURL = "https://firebaserules.googleapis.com/v1"

type ruleset struct {
	Name   string `json:"name,omitempty"`
	Source struct {
		Files []rulesFile `json:"files"`
	} `json:"source"`
}

type rulesFile struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

type release struct {
	Name    string `json:"name"`
	Ruleset string `json:"rulesetName"`
}

// releaseName is where the database looks for its rules.
func (a rulesAPI) releaseName() string {
	name := "projects/" + a.project + "/releases/cloud.firestore"
	if a.database != "(default)" {
		name += "/" + a.database
	}
	return name
}

// release makes the file the database's rules, unless it is already. It refuses to
// replace rules that let somebody in, which firestore.rules never do.
func (a rulesAPI) release(ctx context.Context) (changed bool, err error) {
	var now release
	found, err := a.send(ctx, http.MethodGet, a.releaseName(), nil, &now)
	if err != nil {
		return false, err
	}
	if found {
		var has ruleset
		if _, err := a.send(ctx, http.MethodGet, now.Ruleset, nil, &has); err != nil {
			return false, err
		}
		if len(has.Source.Files) == 1 && has.Source.Files[0].Content == a.text {
			return false, nil
		}
		if !a.replace && !has.closed() {
			return false, fmt.Errorf("the database has rules that let clients in, and replacing them would lock its clients out: merge %s into them and set DEPLOY_RULES=keep, or repeat with --replace-rules", a.file)
		}
	}
	var made ruleset
	made.Source.Files = []rulesFile{{Name: "firestore.rules", Content: a.text}}
	if _, err := a.send(ctx, http.MethodPost, "projects/"+a.project+"/rulesets", made, &made); err != nil {
		return false, err
	}
	next := release{Name: a.releaseName(), Ruleset: made.Name}
	if found {
		_, err = a.send(ctx, http.MethodPatch, a.releaseName(), map[string]release{"release": next}, nil)
	} else {
		_, err = a.send(ctx, http.MethodPost, "projects/"+a.project+"/releases", next, nil)
	}
	return true, err
}

// allowed matches a rule that lets somebody in.
var allowed = regexp.MustCompile(`allow[^;]*;`)

// closed says whether rules let nobody in, so that nobody misses them.
func (r ruleset) closed() bool {
	for _, file := range r.Source.Files {
		for _, rule := range allowed.FindAllString(file.Content, -1) {
			if _, condition, _ := strings.Cut(rule, ":"); strings.Join(strings.Fields(condition), " ") != "if false;" {
				return false
			}
		}
	}
	return true
}

// send calls the API; false where what it is asked about is not there.
func (a rulesAPI) send(ctx context.Context, method, name string, body, into any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+"/"+name, bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	token, err := a.token(ctx)
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Goog-User-Project", a.project)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return false, err
	case resp.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%s %s: %s: %s", method, name, resp.Status, strings.TrimSpace(string(said)))
	case into == nil:
		return true, nil
	}
	return true, json.Unmarshal(said, into)
}

// commands are the same calls for a shell, as a dry run prints them.
func (a rulesAPI) commands() []command {
	token := gcloud("auth print-access-token")
	call := func(method, name, data string) command {
		c := command{program: "curl"}
		return c.with("--fail", "--silent", "--show-error", "--request", method, "--oauth2-bearer", token,
			"--header", "Content-Type: application/json", "--header", "X-Goog-User-Project: "+a.project, "--data", data, a.url+"/"+name)
	}
	return []command{
		call(http.MethodPost, "projects/"+a.project+"/rulesets", `{"source":{"files":[{"name":"firestore.rules","content":"THE TEXT OF `+a.file+`"}]}}`),
		call(http.MethodPatch, a.releaseName(), `{"release":{"name":"`+a.releaseName()+`","rulesetName":"THE NAME OF THE RULESET"}}`),
	}
}
