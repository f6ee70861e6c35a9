// Package storetest is the conformance kit of hippo.Store: a case for every
// sentence of the interface's comment. A store's own test opens it and calls
// Run; a fault found in one store becomes a case here.
//
// What every store is expected to charge to the context's Meter:
//
//   - a document read by its name is one read, and its bytes are the
//     schema.Size of what came back; one that does not exist is a read of no
//     bytes;
//   - a query is as many reads as it returned documents, and at least one;
//   - a projection has the size of the document with the fields it names alone:
//     updated_at for ScanEntries, MemoryTimes and what transactions look at of a
//     memory, created_at for Positions, none for what SaveMessages looks at, and
//     all but the entries for SweepIndex;
//   - a count is one read for up to 1,000 documents, and no bytes;
//   - a write is one for each document that the commit sets, updates or deletes,
//     whether or not it was there.
package storetest

import (
	"context"
	"testing"

	"github.com/hippofire/hippofire/hippo"
)

// Harness is a store under test, and a way around it to the documents, as any
// other writer of the same database has it. Paths are relative to the database.
type Harness interface {
	// Store is a store over data that no other test touches, empty at first.
	Store() hippo.Store
	// PutDocument writes a whole document, replacing one that is there.
	PutDocument(ctx context.Context, path string, fields map[string]any) error
	// DeleteDocument deletes a document; one that does not exist is no error.
	DeleteDocument(ctx context.Context, path string) error
	// Document reads a document; false where it does not exist.
	Document(ctx context.Context, path string) (map[string]any, bool, error)
}

// Rerunner is a Harness that can also make every transaction run twice. Where it
// is one, the kit runs its cases on that store too.
type Rerunner interface {
	// Rerun is a store over the same data whose transactions all lose their first
	// attempt, as under contention: the closure has run to its end, but nothing
	// of it is committed, and it is run again. It is called once, when the kit is
	// done with Store.
	Rerun() hippo.Store
}

// OtherLayout differs from the default layout in every path, every name of a
// field, and in the naming.
// Its documents of one tenant, and of one thread, do not lie under one document.
func OtherLayout() hippo.Layout {
	return hippo.Layout{
		Paths: hippo.Paths{
			Memory:  "users/{tenant}/pages/{memory}",
			Index:   "apps/agent/customers/{tenant}/derived/{shard}",
			Move:    "apps/agent/customers/{tenant}/gone/{memory}",
			Message: "apps/agent/customers/{tenant}/chats/{thread}/lines/{message}",
			Episode: "apps/agent/customers/{tenant}/chats/{thread}/stretches/{episode}",
			Pass:    "apps/agent/customers/{tenant}/receipts/{thread}/of/{pass}",
			Report:  "apps/agent/nightly/{tenant}/runs/{report}",
		},
		Fields: hippo.Fields{
			MemoryName: "title", MemoryContent: "body", MemoryUpdatedAt: "edited_at",
			MessageRole: "from", MessageContent: "text", MessageCreatedAt: "sent_at",
		},
		Naming: hippo.Plain,
	}
}

// Run holds the store that open makes against the contract, in two layouts. What
// open leaves behind it clears up with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T, layout hippo.Layout) Harness) {
	for name, layout := range map[string]hippo.Layout{"default layout": hippo.DefaultLayout(), "other layout": OtherLayout()} {
		t.Run(name, func(t *testing.T) {
			h := open(t, layout)
			t.Run("cases", func(t *testing.T) { runCases(t, h, h.Store(), layout, false) })
			if r, ok := h.(Rerunner); ok {
				t.Run("transactions run twice", func(t *testing.T) { runCases(t, h, r.Rerun(), layout, true) })
			}
		})
	}
}
