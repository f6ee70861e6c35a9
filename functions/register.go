package functions

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/pubsub/v2"
	ff "github.com/GoogleCloudPlatform/functions-framework-go/functions"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/firestoredb"
)

// The functions as they are deployed. Nothing is connected before the first
// request.
func init() {
	post("TurnContext", (*App).Turn)
	post("RecordEpisode", (*App).Record)
	post("SaveTurn", (*App).Save)
	post("ListMemories", (*App).List)
	post("OpenMemory", (*App).Open)
	post("OpenStretch", (*App).OpenStretch)
	post("SearchHistory", (*App).Search)
	on("IndexHook", (*App).IndexHook)
	on("Repair", (*App).Repair)
}

// Endpoint is an HTTP function as its callers see it.
type Endpoint struct {
	Name string
	// Method is the App's method that answers it.
	Method            string
	Request, Response reflect.Type

	handler handlerOf
}

// handlerOf makes a function's handler for the App that get gives.
type handlerOf func(get func(context.Context) (*App, error)) http.HandlerFunc

var endpoints []Endpoint

// Endpoints lists the HTTP functions by name.
func Endpoints() []Endpoint {
	return slices.SortedFunc(slices.Values(endpoints), func(a, b Endpoint) int { return strings.Compare(a.Name, b.Name) })
}

// HTTPNames lists the names of the functions that take a POST of JSON.
func HTTPNames() []string {
	var names []string
	for _, e := range Endpoints() {
		names = append(names, e.Name)
	}
	return names
}

// Handler serves the functions of one App, each at its name.
func Handler(app *App) http.Handler {
	mux := http.NewServeMux()
	get := func(context.Context) (*App, error) { return app, nil }
	for _, e := range endpoints {
		mux.Handle("/"+e.Name, e.handler(get))
	}
	for _, e := range triggered {
		mux.Handle("/"+e.name, e.handler(get))
	}
	return mux
}

// trigger is a function that an event triggers.
type trigger struct {
	name    string
	handler handlerOf
}

var triggered []trigger

// EventNames lists the functions that an event triggers.
func EventNames() []string {
	var names []string
	for _, e := range triggered {
		names = append(names, e.name)
	}
	return names
}

// post registers an HTTP function.
func post[Req, Resp any](name string, answer func(*App, context.Context, Req) (Resp, error)) {
	e := Endpoint{Name: name, Method: methodName(answer), Request: reflect.TypeFor[Req](), Response: reflect.TypeFor[Resp]()}
	e.handler = func(get func(context.Context) (*App, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			serve(w, r, func(ctx context.Context, req Req) (Resp, error) {
				app, err := get(ctx)
				if err != nil {
					var none Resp
					return none, err
				}
				if err := app.callers.admit(ctx, tenantOf(req)); err != nil {
					var none Resp
					return none, err
				}
				return answer(app, ctx, req)
			})
		}
	}
	endpoints = append(endpoints, e)
	ff.HTTP(name, e.handler(shared.get))
}

// methodName is the name of a method given as an expression.
func methodName(f any) string {
	full := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

// on registers an event function.
func on(name string, take func(*App, context.Context, event.Event) error) {
	handler := func(get func(context.Context) (*App, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			receive(w, r, func(ctx context.Context, e event.Event) error {
				app, err := get(ctx)
				if err != nil {
					return err
				}
				return take(app, ctx, e)
			})
		}
	}
	triggered = append(triggered, trigger{name, handler})
	ff.HTTP(name, handler(shared.get))
}

// shared is the App of this process.
var shared = &provider{open: func(ctx context.Context) (*App, error) { return FromEnv(ctx, NewLog(os.Stderr)) }}

// provider makes an App when it is first asked for one. A failure is not kept, so
// that the next request tries again.
type provider struct {
	mu   sync.Mutex
	open func(context.Context) (*App, error)
	app  *App
}

func (p *provider) get(ctx context.Context) (*App, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.app != nil {
		return p.app, nil
	}
	app, err := p.open(context.WithoutCancel(ctx))
	if err != nil {
		return nil, hippo.Wrap(hippo.Internal, err, "the functions are not set up")
	}
	p.app = app
	return app, nil
}

// Provide makes this process serve app instead of one made from the environment.
func Provide(app *App) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.app = app
}

// FromEnv makes an App on Firestore and Pub/Sub as the environment configures.
func FromEnv(ctx context.Context, log *slog.Logger) (*App, error) {
	config, err := ConfigFromEnv(ctx, envconfig.OsLookuper())
	if err != nil {
		return nil, err
	}
	if config.Project == "" {
		return nil, hippo.Errorf(hippo.Invalid, "HIPPOFIRE_PROJECT", "is missing: set it, or GOOGLE_CLOUD_PROJECT, to the project of the database")
	}
	layout, err := config.Layout()
	if err != nil {
		return nil, err
	}
	store, err := firestoredb.Open(ctx, firestoredb.Config{ProjectID: config.Project, DatabaseID: config.Database}, layout)
	if err != nil {
		return nil, err
	}
	parts := Parts{Store: store, Log: log, Close: []func() error{store.Close}}
	if config.RepairTopic != "" {
		client, err := pubsub.NewClient(ctx, config.Project)
		if err != nil {
			store.Close()
			return nil, hippo.Wrap(hippo.Unavailable, err, "connecting to Pub/Sub")
		}
		publisher := newTopic(client, config.RepairTopic)
		parts.Publisher = publisher
		parts.Close = append(parts.Close, publisher.close)
	}
	return New(config, parts)
}
