//go:build unix

package embedded

import (
	"errors"
	"os"
	"syscall"

	"github.com/hippofire/hippofire/hippo"
)

// lockFile takes the lock of a folder. The system releases it with the process.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, hippo.Wrap(hippo.Unavailable, err, "open the lock of the store")
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = hippo.Errorf(hippo.Conflict, "", "another process has the store open: %s is locked", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// syncFolder forces a folder's names onto the disk.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
