// Package emulator finds, starts and stops the Firestore and the Pub/Sub
// emulator on this machine.
//
// Both are Java programs. Their jars come with the Google Cloud CLI or with
// firebase-tools; the package runs the jars themselves and none of the scripts
// around them, so that the process it starts is the one it has to end.
package emulator

import (
	"context"
	"io"
	"strconv"
)

// Options say how an emulator is started. The zero value is a free port of
// 127.0.0.1 and no output.
type Options struct {
	Host string
	Port int
	// Log receives what the emulator prints.
	Log io.Writer
	// RulesFile holds the security rules. Firestore only.
	RulesFile string
	// FunctionsEmulator is the host and port to which registered triggers are
	// delivered. Firestore only.
	FunctionsEmulator string
}

// Firestore starts the Firestore emulator and returns when it answers. The
// context bounds the start alone; Stop ends the emulator. Where Java or the jar
// is missing, the error says how to install them.
func Firestore(ctx context.Context, opts Options) (*Process, error) {
	java, jar, err := find(ctx, firestoreJar)
	if err != nil {
		return nil, err
	}
	return start(ctx, "the Firestore emulator", opts, func(host string, port int) []string {
		argv := []string{java, "-Duser.language=en", "-Xmx2g", "-cp", jar,
			"com.google.cloud.datastore.emulator.firestore.CloudFirestore", "--host", host, "--port", strconv.Itoa(port)}
		if opts.RulesFile != "" {
			argv = append(argv, "--rules", opts.RulesFile)
		}
		if opts.FunctionsEmulator != "" {
			argv = append(argv, "--functions_emulator", opts.FunctionsEmulator)
		}
		return argv
	})
}

// PubSub starts the Pub/Sub emulator, as Firestore does.
func PubSub(ctx context.Context, opts Options) (*Process, error) {
	java, jar, err := find(ctx, pubsubJar)
	if err != nil {
		return nil, err
	}
	return start(ctx, "the Pub/Sub emulator", opts, func(host string, port int) []string {
		return []string{java, "-Xmx1g", "-jar", jar, "--host=" + host, "--port=" + strconv.Itoa(port)}
	})
}
