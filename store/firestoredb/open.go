package firestoredb

import (
	"context"
	"math"
	"net/url"
	"os"
	"strings"

	vkit "cloud.google.com/go/firestore/apiv1"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hippofire/hippofire/hippo"
)

// DefaultDatabase is the id of a project's first database.
const DefaultDatabase = "(default)"

// Config says which database a store is in.
type Config struct {
	ProjectID string
	// DatabaseID is DefaultDatabase where it is empty.
	DatabaseID string
	// EmulatorHost is the host and port of an emulator to use in place of the
	// service. Where it is empty, FIRESTORE_EMULATOR_HOST decides.
	EmulatorHost string
}

// Store is the hippo.Store of one database. It is safe for concurrent use.
type Store struct {
	client *vkit.Client
	layout hippo.Layout
	// database is the database's resource name, root what every document's begins
	// with.
	database, root string
	headers        []string
}

var _ hippo.Store = (*Store)(nil)

// Open makes a store with a connection of its own, which is dialled with the
// first call. What intercepts its calls is passed as dial options.
func Open(ctx context.Context, cfg Config, layout hippo.Layout, dial ...grpc.DialOption) (*Store, error) {
	if cfg.ProjectID == "" || strings.Contains(cfg.ProjectID, "/") {
		return nil, hippo.Errorf(hippo.Invalid, "project", "%q is no project id", cfg.ProjectID)
	}
	if err := layout.Check(); err != nil {
		return nil, err
	}
	if cfg.DatabaseID == "" {
		cfg.DatabaseID = DefaultDatabase
	}
	if cfg.EmulatorHost == "" {
		cfg.EmulatorHost = os.Getenv("FIRESTORE_EMULATOR_HOST")
	}
	options, err := clientOptions(cfg, dial)
	if err != nil {
		return nil, hippo.Wrap(hippo.Internal, err, "connect to Firestore")
	}
	client, err := vkit.NewClient(ctx, options...)
	if err != nil {
		return nil, hippo.Wrap(hippo.Internal, err, "connect to Firestore")
	}
	client.CallOptions = &vkit.CallOptions{} // retry in rpc.go does it
	database := "projects/" + cfg.ProjectID + "/databases/" + cfg.DatabaseID
	return &Store{
		client: client, layout: layout, database: database, root: database + "/documents/",
		headers: []string{
			"google-cloud-resource-prefix", database,
			"x-goog-request-params", "project_id=" + url.QueryEscape(cfg.ProjectID) + "&database_id=" + url.QueryEscape(cfg.DatabaseID),
		},
	}, nil
}

// Close ends the connection.
func (s *Store) Close() error { return s.client.Close() }

func clientOptions(cfg Config, dial []grpc.DialOption) ([]option.ClientOption, error) {
	if cfg.EmulatorHost == "" {
		options := make([]option.ClientOption, len(dial))
		for i, d := range dial {
			options[i] = option.WithGRPCDialOption(d)
		}
		return options, nil
	}
	dial = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(owner{}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
	}, dial...)
	conn, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(cfg.EmulatorHost, "http://"), dial...)
	if err != nil {
		return nil, err
	}
	return []option.ClientOption{option.WithGRPCConn(conn)}, nil
}

// owner is who the emulator lets past the security rules.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }
