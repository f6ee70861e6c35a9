package emulatortest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func answers(addr string) bool {
	resp, err := http.Get("http://" + addr + "/")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestEmulatorsAnswer(t *testing.T) {
	for name, addr := range map[string]string{"Firestore": Firestore(t), "Pub/Sub": PubSub(t)} {
		if !answers(addr) {
			t.Errorf("%s does not answer at %s", name, addr)
		}
	}
}

// TestPrintsAddress is what the next test runs in a process of its own.
func TestPrintsAddress(t *testing.T) {
	if os.Getenv("HIPPOFIRE_PRINT_ADDRESS") == "" {
		t.Skip("a part of another test")
	}
	fmt.Println("address", PubSub(t), answers(PubSub(t)))
	os.Exit(0)
}

func TestStartedEmulatorEndsWithTheTestBinary(t *testing.T) {
	PubSub(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	self := exec.Command(os.Args[0], "-test.run=^TestPrintsAddress$")
	self.Env = append(os.Environ(), "HIPPOFIRE_PRINT_ADDRESS=1", startEnv+"=start", pubsub.hostEnv+"=")
	out, err := self.Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) != 3 || fields[2] != "true" {
		t.Fatalf("the test binary printed %q, %v", out, err)
	}
	for range 100 {
		if !answers(fields[1]) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("the emulator at %s outlives the test binary that started it", fields[1])
}

func TestSkipSaysWhyAndCanBeForbidden(t *testing.T) {
	for _, tc := range []struct{ require, want string }{
		{"", "SKIP: TestStartedEmulatorEndsWithTheTestBinary"},
		{"1", "FAIL: TestStartedEmulatorEndsWithTheTestBinary"},
	} {
		self := exec.Command(os.Args[0], "-test.v", "-test.run=^TestStartedEmulatorEndsWithTheTestBinary$")
		self.Env = append(os.Environ(), pubsub.hostEnv+"=", startEnv+"=", requireEnv+"="+tc.require)
		out, _ := self.CombinedOutput()
		if !strings.Contains(string(out), tc.want) || !strings.Contains(string(out), "no emulator: set PUBSUB_EMULATOR_HOST") {
			t.Errorf("%s=%q printed\n%s\nwant %q and the reason", requireEnv, tc.require, out, tc.want)
		}
	}
}
