package localstack

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// Info is where a running stack is to be found.
type Info struct {
	Store    StoreKind `json:"store"`
	Project  string    `json:"project"`
	Database string    `json:"database"`
	// FirestoreHost, PubSubHost and Topic are empty with the embedded store.
	FirestoreHost string `json:"firestore_host,omitempty"`
	PubSubHost    string `json:"pubsub_host,omitempty"`
	Topic         string `json:"topic,omitempty"`
	FunctionsURL  string `json:"functions_url"`
	// DataDir is the folder of the embedded store, or that to which the
	// emulator's data is saved; empty where it is not.
	DataDir   string    `json:"data_dir,omitempty"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
}

func infoFile(dir string) string { return filepath.Join(dir, ".hippofire", "local.json") }

// ReadInfo reads what the stack that runs for a folder wrote; NotFound where
// none runs. A file whose process is gone counts as none.
func ReadInfo(dir string) (Info, error) {
	var info Info
	text, err := os.ReadFile(infoFile(dir))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Info{}, hippo.Errorf(hippo.NotFound, "", "no local stack runs: start one with \"hippofire local\"")
	case err != nil:
		return Info{}, hippo.Wrap(hippo.Internal, err, "read where the local stack runs")
	}
	if err := json.Unmarshal(text, &info); err != nil || info.PID <= 0 {
		return Info{}, hippo.Errorf(hippo.NotFound, "", "%s is damaged: start the local stack again", infoFile(dir))
	}
	if !alive(info.PID) {
		return Info{}, hippo.Errorf(hippo.NotFound, "", "the local stack that %s describes ended without stopping: start it again", infoFile(dir))
	}
	return info, nil
}

// alive says whether a process exists. Where a system cannot be asked it is
// taken to.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission) || runtime.GOOS == "windows"
}

// write replaces the file as a whole, so that no reader sees half of it.
func (i Info) write(dir string) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return hippo.Wrap(hippo.Internal, err, "describe the local stack")
	}
	file := infoFile(dir)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "describe the local stack")
	}
	return replaceFile(file, append(text, '\n'))
}

func removeInfo(dir string) error {
	if err := os.Remove(infoFile(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return hippo.Wrap(hippo.Internal, err, "remove what describes the local stack")
	}
	return nil
}

// replaceFile writes a file that only its owner can read, all or nothing.
func replaceFile(file string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "write "+file)
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		os.Remove(temp.Name())
		return hippo.Wrap(hippo.Unavailable, err, "write "+file)
	}
	return nil
}
