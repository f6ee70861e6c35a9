// Package dataset finds for tests the data that is no part of the project.
package dataset

import (
	"os"
	"testing"
)

// LoCoMo opens the LoCoMo file that HIPPOFIRE_LOCOMO names. It is CC BY-NC 4.0, which
// this project is not, and so is not shipped; without it the test is skipped.
func LoCoMo(t testing.TB) *os.File {
	t.Helper()
	path := os.Getenv("HIPPOFIRE_LOCOMO")
	if path == "" {
		t.Skip("no data set: set HIPPOFIRE_LOCOMO to the path of locomo10.json")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}
