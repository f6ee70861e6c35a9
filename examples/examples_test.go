// Package examples_test holds what the examples in other languages share with the
// Go code: the ids of memories.
package examples_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// agree runs a program that reads the vectors, and demands that it found them and
// nothing wrong.
func agree(t *testing.T, program, script string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: %v", program, err)
	}
	out, err := exec.CommandContext(t.Context(), program, script, "../hippo/testdata/id_vectors.json").CombinedOutput()
	if err != nil || !regexp.MustCompile(`^[1-9][0-9]+ vectors, 0 wrong\n$`).Match(out) {
		t.Errorf("%s %s: %v\n%s", program, script, err, out)
	}
}

func TestIDsOfMemoriesInPythonAreThoseOfTheVectors(t *testing.T) {
	agree(t, "python3", "python/memory_id.py")
}

func TestIDsOfMemoriesInNodeAreThoseOfTheVectors(t *testing.T) {
	agree(t, "node", "node/memory_id.mjs")
}
