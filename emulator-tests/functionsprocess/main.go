// Command functionsprocess is the functions as a process that a test starts,
// kills and starts again: what is deployed, on the emulators, with faults in its
// calls to Firestore and a clock that is wrong. It says each fault on its log.
package main

import (
	"context"
	"log"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
	"github.com/sethvargo/go-envconfig"
	"google.golang.org/grpc/codes"

	"github.com/hippofire/hippofire/emulator-tests/rpcfault"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/repairmsg"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// settings are what a test sets beside the functions' own configuration.
type settings struct {
	Port string `env:"PORT, required"`
	// Faults are how many of 1,000 calls fail, drawn from Seed.
	Faults int    `env:"TEST_FAULTS_PER_THOUSAND"`
	Seed   uint64 `env:"TEST_SEED"`
	// Skew is by how much the host's clock is wrong.
	Skew time.Duration `env:"TEST_CLOCK_SKEW"`
}

func main() {
	if err := serve(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	var s settings
	if err := envconfig.Process(ctx, &s); err != nil {
		return err
	}
	config, err := functions.ConfigFromEnv(ctx, envconfig.OsLookuper())
	if err != nil {
		return err
	}
	layout, err := config.Layout()
	if err != nil {
		return err
	}
	log := functions.NewLog(os.Stderr)
	dial := rpcfault.DialOptions(drawn(s, log))
	store, err := firestoredb.Open(ctx, firestoredb.Config{ProjectID: config.Project, DatabaseID: config.Database}, layout, dial...)
	if err != nil {
		return err
	}
	topic, err := pubsub.NewClient(ctx, config.Project)
	if err != nil {
		return err
	}
	app, err := functions.New(config, functions.Parts{
		Store:     store,
		Publisher: publisher{topic.Publisher(config.RepairTopic)},
		Log:       log,
		Now:       func() time.Time { return time.Now().Add(s.Skew) },
	})
	if err != nil {
		return err
	}
	functions.Provide(app)
	return funcframework.StartHostPort("127.0.0.1", s.Port)
}

// drawn draws what becomes of each call.
func drawn(s settings, log *slog.Logger) func(int, string) rpcfault.Fault {
	random := rand.New(rand.NewPCG(s.Seed, 1))
	return func(_ int, method string) rpcfault.Fault {
		if random.IntN(1000) >= s.Faults {
			return rpcfault.Fault{}
		}
		f := rpcfault.Fault{Code: rpcfault.Codes[random.IntN(len(rpcfault.Codes))]}
		// A commit that Firestore says was aborted has not been applied.
		f.Applied = rpcfault.IsCommit(method) && f.Code != codes.Aborted && random.IntN(2) == 0
		log.Info("fault injected", "fault", f.String(), "method", method)
		return f
	}
}

type publisher struct{ *pubsub.Publisher }

func (p publisher) Publish(ctx context.Context, m repairmsg.Message) error {
	_, err := p.Publisher.Publish(ctx, &pubsub.Message{Data: m.Encode()}).Get(ctx)
	return err
}
