package localstack

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/relay"
)

const (
	probeTrigger = "hippofire-probe"
	probePath    = "hippofire_probes/probe"
	// probeWithin is how long a probe's event may take; it takes milliseconds.
	probeWithin = 3 * time.Second
)

// probe stands before the relay and watches for the event of a document that the
// stack itself wrote.
type probe struct {
	next    http.Handler
	once    sync.Once
	arrived chan struct{}
}

func (p *probe) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasSuffix(req.URL.Path, "/triggers/"+probeTrigger) {
		p.once.Do(func() { close(p.arrived) })
		return
	}
	p.next.ServeHTTP(w, req)
}

// probeDelivery finds out whether an emulator that was started by somebody else
// posts its events here. It does not tell where it posts them, so a document is
// written whose event ought to arrive.
func (s *Stack) probeDelivery(ctx context.Context, p *probe, addr string) error {
	err := relay.RegisterTrigger(ctx, s.FirestoreHost, s.config.Project, s.config.Database, "hippofire_probes/{probe}", probeTrigger)
	if err != nil {
		return err
	}
	if err := s.touchProbe(ctx, http.MethodPatch); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	select {
	case <-p.arrived:
	case <-wait.Done():
		s.note(fmt.Sprintf("The Firestore emulator at %s posts its events elsewhere, so that IndexHook hears of no change: "+
			"start it with --functions_emulator %s, and this with that port for the relay.", s.FirestoreHost, addr))
	}
	return s.touchProbe(ctx, http.MethodDelete)
}

// touchProbe creates or deletes the probe's document.
func (s *Stack) touchProbe(ctx context.Context, method string) error {
	u := fmt.Sprintf("http://%s/v1/projects/%s/databases/%s/documents/%s", s.FirestoreHost,
		url.PathEscape(s.config.Project), url.PathEscape(s.config.Database), probePath)
	req, err := http.NewRequestWithContext(ctx, method, u, http.NoBody)
	if err != nil {
		return hippo.Wrap(hippo.Internal, err, "probe the Firestore emulator")
	}
	req.Header.Set("Authorization", "Bearer owner")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "probe the Firestore emulator")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return hippo.Errorf(hippo.Unavailable, "", "the Firestore emulator at %s refuses to be probed: %s", s.FirestoreHost, resp.Status)
	}
	return nil
}
