//go:build !unix

package embedded

import (
	"os"

	"github.com/hippofire/hippofire/hippo"
)

func lockFile(string) (*os.File, error) {
	return nil, hippo.Errorf(hippo.Denied, "", "a store cannot be saved to a folder on this system, which has no flock")
}

func syncFolder(string) error { return nil }
