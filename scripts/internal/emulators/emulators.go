// Package emulators starts the two emulators once for everything that a script
// runs, and installs what they need where that can be done without asking.
package emulators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator"
)

// Running are emulators that tests can use.
type Running struct {
	// Env are the variables that lead tests to them and forbid to skip.
	Env     []string
	started []*emulator.Process
}

// Stop ends the emulators that Start started.
func (r *Running) Stop() error {
	var failed []error
	for _, p := range r.started {
		failed = append(failed, p.Stop())
	}
	return errors.Join(failed...)
}

// Start starts what no variable of the environment names already, and says so
// on out. What is missing on this machine is installed first, see Install.
func Start(ctx context.Context, out io.Writer) (*Running, error) {
	r := &Running{Env: []string{"HIPPOFIRE_REQUIRE_EMULATORS=1", "HIPPOFIRE_TEST_EMULATORS=start"}}
	err := r.start(ctx, out)
	if hippo.IsKind(err, hippo.NotFound) {
		if installErr := installMissing(ctx, out); installErr != nil {
			return nil, errors.Join(installErr, err)
		}
		err = r.start(ctx, out)
	}
	if err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// start starts both at the same time.
func (r *Running) start(ctx context.Context, out io.Writer) error {
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed []error
	)
	for env, run := range map[string]func(context.Context, emulator.Options) (*emulator.Process, error){
		"FIRESTORE_EMULATOR_HOST": emulator.Firestore,
		"PUBSUB_EMULATOR_HOST":    emulator.PubSub,
	} {
		if addr := os.Getenv(env); addr != "" {
			fmt.Fprintf(out, "%s=%s is used as it is\n", env, addr)
			continue
		}
		wg.Go(func() {
			p, err := run(ctx, emulator.Options{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
				return
			}
			r.started = append(r.started, p)
			r.Env = append(r.Env, env+"="+p.Addr())
			fmt.Fprintf(out, "%s=%s started\n", env, p.Addr())
		})
	}
	wg.Wait()
	if len(failed) > 0 {
		return failed[0]
	}
	return nil
}

func installMissing(ctx context.Context, out io.Writer) error {
	if _, err := exec.LookPath("java"); err != nil {
		if err := Install(ctx, out, "default-jre-headless"); err != nil {
			return err
		}
	}
	return Install(ctx, out, "google-cloud-cli-firestore-emulator", "google-cloud-cli-pubsub-emulator")
}

// Install installs Debian packages where this process may do so: on Debian or
// one of its kin, as root. Elsewhere the error says what to run.
func Install(ctx context.Context, out io.Writer, packages ...string) error {
	install := append([]string{"install", "-y", "-q", "--no-upgrade"}, packages...)
	if _, err := exec.LookPath("apt-get"); err != nil || runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return fmt.Errorf("missing here; on Debian or Ubuntu: sudo apt-get install %s", strings.Join(packages, " "))
	}
	for _, args := range [][]string{{"update", "-q"}, install} {
		fmt.Fprintf(out, "installing what is missing: apt-get %s\n", strings.Join(args, " "))
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}
