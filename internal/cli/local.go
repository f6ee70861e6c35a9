package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/client"
	"github.com/hippofire/hippofire/internal/localstack"
	"github.com/hippofire/hippofire/repairmsg"
)

type localCmd struct {
	Store     string `help:"Where documents lie: the Firestore emulator, or a store in this process that needs no Java." enum:"emulator,embedded" default:"emulator"`
	Data      string `help:"Keep the data in this folder over a restart." env:"HIPPOFIRE_DATA" placeholder:"DIR"`
	Firestore string `help:"Use the Firestore emulator that runs there." env:"FIRESTORE_EMULATOR_HOST" placeholder:"HOST:PORT"`
	Pubsub    string `help:"Use the Pub/Sub emulator that runs there." env:"PUBSUB_EMULATOR_HOST" placeholder:"HOST:PORT"`
	Project   string `help:"Project id to use." env:"HIPPOFIRE_PROJECT" default:"demo-hippofire" placeholder:"ID"`
	Rules     string `help:"Rules for the Firestore emulator; firestore.rules where it exists." type:"existingfile" placeholder:"FILE"`
	Log       string `help:"File for the logs of functions and emulators." default:".hippofire/local.log" placeholder:"FILE"`

	FirestorePort int `help:"Port of the Firestore emulator; a free one." default:"0" placeholder:"PORT"`
	PubsubPort    int `help:"Port of the Pub/Sub emulator; a free one." default:"0" placeholder:"PORT"`
	FunctionsPort int `help:"Port of the functions; a free one." default:"0" placeholder:"PORT"`
}

// stopWithin bounds the way down after Ctrl-C.
const stopWithin = 30 * time.Second

func (c *localCmd) Run(ctx context.Context, to console) error {
	config, err := functions.ConfigFromEnv(ctx, envconfig.OsLookuper())
	if err != nil {
		return err
	}
	layout, err := config.Layout()
	if err != nil {
		return err
	}
	logFile, err := c.openLog()
	if err != nil {
		return err
	}
	defer logFile.Close()
	log := functions.NewLog(logFile)
	start := localstack.Config{
		Store: localstack.StoreKind(c.Store), Data: c.Data, Project: c.Project, Layout: layout, RulesFile: c.rules(),
		FirestorePort: c.FirestorePort, PubSubPort: c.PubsubPort, FunctionsPort: c.FunctionsPort, EmulatorLog: logFile, Log: log,
		Functions: localstack.Framework(config, log),
	}
	if c.Store == string(localstack.Emulator) {
		start.FirestoreHost, start.PubSubHost = c.Firestore, c.Pubsub
	}
	fmt.Fprintln(to.err, "starting ...")
	stack, err := localstack.Start(ctx, start)
	if err != nil {
		return err
	}
	if c.Data != "" && c.Store == string(localstack.Emulator) {
		// The emulator gave every document a new update time when it took the data
		// back, and no event came of that.
		if err := client.New(stack.FunctionsURL).Push(ctx, repairmsg.Message{Cause: repairmsg.Nightly}); err != nil {
			log.Warn("no repair of what was kept", "error", err)
		}
	}
	c.announce(to, stack)
	waited := stack.Wait(ctx)
	fmt.Fprintln(to.err, "\nstopping ...")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := stack.Stop(stopping); err != nil {
		return err
	}
	return waited
}

func (c *localCmd) openLog() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o700); err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "--log")
	}
	file, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, hippo.Wrap(hippo.Invalid, err, "--log")
	}
	return file, nil
}

func (c *localCmd) rules() string {
	const file = "firestore.rules"
	if c.Rules == "" {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return c.Rules
}

// announce prints where everything is and how to use it.
func (c *localCmd) announce(to console, s *localstack.Stack) {
	to.say("Hippofire runs here.\n")
	rows := [][2]string{{"functions", s.FunctionsURL}, {"firestore", s.FirestoreHost}, {"pub/sub", s.PubSubHost}, {"project", s.Project}, {"data", s.DataDir}, {"log", c.Log}}
	for _, r := range rows {
		if r[1] != "" {
			to.say("  %-10s %s", r[0], r[1])
		}
	}
	for _, note := range s.Notes {
		to.say("\n%s", note)
	}
	to.say("\nTry each function:\n")
	for _, call := range examples() {
		to.say("  curl -s %s/%s -H 'Content-Type: application/json' -d '%s'", s.FunctionsURL, call[0], call[1])
	}
	to.say("\nA write to a memory causes IndexHook's event; RecordEpisode above makes one, and so does:\n")
	to.say("  %s", c.writeCommand(s))
	to.say("\nRepair's event, which Cloud Scheduler causes every night:\n\n  %s nightly", program())
	to.say("\nThen look at it:\n\n  %s turn --tenant demo --thread t1\n  %s ls\n  %s check", program(), program(), program())
	to.say("\nCtrl-C ends everything that was started.")
}

// examples are a body for each HTTP function, in an order in which they work.
func examples() [][2]string {
	end := hippo.Position{At: hippo.MicrosOf(time.Date(2026, 10, 1, 9, 0, 5, 0, time.UTC)), ID: "m2"}
	return [][2]string{
		{"SaveTurn", `{"tenant":"demo","thread":"t1","messages":[{"id":"m1","role":"user","content":"We open on Saturday.","created_at":"2026-10-01T09:00:00Z"},{"id":"m2","role":"assistant","content":"Noted.","created_at":"2026-10-01T09:00:05Z"}]}`},
		{"RecordEpisode", `{"tenant":"demo","thread":"t1","from":"m1","to":"m2","episode":"Opening day is Saturday.","writes":[{"name":"pages/Opening","content":"Saturday"}]}`},
		{"TurnContext", `{"tenant":"demo","thread":"t1"}`},
		{"ListMemories", `{"tenant":"demo","kind":"pages"}`},
		{"OpenMemory", `{"tenant":"demo","name":"pages/Opening"}`},
		{"OpenStretch", `{"tenant":"demo","thread":"t1","handle":"` + hippo.HandleOf(end) + `"}`},
		{"SearchHistory", `{"tenant":"demo","thread":"t1","query":"when do we open"}`},
	}
}

// writeCommand writes a memory from outside, as an editor would.
func (c *localCmd) writeCommand(s *localstack.Stack) string {
	if s.FirestoreHost == "" {
		return fmt.Sprintf(`curl -s %s/RecordEpisode -H 'Content-Type: application/json' -d '{"tenant":"demo","thread":"t1","from":"m1","to":"m1","episode":"","writes":[{"name":"pages/Another","content":"text"}]}'`, s.FunctionsURL)
	}
	id, _ := hippo.Base64URL.ID("pages/Another")
	return fmt.Sprintf(`curl -s -X PATCH -H 'Authorization: Bearer owner' 'http://%s/v1/projects/%s/databases/(default)/documents/tenants/demo/memories/%s' -d '{"fields":{"name":{"stringValue":"pages/Another"},"content":{"stringValue":"text"}}}'`,
		s.FirestoreHost, s.Project, id)
}

// program is how this program was called.
func program() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/hippofire"
	}
	if path, err := exec.LookPath("hippofire"); err == nil && path != "" {
		return "hippofire"
	}
	return os.Args[0]
}
