package emulator

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// bare makes an environment in which nothing is installed but what the test
// puts under the returned folder.
func bare(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"FIRESTORE_EMULATOR_JAR", "PUBSUB_EMULATOR_PATH", "CLOUDSDK_ROOT_DIR", "FIREBASE_EMULATORS_PATH", "JAVA_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("PATH", filepath.Join(root, "path"))
	usual := usualRoots
	usualRoots = nil
	t.Cleanup(func() { usualRoots = usual })
	return root
}

func put(t *testing.T, mode os.FileMode, elem ...string) string {
	t.Helper()
	file := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestJarIsFoundInOrder(t *testing.T) {
	const firestoreSDK = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
	root := bare(t)
	cached := put(t, 0o644, root, "home/.cache/firebase/emulators/cloud-firestore-emulator-v1.19.8.jar")
	expect := func(when, want string) {
		t.Helper()
		got, err := firestoreJar.find(t.Context())
		if err != nil || got != want {
			t.Errorf("%s: found %q, %v; want %q", when, got, err, want)
		}
	}
	expect("only cached", cached)

	asked := put(t, 0o644, root, "asked", firestoreSDK)
	gcloud := put(t, 0o755, root, "path/gcloud")
	if err := os.WriteFile(gcloud, []byte("#!/bin/sh\necho "+filepath.Join(root, "asked")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	expect("gcloud says where", asked)

	usual := put(t, 0o644, root, "usual", firestoreSDK)
	usualRoots = []string{filepath.Join(root, "usual")}
	expect("in a usual folder", usual)

	linked := put(t, 0o644, root, "sdk", firestoreSDK)
	real := put(t, 0o755, root, "sdk/bin/gcloud")
	if err := os.Remove(gcloud); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, gcloud); err != nil {
		t.Fatal(err)
	}
	expect("gcloud is a link into the SDK", linked)

	rooted := put(t, 0o644, root, "rooted", firestoreSDK)
	t.Setenv("CLOUDSDK_ROOT_DIR", filepath.Join(root, "rooted"))
	expect("CLOUDSDK_ROOT_DIR", rooted)

	named := put(t, 0o644, root, "elsewhere/fs.jar")
	t.Setenv("FIRESTORE_EMULATOR_JAR", named)
	expect("FIRESTORE_EMULATOR_JAR", named)
}

func TestPubSubIsFoundByJarFolderOrScript(t *testing.T) {
	root := bare(t)
	jar := put(t, 0o644, root, "ps/lib/cloud-pubsub-emulator-0.8.20-all.jar")
	script := put(t, 0o755, root, "ps/bin/cloud-pubsub-emulator")
	for _, path := range []string{jar, script, filepath.Join(root, "ps"), filepath.Join(root, "ps/lib")} {
		t.Setenv("PUBSUB_EMULATOR_PATH", path)
		if got, err := pubsubJar.find(t.Context()); err != nil || got != jar {
			t.Errorf("PUBSUB_EMULATOR_PATH=%s: found %q, %v; want %q", path, got, err, jar)
		}
	}
}

func TestPubSubIsFoundInTheUnpackedCache(t *testing.T) {
	root := bare(t)
	cache := filepath.Join(root, "cache")
	t.Setenv("FIREBASE_EMULATORS_PATH", cache)
	older := put(t, 0o644, cache, "pubsub-emulator-0.8.9/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.9-all.jar")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(older, past, past); err != nil {
		t.Fatal(err)
	}
	want := put(t, 0o644, cache, "pubsub-emulator-0.8.20/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.20-all.jar")
	if got, err := pubsubJar.find(t.Context()); err != nil || got != want {
		t.Errorf("found %q, %v; want %q", got, err, want)
	}
}

func TestMissingPartsAreNamedWithTheCommandsThatInstallThem(t *testing.T) {
	commands := []string{
		"apt-get install openjdk-17-jre-headless",
		"gcloud components install cloud-firestore-emulator pubsub-emulator",
		"apt-get install google-cloud-cli-firestore-emulator google-cloud-cli-pubsub-emulator",
	}
	root := bare(t)
	check := func(want string, start func(context.Context, Options) (*Process, error)) {
		t.Helper()
		_, err := start(t.Context(), Options{})
		if !hippo.IsKind(err, hippo.NotFound) {
			t.Fatalf("error %v, want one of kind not found", err)
		}
		for _, s := range append(commands, want) {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("error %q does not say %q", err, s)
			}
		}
	}
	check("Java", Firestore)
	put(t, 0o755, root, "path/java")
	check("cloud-firestore-emulator", Firestore)
	check("cloud-pubsub-emulator", PubSub)
}

func TestNamedJarThatIsNotThereIsNotReplacedByAnother(t *testing.T) {
	root := bare(t)
	put(t, 0o755, root, "path/java")
	put(t, 0o644, root, "home/.cache/firebase/emulators/cloud-firestore-emulator-v1.19.8.jar")
	t.Setenv("FIRESTORE_EMULATOR_JAR", filepath.Join(root, "gone.jar"))
	if _, err := Firestore(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "FIRESTORE_EMULATOR_JAR") {
		t.Errorf("error %v, want one that names FIRESTORE_EMULATOR_JAR", err)
	}
}
