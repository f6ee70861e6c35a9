// Package planted puts texts that can be searched for into everything that a tenant
// can have, so that tests of forgetting and of logs can look for them.
package planted

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/secret"
)

// Thread is the thread in which secrets are planted.
const Thread = hippo.ThreadID("planted")

// Env is the configuration of the functions that plant.
var Env envconfig.Lookuper = envconfig.MapLookuper(nil)

// Memory is the name of a memory with a secret in it, OldMemory the one it had
// before it was moved.
func Memory(tenant string) string    { return "pages/" + text(tenant, "name") }
func OldMemory(tenant string) string { return "pages/" + text(tenant, "oldname") }

func text(tenant, where string) string { return secret.Text(where + "Of" + tenant) }

func encoded(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

// OfMemories lists the secrets in memories and moves: they stay when a thread goes.
func OfMemories(tenant string) []string {
	return []string{text(tenant, "memory"), Memory(tenant), encoded(Memory(tenant)), encoded(OldMemory(tenant))}
}

// Secrets lists all that Plant plants, as it stands in documents.
func Secrets(tenant string) []string {
	return append(OfMemories(tenant),
		text(tenant, "message"), text(tenant, "speaker"), text(tenant, "gist"), text(tenant, "arguments"), strings.ToLower(text(tenant, "term")))
}

// App is what Plant needs of the functions.
type App interface {
	Save(ctx context.Context, req functions.SaveRequest) (functions.SaveResponse, error)
	Record(ctx context.Context, req episodewriter.Request) (episodewriter.Response, error)
}

// Plant gives a tenant an index, a thread, two episodes, a memory that was moved,
// and a report.
func Plant(ctx context.Context, app App, store hippo.Store, tenant string) error {
	t := hippo.TenantID(tenant)
	gen := hippo.Generation{ID: hippo.NewGenerationID(), Shards: hippo.MinShards, Version: hippo.IndexVersion}
	meta, err := store.AnnounceGeneration(ctx, t, hippo.Meta{}, gen)
	if err != nil {
		return err
	}
	if _, err := store.PromoteGeneration(ctx, t, meta); err != nil {
		return err
	}
	ref := functions.ThreadRef{Tenant: tenant, Thread: string(Thread)}
	_, err = app.Save(ctx, functions.SaveRequest{ThreadRef: ref, Messages: []functions.Message{
		{ID: "m1", Role: "user", Content: text(tenant, "message") + " and " + text(tenant, "term"), Speaker: text(tenant, "speaker")},
		{ID: "m2", Role: "assistant", ToolCalls: []hippo.ToolCall{{ID: "c", Name: "note", Arguments: `{"text":"` + text(tenant, "arguments") + `"}`}}},
	}})
	if err != nil {
		return err
	}
	of := func(message hippo.MessageID) episodewriter.Request {
		return episodewriter.Request{Tenant: t, Thread: Thread, From: message, To: message, Episode: "The user told of " + text(tenant, "gist") + "."}
	}
	first, second := of("m1"), of("m2")
	first.Writes = []episodewriter.Write{{Name: OldMemory(tenant), Content: "It is " + text(tenant, "memory") + "."}}
	second.Writes = []episodewriter.Write{{Name: Memory(tenant), Content: "It is still " + text(tenant, "memory") + "."}}
	second.Moves = []episodewriter.Move{{From: OldMemory(tenant), Into: Memory(tenant)}}
	for _, req := range []episodewriter.Request{first, second} {
		if _, err := app.Record(ctx, req); err != nil {
			return err
		}
	}
	return store.SaveReport(ctx, hippo.Report{Tenant: t, Memories: 1})
}
