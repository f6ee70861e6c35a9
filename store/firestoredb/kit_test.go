package firestoredb_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/emulator/emulatortest"
	"github.com/hippofire/hippofire/internal/firestoreconf"
	"github.com/hippofire/hippofire/store/firestoredb"
	"github.com/hippofire/hippofire/store/firestoredb/indexcheck"
	"github.com/hippofire/hippofire/store/storetest"
)

func TestStoreKeepsTheContractAndNeedsNoIndexThatIsNotDeclared(t *testing.T) {
	emulatortest.Firestore(t)
	recorders := map[hippo.Layout]*indexcheck.QueryRecorder{}
	storetest.Run(t, func(t *testing.T, layout hippo.Layout) storetest.Harness {
		recorders[layout] = &indexcheck.QueryRecorder{}
		return open(t, layout, recorders[layout].DialOptions()...)
	})
	for layout, recorder := range recorders {
		queries := recorder.Queries()
		if len(queries) == 0 {
			t.Fatal("no query was recorded")
		}
		file := firestoreconf.Indexes(layout).JSON()
		for _, problem := range problems(t, file, queries) {
			t.Error(problem)
		}
		for i := range composites(t, file) {
			if len(problems(t, without(t, file, i), queries)) == 0 {
				t.Errorf("no query needs indexes[%d] of firestore.indexes.json", i)
			}
		}
	}
}

// problems is what a firestore.indexes.json lacks for queries.
func problems(t *testing.T, file []byte, queries []*pb.StructuredQuery) []string {
	t.Helper()
	indexes, err := indexcheck.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, q := range queries {
		all = append(all, indexes.Check(q)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func composites(t *testing.T, file []byte) []any {
	t.Helper()
	var declared struct{ Indexes []any }
	if err := json.Unmarshal(file, &declared); err != nil {
		t.Fatal(err)
	}
	return declared.Indexes
}

// without is a firestore.indexes.json with one composite index less.
func without(t *testing.T, file []byte, index int) []byte {
	t.Helper()
	var declared map[string]any
	if err := json.Unmarshal(file, &declared); err != nil {
		t.Fatal(err)
	}
	declared["indexes"] = slices.Delete(composites(t, file), index, index+1)
	less, err := json.Marshal(declared)
	if err != nil {
		t.Fatal(err)
	}
	return less
}

// harness is a store in a project of its own, beside a client of the high-level
// library: another writer in every respect.
type harness struct {
	config       firestoredb.Config
	store, rerun *firestoredb.Store
	client       *firestore.Client
}

func open(t testing.TB, layout hippo.Layout, dial ...grpc.DialOption) harness {
	t.Helper()
	config := firestoredb.Config{
		ProjectID:    "p-" + strings.ToLower(rand.Text()),
		EmulatorHost: emulatortest.Firestore(t),
	}
	return harness{
		config: config,
		store:  openStore(t, config, layout, dial...),
		rerun:  openStore(t, config, layout, append(new(loser).dialOptions(), dial...)...),
		client: otherClient(t, config),
	}
}

func openStore(t testing.TB, config firestoredb.Config, layout hippo.Layout, dial ...grpc.DialOption) *firestoredb.Store {
	t.Helper()
	s, err := firestoredb.Open(t.Context(), config, layout, dial...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// beside opens another store over a harness's data.
func beside(t testing.TB, h harness, dial ...grpc.DialOption) *firestoredb.Store {
	t.Helper()
	return openStore(t, h.config, layout, dial...)
}

func otherClient(t testing.TB, config firestoredb.Config) *firestore.Client {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+config.EmulatorHost, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return call(asOwner(ctx), method, req, reply, conn, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return stream(asOwner(ctx), desc, conn, method, opts...)
		}))
	if err != nil {
		t.Fatal(err)
	}
	client, err := firestore.NewClient(t.Context(), config.ProjectID, option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func asOwner(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner")
}

func (h harness) Store() hippo.Store { return h.store }
func (h harness) Rerun() hippo.Store { return h.rerun }

func (h harness) PutDocument(ctx context.Context, path string, fields map[string]any) error {
	_, err := h.client.Doc(path).Set(ctx, fields)
	return err
}

func (h harness) DeleteDocument(ctx context.Context, path string) error {
	_, err := h.client.Doc(path).Delete(ctx)
	return err
}

func (h harness) Document(ctx context.Context, path string) (map[string]any, bool, error) {
	d, err := h.client.Doc(path).Get(ctx)
	if status.Code(err) == codes.NotFound {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return d.Data(), true, nil
}

// loser makes every transaction lose its first attempt: the commit is answered
// with ABORTED and never sent, unless its transaction says that it follows one
// that was lost.
type loser struct {
	mu     sync.Mutex
	second map[string]bool
}

func (l *loser) dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if c, ok := req.(*pb.CommitRequest); ok && c.Transaction != nil && !l.isSecond(c.Transaction) {
				return status.Error(codes.Aborted, "lost on purpose")
			}
			return call(ctx, method, req, reply, conn, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := stream(ctx, desc, conn, method, opts...)
			return &loserStream{ClientStream: s, loser: l}, err
		}),
	}
}

func (l *loser) isSecond(transaction []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.second[string(transaction)]
}

type loserStream struct {
	grpc.ClientStream
	loser  *loser
	follow bool
}

func (s *loserStream) SendMsg(m any) error {
	if r, ok := m.(*pb.BatchGetDocumentsRequest); ok {
		s.follow = r.GetNewTransaction().GetReadWrite().GetRetryTransaction() != nil
	}
	return s.ClientStream.SendMsg(m)
}

func (s *loserStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if r, ok := m.(*pb.BatchGetDocumentsResponse); ok && err == nil && s.follow && r.Transaction != nil {
		s.loser.mu.Lock()
		defer s.loser.mu.Unlock()
		if s.loser.second == nil {
			s.loser.second = make(map[string]bool)
		}
		s.loser.second[string(r.Transaction)] = true
	}
	return err
}
