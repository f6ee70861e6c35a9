// Package client calls the HTTP functions from Go.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/turnreader"
)

// What a call does about a passing failure.
const (
	attempts  = 4
	firstWait = 250 * time.Millisecond
	timeout   = 60 * time.Second
	maxAnswer = 32 << 20
)

// Client calls the functions served at one address, each at its name.
type Client struct {
	base string
	http *http.Client
}

// New makes a Client for a base URL such as http://127.0.0.1:8080.
func New(base string) *Client {
	return &Client{base: strings.TrimRight(base, "/"), http: &http.Client{Timeout: timeout}}
}

// Turn calls TurnContext.
func (c *Client) Turn(ctx context.Context, req functions.TurnRequest) (turnreader.Turn, error) {
	return call[turnreader.Turn](ctx, c, "TurnContext", req)
}

// Save calls SaveTurn.
func (c *Client) Save(ctx context.Context, req functions.SaveRequest) (functions.SaveResponse, error) {
	return call[functions.SaveResponse](ctx, c, "SaveTurn", req)
}

// Record calls RecordEpisode.
func (c *Client) Record(ctx context.Context, req episodewriter.Request) (episodewriter.Response, error) {
	return call[episodewriter.Response](ctx, c, "RecordEpisode", req)
}

// Open calls OpenMemory.
func (c *Client) Open(ctx context.Context, req functions.OpenRequest) (functions.OpenResponse, error) {
	return call[functions.OpenResponse](ctx, c, "OpenMemory", req)
}

// Push delivers a message to Repair as a push subscription would, and returns
// when it has been carried out.
func (c *Client) Push(ctx context.Context, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	push := map[string]any{
		"subscription": "projects/local/subscriptions/hippofire-repair",
		"message":      map[string]any{"data": data, "messageId": fmt.Sprint(time.Now().UnixNano()), "publishTime": time.Now().UTC().Format(time.RFC3339Nano)},
	}
	_, err = c.post(ctx, "Repair", push)
	return err
}

// call posts a request, and again while the failure is a passing one: every
// function's answer to a repeated request is the same.
func call[Resp any](ctx context.Context, c *Client, function string, req any) (resp Resp, err error) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		var body []byte
		body, err = c.post(ctx, function, req)
		if err == nil {
			if err = json.Unmarshal(body, &resp); err != nil {
				err = hippo.Wrap(hippo.Internal, err, function+" answered what is no JSON of ours")
			}
			return resp, err
		}
		if attempt == attempts || !hippo.IsKind(err, hippo.Unavailable) {
			return resp, err
		}
		select {
		case <-ctx.Done():
			return resp, err
		case <-time.After(wait):
			wait *= 2
		}
	}
}

func (c *Client) post(ctx context.Context, function string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "encoding the request")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/"+function, bytes.NewReader(data))
	if err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "the functions' address")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "calling "+function)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "reading the answer of "+function)
	}
	if resp.StatusCode/100 != 2 {
		return nil, failure(function, resp.StatusCode, answer)
	}
	return answer, nil
}

// failure is the error that an answer tells of.
func failure(function string, status int, answer []byte) error {
	var p functions.Problem
	if json.Unmarshal(answer, &p) != nil || p.Detail == "" {
		p.Detail = fmt.Sprintf("%s answered %d", function, status)
	}
	kind := hippo.Internal
	for _, k := range []hippo.ErrorKind{hippo.Invalid, hippo.NotFound, hippo.TooLarge, hippo.Conflict, hippo.Unavailable, hippo.Denied, hippo.OverBudget} {
		if k.HTTPStatus() == status {
			kind = k
		}
	}
	return &hippo.Error{Kind: kind, Field: p.Field, Msg: p.Detail, Figures: p.Figures}
}
