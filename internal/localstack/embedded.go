package localstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/relay"
	"github.com/hippofire/hippofire/store/embedded"
)

// pushTimeout is the ack deadline of the repair messages, the longest that
// Pub/Sub gives.
const pushTimeout = 600 * time.Second

func (s *Stack) startEmbedded(ctx context.Context) error {
	dir, err := s.embeddedFolder()
	if err != nil {
		return err
	}
	store, err := embedded.Open(dir, s.config.Layout, &embedded.Options{OnChange: s.changed})
	if err != nil {
		return err
	}
	s.DataDir = dir
	s.onStop(func(context.Context) error { return store.Close() })

	repair := relay.New(&relay.Options{Timeout: pushTimeout, Log: s.config.Log})
	subscription := "projects/" + s.config.Project + "/subscriptions/" + s.config.Topic
	if err := s.startFunctions(ctx, Wiring{Env: map[string]string{}, Store: store, Publish: func(message []byte) error {
		return repair.PublishMessage(subscription, message)
	}}); err != nil {
		return err
	}
	// The hook's relay is closed first: its last events may ask for a repair.
	return errors.Join(s.point(repair, "Repair"), s.point(s.Hook, "IndexHook"))
}

// changed hands a change of the embedded store to the relay.
func (s *Stack) changed(c embedded.Change) {
	err := s.Hook.Publish(docevent.Change{
		Project: s.config.Project, Database: s.config.Database, Path: c.Path, UpdatedAt: c.UpdatedAt, Deleted: !c.Exists,
	})
	if err != nil {
		s.config.Log.Warn("the change of a document reaches no function", "document", c.Path, "error", err)
	}
}

func (s *Stack) embeddedFolder() (string, error) {
	if s.config.Data != "" {
		dir, err := filepath.Abs(filepath.Join(s.config.Data, "embedded"))
		if err != nil {
			return "", hippo.Wrap(hippo.Invalid, err, "find the data folder")
		}
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "hippofire-")
	if err != nil {
		return "", hippo.Wrap(hippo.Unavailable, err, "make a folder for the data")
	}
	s.onStop(func(context.Context) error { return os.RemoveAll(dir) })
	s.note("The data is lost when this stops; --data DIR keeps it.")
	return dir, nil
}
