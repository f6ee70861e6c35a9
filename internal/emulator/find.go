package emulator

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// program says where an emulator's jar may lie.
type program struct {
	// env names a variable that holds the jar's path, or a path beside it.
	env string
	// inSDK and inCache are patterns under the Google Cloud CLI's folder and
	// under firebase-tools' cache.
	inSDK, inCache string
	// beside are patterns for the jar where env names a folder, or a script in
	// the folder bin.
	beside []string
}

var (
	firestoreJar = program{
		env:     "FIRESTORE_EMULATOR_JAR",
		inSDK:   "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar",
		inCache: "cloud-firestore-emulator-*.jar",
		beside:  []string{"cloud-firestore-emulator*.jar"},
	}
	pubsubJar = program{
		env:     "PUBSUB_EMULATOR_PATH",
		inSDK:   "platform/pubsub-emulator/lib/cloud-pubsub-emulator*.jar",
		inCache: "pubsub-emulator-*/pubsub-emulator/lib/cloud-pubsub-emulator*.jar",
		beside:  []string{"cloud-pubsub-emulator*.jar", "lib/cloud-pubsub-emulator*.jar"},
	}
)

const install = `The emulators need Java 17 or newer and their jars. On Debian or Ubuntu:
  sudo apt-get install openjdk-17-jre-headless
and, where the Google Cloud CLI came from its own installer:
  gcloud components install cloud-firestore-emulator pubsub-emulator
or, where it came from apt:
  sudo apt-get install google-cloud-cli-firestore-emulator google-cloud-cli-pubsub-emulator
FIRESTORE_EMULATOR_JAR and PUBSUB_EMULATOR_PATH name jars that lie elsewhere.`

// find looks for Java and for a program's jar.
func find(ctx context.Context, p program) (java, jar string, err error) {
	java, err = findJava()
	if err != nil {
		return "", "", err
	}
	jar, err = p.find(ctx)
	return java, jar, err
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if java, err := exec.LookPath(filepath.Join(home, "bin", "java")); err == nil {
			return java, nil
		}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", hippo.Errorf(hippo.NotFound, "", "Java was not found. %s", install)
	}
	return java, nil
}

func (p program) find(ctx context.Context) (string, error) {
	if named := os.Getenv(p.env); named != "" {
		return p.named(named)
	}
	for _, root := range sdkRoots() {
		if jar := newest(filepath.Join(root, p.inSDK)); jar != "" {
			return jar, nil
		}
	}
	if root := askedRoot(ctx); root != "" {
		if jar := newest(filepath.Join(root, p.inSDK)); jar != "" {
			return jar, nil
		}
	}
	if jar := newest(filepath.Join(cacheRoot(), p.inCache)); jar != "" {
		return jar, nil
	}
	return "", hippo.Errorf(hippo.NotFound, "", "No %s was found. %s", filepath.Base(p.inSDK), install)
}

// named finds the jar by the path that the environment gives: the jar, the
// folder that holds it, or the script that starts it.
func (p program) named(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", hippo.Wrap(hippo.NotFound, err, p.env)
	}
	if strings.HasSuffix(path, ".jar") {
		return path, nil
	}
	folder := path
	if !info.IsDir() {
		folder = filepath.Dir(filepath.Dir(path))
	}
	for _, pattern := range p.beside {
		if jar := newest(filepath.Join(folder, pattern)); jar != "" {
			return jar, nil
		}
	}
	return "", hippo.Errorf(hippo.NotFound, p.env, "%q is no jar and has none beside it", path)
}

// sdkRoots lists where the Google Cloud CLI usually lies. The command itself is
// asked last, since it takes seconds to answer.
func sdkRoots() []string {
	var roots []string
	if root := os.Getenv("CLOUDSDK_ROOT_DIR"); root != "" {
		roots = append(roots, root)
	}
	if gcloud, err := exec.LookPath("gcloud"); err == nil {
		if real, err := filepath.EvalSymlinks(gcloud); err == nil {
			roots = append(roots, filepath.Dir(filepath.Dir(real)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, filepath.Join(home, "google-cloud-sdk"))
	}
	return append(roots, usualRoots...)
}

var usualRoots = []string{
	"/usr/lib/google-cloud-sdk",
	"/usr/share/google-cloud-sdk",
	"/opt/google-cloud-sdk",
	"/snap/google-cloud-cli/current",
	"/opt/homebrew/share/google-cloud-sdk",
	"/usr/local/share/google-cloud-sdk",
}

// askedRoot is the CLI's folder as the CLI itself tells it; empty where it
// cannot be asked.
func askedRoot(ctx context.Context) string {
	gcloud, err := exec.LookPath("gcloud")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, gcloud, "info", "--format=value(installation.sdk_root)").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func cacheRoot() string {
	if root := os.Getenv("FIREBASE_EMULATORS_PATH"); root != "" {
		return root
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "firebase", "emulators")
}

// newest is the file of a pattern that was written last; empty where there is
// none.
func newest(pattern string) string {
	files, _ := filepath.Glob(filepath.FromSlash(pattern))
	if len(files) == 0 {
		return ""
	}
	return slices.MaxFunc(files, func(a, b string) int {
		return cmp.Or(written(a).Compare(written(b)), strings.Compare(a, b))
	})
}

func written(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
