package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
)

// change is the payload of a memory's event.
func (s *service) change(name string) []byte {
	s.Helper()
	path := hippo.Fill(s.Layout.Paths.Memory, string(fixture.Tenant), string(s.ID(name)))
	data, err := docevent.Change{Project: "p", Database: "(default)", Path: path}.Encode()
	s.Must(err)
	return data
}

func (s *service) eventRequest(ctx context.Context, function string, data []byte) *http.Request {
	s.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/"+function, bytes.NewReader(data))
	s.Must(err)
	for key, value := range map[string]string{"Ce-Id": "e1", "Ce-Specversion": "1.0", "Ce-Type": docevent.Written, "Ce-Source": "//test", "Content-Type": "application/protobuf"} {
		req.Header.Set(key, value)
	}
	return req
}

func TestEachOfManyEventsAtOnceIsAnsweredAndNoneTwice(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		s := serve(f)
		gen := f.EmptyIndex()
		names := fixture.Names(400)
		f.SaveMemories(names...)
		var wg sync.WaitGroup
		queue := make(chan string)
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		for range 50 {
			wg.Go(func() {
				for name := range queue {
					resp, err := http.DefaultClient.Do(s.eventRequest(ctx, "IndexHook", s.change(name)))
					if err != nil {
						t.Error(err)
						continue
					}
					resp.Body.Close()
					if resp.StatusCode/100 != 2 {
						t.Errorf("%s: %s", name, resp.Status)
					}
				}
			})
		}
		for _, name := range names {
			queue <- name
		}
		close(queue)
		wg.Wait()
		f.WantEqual(gen)
	})
}

func TestEventOfAnotherRequestThatEndsDoesNotEndThisOne(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	gen := f.EmptyIndex()
	f.SaveMemories("pages/a")
	for range 20 {
		gone, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := http.DefaultClient.Do(s.eventRequest(gone, "IndexHook", s.change("pages/a")))
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if a := s.do(s.eventRequest(t.Context(), "IndexHook", s.change("pages/a"))); a.status/100 != 2 {
				t.Errorf("answered %d after another request was given up", a.status)
			}
		})
		time.Sleep(5 * time.Millisecond)
		leave()
		wg.Wait()
	}
	f.WantEqual(gen)
}

func TestBurstOfEventsLeavesNoneUnanswered(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: 300}
	defer transport.CloseIdleConnections()
	var group errgroup.Group
	group.SetLimit(300)
	for range 6000 {
		group.Go(func() error {
			resp, err := transport.RoundTrip(s.eventRequest(ctx, "IndexHook", []byte{0xff, 0xff, 0xff}))
			if err != nil {
				return err
			}
			resp.Body.Close()
			if resp.StatusCode/100 != 2 {
				return fmt.Errorf("an event was answered %s", resp.Status)
			}
			return nil
		})
	}
	f.Must(group.Wait())
}

func TestEventInStructuredModeIsTaken(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	gen := f.EmptyIndex()
	f.SaveMemories("pages/a")
	body, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": "e1", "type": docevent.Written, "source": "//test", "datacontenttype": "application/protobuf", "data_base64": s.change("pages/a"),
	})
	f.Must(err)
	req, err := http.NewRequest(http.MethodPost, s.url+"/IndexHook", bytes.NewReader(body))
	f.Must(err)
	req.Header.Set("Content-Type", "application/cloudevents+json")
	if a := s.do(req); a.status/100 != 2 {
		t.Errorf("answered %d: %v", a.status, a.body)
	}
	f.WantEqual(gen)
}

func TestRequestsThatAreNoEventsAreRefused(t *testing.T) {
	s := serve(fixture.Embedded(t))
	for _, function := range []string{"IndexHook", "Repair"} {
		req, err := http.NewRequest(http.MethodGet, s.url+"/"+function, nil)
		s.Must(err)
		if a := s.do(req); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != http.MethodPost {
			t.Errorf("%s answered a GET with %d", function, a.status)
		}
		broken := s.eventRequest(t.Context(), function, nil)
		broken.Header.Del("Ce-Id")
		if a := s.do(broken); a.status != http.StatusBadRequest {
			t.Errorf("%s answered an event without an id with %d", function, a.status)
		}
		if a := s.do(s.eventRequest(t.Context(), function, make([]byte, 21<<20))); a.status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s answered a body of 21 MiB with %d", function, a.status)
		}
	}
}

func TestPassingFailureIsAnsweredSoThatTheEventComesAgain(t *testing.T) {
	f := fixture.Embedded(t)
	s := serve(f)
	f.EmptyIndex()
	f.SaveMemories("pages/a")
	f.Fault.Before = f.FailAll("WriteEntries", hippo.Errorf(hippo.Unavailable, "", "all attempts aborted"))
	if a := s.do(s.eventRequest(t.Context(), "IndexHook", s.change("pages/a"))); a.status != http.StatusServiceUnavailable {
		t.Errorf("answered %d, want 503", a.status)
	}
}
