package emulator

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary serves as the JVM of these tests: a script that java resolves
// to calls it with fakeEnv set to what it has to do.
const fakeEnv = "HIPPOFIRE_FAKE_EMULATOR"

func TestMain(m *testing.M) {
	if do := os.Getenv(fakeEnv); do != "" {
		fake(do)
		return
	}
	os.Exit(m.Run())
}

func fake(do string) {
	switch do {
	case "fail":
		fmt.Println("no such luck")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Minute)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			os.Exit(4)
		}
		fmt.Println("child", child.Process.Pid)
	}
	port := os.Args[slices.Index(os.Args, "--port")+1]
	err := http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Ok")
	}))
	fmt.Println(err)
}

func fakeJava(t *testing.T, do string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script stands for java")
	}
	root := bare(t)
	t.Setenv("PATH", "/bin:/usr/bin")
	t.Setenv("JAVA_HOME", root)
	java := put(t, 0o755, root, "bin/java")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n" + fakeEnv + "=" + do + " exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(java, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FIRESTORE_EMULATOR_JAR", put(t, 0o644, filepath.Join(root, "fs.jar")))
}

func TestStartedEmulatorAnswersUntilItIsStopped(t *testing.T) {
	fakeJava(t, "serve")
	p, err := Firestore(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !answers(t.Context(), p.Addr()) || !strings.HasPrefix(p.Addr(), "127.0.0.1:") {
		t.Errorf("no answer at %s", p.Addr())
	}
	select {
	case <-p.Done():
		t.Error("done before it was stopped")
	default:
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	<-p.Done()
	if answers(t.Context(), p.Addr()) {
		t.Error("it still answers")
	}
	if err := p.Stop(); err != nil {
		t.Errorf("second stop: %v", err)
	}
}

func TestEmulatorThatDiesByItselfIsDone(t *testing.T) {
	fakeJava(t, "serve")
	p, err := Firestore(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}

func TestStubbornEmulatorIsKilledWithItsChildren(t *testing.T) {
	fakeJava(t, "stubborn")
	var log bytes.Buffer
	p, err := Firestore(t.Context(), Options{Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	_, number, _ := strings.Cut(strings.TrimSpace(log.String()), "child ")
	child, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("the log %q does not tell the child", log.String())
	}
	for range 100 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("child %d lives on", child)
}

func TestFailedStartTellsWhatTheEmulatorSaid(t *testing.T) {
	fakeJava(t, "fail")
	if _, err := Firestore(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("error %v, want one that says what the process printed", err)
	}
}

func TestStartEndsWithItsContextAndLeavesNothing(t *testing.T) {
	fakeJava(t, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Firestore(ctx, Options{}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v, want one that says that nothing answers", err)
	}
}
