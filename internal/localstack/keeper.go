package localstack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

const (
	// saveEvery bounds what a crash loses. Saving 10,000 small documents takes a
	// third of a second.
	saveEvery = time.Minute
	// saveWithin bounds one save, also where Stop's context has ended.
	saveWithin = time.Minute
)

// keeper keeps the Firestore emulator's data in a folder, by the emulator's own
// export and import:
//
//	firestore/current      the name of the last complete export
//	firestore/save-*/      that export
type keeper struct {
	host, project, database string
	dir                     string
	log                     *slog.Logger
}

func newKeeper(host, project, database, data string, log *slog.Logger) (*keeper, error) {
	dir, err := filepath.Abs(filepath.Join(data, "firestore"))
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "make the data folder")
	}
	return &keeper{host: host, project: project, database: database, dir: dir, log: log}, nil
}

func (k *keeper) currentFile() string { return filepath.Join(k.dir, "current") }

// load imports the last export; false where there is none.
func (k *keeper) load(ctx context.Context) (bool, error) {
	text, err := os.ReadFile(k.currentFile())
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, hippo.Wrap(hippo.Unavailable, err, "read the data back")
	}
	name := strings.TrimSpace(string(text))
	if !filepath.IsLocal(name) {
		return false, hippo.Errorf(hippo.Invalid, "", "%s names no folder: %q", k.currentFile(), name)
	}
	err = k.ask(ctx, "import", map[string]string{"export_directory": filepath.Join(k.dir, name, name+".overall_export_metadata")})
	return err == nil, err
}

// save exports into a folder of its own and only then lets it take the place of
// the last one.
func (k *keeper) save(ctx context.Context) error {
	name := fmt.Sprintf("save-%d", time.Now().UnixNano())
	if err := k.ask(ctx, "export", map[string]string{"export_directory": k.dir, "export_name": name}); err != nil {
		return errors.Join(err, os.RemoveAll(filepath.Join(k.dir, name)))
	}
	if err := replaceFile(k.currentFile(), []byte(name+"\n")); err != nil {
		return err
	}
	saves, err := filepath.Glob(filepath.Join(k.dir, "save-*"))
	for _, s := range saves {
		if filepath.Base(s) != name {
			err = errors.Join(err, os.RemoveAll(s))
		}
	}
	return err
}

// start saves regularly until the function it returns is called, which saves a
// last time.
func (k *keeper) start() (stop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(saveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := k.save(ctx); err != nil && ctx.Err() == nil {
					k.log.Warn("the data was not saved; it will be tried again", "error", err)
				}
			}
		}
	})
	return func(ctx context.Context) error {
		cancel()
		done.Wait()
		ctx, end := context.WithTimeout(context.WithoutCancel(ctx), saveWithin)
		defer end()
		return k.save(ctx)
	}
}

// ask makes the emulator export or import.
func (k *keeper) ask(ctx context.Context, what string, params map[string]string) error {
	params["database"] = "projects/" + k.project + "/databases/" + k.database
	body, err := json.Marshal(params)
	if err != nil {
		return hippo.Wrap(hippo.Internal, err, what+" the emulator's data")
	}
	u := "http://" + k.host + "/emulator/v1/projects/" + url.PathEscape(k.project) + ":" + what
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(body))
	if err != nil {
		return hippo.Wrap(hippo.Internal, err, what+" the emulator's data")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return hippo.Wrap(hippo.Unavailable, err, what+" the emulator's data")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return hippo.Errorf(hippo.Invalid, "", "the Firestore emulator does not %s its data: %s: %s", what, resp.Status, said)
	}
	return nil
}
