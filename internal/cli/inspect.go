package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/paging"
	"github.com/hippofire/hippofire/repairmsg"
)

type turnCmd struct {
	target
	Tenant  string `required:"" help:"Tenant." placeholder:"ID"`
	Thread  string `required:"" help:"Thread." placeholder:"ID"`
	Message string `help:"The new message of the user." placeholder:"TEXT"`
	Format  string `help:"Print the body for a provider: openai, anthropic or gemini." placeholder:"NAME"`
	Budget  *int   `help:"How many tokens the turn may cost." placeholder:"N"`
	JSON    bool   `help:"Print the function's answer."`
}

// Run builds the turn here, from the store; it asks nobody for a repair.
func (c *turnCmd) Run(ctx context.Context, to console) error {
	store, err := c.open(ctx, reads)
	if err != nil {
		return err
	}
	defer store.close()
	app, err := functions.New(store.config, functions.Parts{Store: store, Publisher: silent{}, Log: quiet()})
	if err != nil {
		return err
	}
	req := functions.TurnRequest{ThreadRef: functions.ThreadRef{Tenant: c.Tenant, Thread: c.Thread}, Format: c.Format, Budget: c.Budget}
	if c.Message != "" {
		req.Message = &functions.Message{ID: "new", Role: string(hippo.User), Content: c.Message}
	}
	turn, err := app.Turn(ctx, req)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return to.printJSON(turn)
	case turn.Body != nil:
		return to.printJSON(turn.Body)
	}
	printTurn(to, turn)
	return nil
}

// silent takes repair messages and does nothing with them.
type silent struct{}

func (silent) Publish(context.Context, repairmsg.Message) error { return nil }

func printTurn(to console, turn functions.TurnResponse) {
	for _, b := range turn.Blocks {
		if b.Text != "" {
			to.say("%s\n", b.Text)
		}
		for _, m := range b.Messages {
			from := string(m.Role)
			if m.Speaker != "" {
				from += " (" + m.Speaker + ")"
			}
			to.say("%s: %s", from, m.Content)
			for _, call := range m.ToolCalls {
				to.say("  calls %s(%s)", call.Name, call.Arguments)
			}
		}
	}
	if len(turn.Blocks) == 0 {
		to.say("The thread has no messages and the tenant no memories.")
	}
	l := turn.Ledger
	for _, d := range l.Dropped {
		to.say("\nNot shown of %s: %d (%s)", d.Block, d.Count, d.Why)
	}
	to.say("\n%d tokens, %d documents and %d bytes read, index %s, %d of %d memories listed", l.Tokens["total"], l.Documents, l.Bytes, l.Index, l.Listed, l.Memories)
}

type lsCmd struct {
	target
	Tenant []string `help:"Tenants to list; all of them where none is named." placeholder:"ID"`
	JSON   bool     `help:"Print JSON."`
}

// tenantCounts is how much a tenant holds.
type tenantCounts struct {
	Tenant   hippo.TenantID `json:"tenant"`
	Memories int            `json:"memories"`
	Threads  []threadCounts `json:"threads"`
}

type threadCounts struct {
	Thread   hippo.ThreadID `json:"thread"`
	Messages int            `json:"messages"`
	Episodes int            `json:"episodes"`
}

func (c *lsCmd) Run(ctx context.Context, to console) error {
	store, err := c.open(ctx, reads)
	if err != nil {
		return err
	}
	defer store.close()
	tenants, err := chosen(ctx, store, c.Tenant)
	if err != nil {
		return err
	}
	all := []tenantCounts{}
	for _, tenant := range tenants {
		counts, err := countTenant(ctx, store, tenant)
		if err != nil {
			return err
		}
		all = append(all, counts)
	}
	if c.JSON {
		return to.printJSON(all)
	}
	if len(all) == 0 {
		to.say("No tenant yet.")
		return nil
	}
	w := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tMEMORIES\tTHREAD\tMESSAGES\tEPISODES")
	for _, t := range all {
		if len(t.Threads) == 0 {
			fmt.Fprintf(w, "%s\t%d\t-\t-\t-\n", t.Tenant, t.Memories)
		}
		for _, th := range t.Threads {
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\n", t.Tenant, t.Memories, th.Thread, th.Messages, th.Episodes)
		}
	}
	return w.Flush()
}

// chosen are the tenants named, or all of them.
func chosen(ctx context.Context, store hippo.Store, names []string) ([]hippo.TenantID, error) {
	if len(names) > 0 {
		return tenantIDs(names)
	}
	return allTenants(ctx, store)
}

func countTenant(ctx context.Context, store hippo.Store, tenant hippo.TenantID) (tenantCounts, error) {
	counts := tenantCounts{Tenant: tenant, Threads: []threadCounts{}}
	var err error
	if counts.Memories, err = store.CountMemories(ctx, tenant); err != nil {
		return counts, err
	}
	for thread, err := range paging.All(func(from hippo.Cursor, limit int) ([]hippo.ThreadID, hippo.Cursor, error) {
		return store.Threads(ctx, tenant, from, limit)
	}) {
		if err != nil {
			return counts, err
		}
		t := threadCounts{Thread: thread}
		if t.Messages, err = store.CountMessages(ctx, tenant, thread); err != nil {
			return counts, err
		}
		if t.Episodes, err = store.CountEpisodes(ctx, tenant, thread); err != nil {
			return counts, err
		}
		counts.Threads = append(counts.Threads, t)
	}
	return counts, nil
}

// findingList says what a comparison found, one kind after the other.
func findingList(counts map[hippo.FindingType]int) string {
	var parts []string
	for _, t := range []hippo.FindingType{hippo.Absent, hippo.Missing, hippo.Stale, hippo.Orphan, hippo.Misplaced, hippo.Duplicate, hippo.Oversize, hippo.Unindexable} {
		if n := counts[t]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, t))
		}
	}
	return strings.Join(parts, ", ")
}
