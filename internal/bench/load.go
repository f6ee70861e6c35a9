package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
)

// LoadPlan is how the served functions are loaded: every client asks for a turn,
// and each fifth time saves two messages, as fast as it is answered.
type LoadPlan struct {
	Clients, Tenants, Memories int
	For                        time.Duration
}

// saveEach is how many requests of a client one SaveTurn is among.
const saveEach = 5

// loadThread is how long each tenant's thread is at the beginning.
const loadThread = 200

// LoadReport is what came of it.
type LoadReport struct {
	Store   string         `json:"store"`
	Clients int            `json:"clients"`
	Tenants int            `json:"tenants"`
	Seconds float64        `json:"seconds"`
	Answers int            `json:"answers"`
	PerSec  float64        `json:"answers_per_second"`
	P50     float64        `json:"p50_milliseconds"`
	P99     float64        `json:"p99_milliseconds"`
	Errors  map[string]int `json:"errors"`
	// HeapMB is the memory in use at its most, sampled, of the process that serves
	// and asks.
	HeapMB float64 `json:"heap_megabytes"`
}

// Load serves the HTTP functions on a port of this machine and loads them.
func (w *World) Load(ctx context.Context, store string, plan LoadPlan, doing func(what string, done int)) (LoadReport, error) {
	report := LoadReport{Store: store, Clients: plan.Clients, Tenants: plan.Tenants, Errors: map[string]int{}}
	if err := w.loadTenants(ctx, plan, doing); err != nil {
		return report, err
	}
	app, err := functions.New(functions.Config{
		Naming: string(w.Layout.Naming), Window: 30, CacheBytes: 64 << 20, Trusted: []string{string(hippo.User), string(hippo.Assistant)},
	}, functions.Parts{Store: w.Store, Log: functions.NewLog(io.Discard)})
	if err != nil {
		return report, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return report, hippo.Wrap(hippo.Unavailable, err, "serving the functions")
	}
	server := &http.Server{Handler: functions.Handler(app), ReadHeaderTimeout: time.Minute}
	go server.Serve(l)
	defer server.Close()
	doing("loading the functions, clients", plan.Clients)
	report.take(load(ctx, "http://"+l.Addr().String(), plan))
	return report, ctx.Err()
}

// loadTenants gives every tenant memories, their index, and a thread.
func (w *World) loadTenants(ctx context.Context, plan LoadPlan, doing func(what string, done int)) error {
	mend := repair.New(w, w.Layout.Naming, w.reconciler(), repairmsg.Nobody{}, functions.NewLog(io.Discard), repair.Options{RunFor: time.Hour})
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range plan.Tenants {
		group.Go(func() error {
			tenant := loadTenant(i)
			documents := map[string]map[string]any{}
			for n := range plan.Memories {
				id, err := w.Layout.Naming.ID(memoryName(n))
				if err != nil {
					return err
				}
				documents[hippo.Fill(w.Layout.Paths.Memory, string(tenant), string(id))] = map[string]any{"name": memoryName(n), "content": content, "updated_at": epoch.Add(time.Duration(n) * time.Minute)}
			}
			if err := w.PutDocuments(ctx, documents); err != nil {
				return err
			}
			if err := mend.Handle(ctx, repairmsg.Message{Tenant: tenant, Cause: repairmsg.NoIndex}); err != nil {
				return err
			}
			doing("writing tenants", i)
			return w.thread(ctx, tenant, "main", loadThread, func(int) {})
		})
	}
	return group.Wait()
}

func loadTenant(i int) hippo.TenantID { return hippo.TenantID(fmt.Sprintf("bench-%03d", i)) }

// loaded is what the clients saw.
type loaded struct {
	mu     sync.Mutex
	times  []float64
	errors map[string]int
	heap   uint64
	took   time.Duration
}

func load(ctx context.Context, url string, plan LoadPlan) *loaded {
	out := &loaded{errors: map[string]int{}}
	ctx, cancel := context.WithTimeout(ctx, plan.For)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: plan.Clients}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	start := time.Now()
	for c := range plan.Clients {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				out.ask(ctx, client, url, c, n, plan)
			}
		})
	}
	wg.Go(func() { out.watchHeap(ctx) })
	wg.Wait()
	out.took = time.Since(start)
	return out
}

// ask sends one request and notes what came of it. One that the end of the load
// cuts off does not count.
func (l *loaded) ask(ctx context.Context, client *http.Client, url string, c, n int, plan LoadPlan) {
	ref := functions.ThreadRef{Tenant: string(loadTenant((c + n) % plan.Tenants)), Thread: "main"}
	name, request := "TurnContext", any(functions.TurnRequest{ThreadRef: ref, Format: "openai", Message: &functions.Message{ID: "new", Role: "user", Content: "And what now?"}})
	if n%saveEach == saveEach-1 {
		id := fmt.Sprintf("c%d-%d", c, n)
		name, request = "SaveTurn", functions.SaveRequest{ThreadRef: ref, Messages: []functions.Message{
			{ID: id + "q", Role: "user", Content: "What did he say about the deposit?"}, {ID: id + "a", Role: "assistant", Content: "That it can wait until the papers are signed."},
		}}
	}
	start := time.Now()
	failure := postOnce(ctx, client, url+"/"+name, request)
	took := float64(time.Since(start).Microseconds()) / 1000
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if failure != "" {
		l.errors[name+": "+failure]++
		return
	}
	l.times = append(l.times, took)
}

// postOnce says what went wrong; empty where nothing did.
func postOnce(ctx context.Context, client *http.Client, url string, request any) string {
	body, err := json.Marshal(request)
	if err != nil {
		return err.Error()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	resp, err := client.Do(req)
	if err != nil {
		return "no answer"
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "half an answer"
	}
	if resp.StatusCode != http.StatusOK {
		return resp.Status
	}
	return ""
}

func (l *loaded) watchHeap(ctx context.Context) {
	var stats runtime.MemStats
	for {
		runtime.ReadMemStats(&stats)
		l.heap = max(l.heap, stats.HeapInuse)
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (r *LoadReport) take(l *loaded) {
	r.Seconds, r.Answers, r.Errors = l.took.Seconds(), len(l.times), l.errors
	r.PerSec = float64(r.Answers) / r.Seconds
	r.HeapMB = float64(l.heap) / 1e6
	if len(l.times) > 0 {
		slices.Sort(l.times)
		r.P50, r.P99 = percentile(l.times, 0.5), percentile(l.times, 0.99)
	}
}
