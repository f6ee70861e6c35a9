package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
	"github.com/hippofire/hippofire/textscan"
)

type episodesCmd struct {
	target
	Tenant string `required:"" help:"Tenant." placeholder:"ID"`
	Thread string `required:"" help:"Thread." placeholder:"ID"`
	JSON   bool   `help:"Print JSON."`
}

// episode is an episode as an operator sees it.
type episode struct {
	Handle    string       `json:"handle"`
	From      place        `json:"from"`
	To        place        `json:"to"`
	CreatedAt hippo.Micros `json:"created_at"`
	Gist      string       `json:"gist"`
	// Blocked is the rule of the scan that keeps the line from being shown, today's
	// where none was stored with it.
	Blocked  string    `json:"blocked,omitempty"`
	Pointers []pointer `json:"pointers"`
}

// place is where a message stands in its thread.
type place struct {
	Message hippo.MessageID `json:"message"`
	At      hippo.Micros    `json:"at"`
}

// pointer is a memory that a pass wrote, and what became of it.
type pointer struct {
	Name  string `json:"name"`
	State state  `json:"state"`
	// Now is the name of the memory it was moved into.
	Now string `json:"now,omitempty"`
	// Blocked is the rule of the scan that keeps the name from being shown.
	Blocked string `json:"blocked,omitempty"`
}

type state string

const (
	there   state = "there"
	moved   state = "moved"
	deleted state = "deleted"
)

func (c *episodesCmd) Run(ctx context.Context, to console) error {
	tenant, err := hippo.NewTenantID(c.Tenant)
	if err != nil {
		return hippo.InField(err, "--tenant")
	}
	thread, err := hippo.NewThreadID(c.Thread)
	if err != nil {
		return hippo.InField(err, "--thread")
	}
	store, err := c.open(ctx, reads)
	if err != nil {
		return err
	}
	defer store.close()
	episodes, err := listEpisodes(ctx, store, tenant, thread)
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(episodes)
	}
	printEpisodes(to, episodes)
	return nil
}

func printEpisodes(to console, episodes []episode) {
	if len(episodes) == 0 {
		to.say("The thread has no episodes.")
	}
	const minute = "2006-01-02 15:04"
	for _, e := range episodes {
		line := prompttext.Line(e.Gist)
		if e.Blocked != "" {
			line = fmt.Sprintf("blocked by the rule %s: %q", e.Blocked, e.Gist)
		}
		to.say("[%s] %s to %s, messages %s to %s\n    %s", e.Handle, e.From.At.Time().Format(minute), e.To.At.Time().Format(minute), e.From.Message, e.To.Message, line)
		for _, p := range e.Pointers {
			to.say("    - %s%s", prompttext.Line(p.Name), p.fate())
		}
	}
}

func (p pointer) fate() string {
	text := ""
	switch p.State {
	case moved:
		text = ": moved into " + prompttext.Line(p.Now)
	case deleted:
		text = ": deleted"
	}
	if p.Blocked != "" {
		text += ", its name blocked by the rule " + p.Blocked
	}
	return text
}

// listEpisodes lists all episodes of a thread in the order of their ends.
func listEpisodes(ctx context.Context, store *opened, tenant hippo.TenantID, thread hippo.ThreadID) ([]episode, error) {
	const page = 100
	list := []episode{}
	for after := (hippo.Position{}); ; {
		read, err := store.EpisodesAfter(ctx, tenant, thread, after, page)
		if err != nil {
			return nil, err
		}
		fates, err := fatesOf(ctx, store, tenant, read)
		if err != nil {
			return nil, err
		}
		for _, e := range read {
			list = append(list, describe(e, fates))
			after = e.To
		}
		if len(read) < page {
			return list, nil
		}
	}
}

func describe(e hippo.Episode, fates map[hippo.MemoryID]pointer) episode {
	out := episode{
		Handle: e.Handle, From: place{e.From.ID, e.From.At}, To: place{e.To.ID, e.To.At},
		CreatedAt: e.CreatedAt, Gist: e.Gist, Blocked: e.Blocked, Pointers: []pointer{},
	}
	if out.Blocked == "" {
		out.Blocked, _ = textscan.Scan(e.Gist)
	}
	for _, id := range e.Pointers {
		out.Pointers = append(out.Pointers, fates[id])
	}
	return out
}

// maxMoves is how often in a row a memory that was moved is followed, as a turn
// does it.
const maxMoves = 3

// fatesOf tells what became of the memories that episodes point at.
func fatesOf(ctx context.Context, store *opened, tenant hippo.TenantID, episodes []hippo.Episode) (map[hippo.MemoryID]pointer, error) {
	now := make(map[hippo.MemoryID]hippo.MemoryID) // where each one is, as far as it was followed
	for _, e := range episodes {
		for _, id := range e.Pointers {
			now[id] = id
		}
	}
	exists := make(map[hippo.MemoryID]bool)
	for step := 0; ; step++ {
		missing, err := look(ctx, store, tenant, now, exists)
		if err != nil {
			return nil, err
		}
		if len(missing) == 0 || step == maxMoves {
			break
		}
		moves, err := store.Moves(ctx, tenant, missing)
		if err != nil {
			return nil, err
		}
		for id, at := range now {
			if into, ok := moves[at]; ok {
				now[id] = into
			}
		}
	}
	fates := make(map[hippo.MemoryID]pointer, len(now))
	for id, at := range now {
		p := pointer{Name: nameOf(store, id), State: deleted}
		switch {
		case exists[at] && at == id:
			p.State = there
		case exists[at]:
			p.State, p.Now = moved, nameOf(store, at)
		}
		if exists[at] {
			p.Blocked, _ = textscan.Scan(nameOf(store, at))
		}
		fates[id] = p
	}
	return fates, nil
}

// look notes which places exist, and lists those that do not.
func look(ctx context.Context, store *opened, tenant hippo.TenantID, now map[hippo.MemoryID]hippo.MemoryID, exists map[hippo.MemoryID]bool) ([]hippo.MemoryID, error) {
	const batch = 300
	var places, missing []hippo.MemoryID
	for _, at := range now {
		places = append(places, at)
	}
	slices.Sort(places)
	for ids := range slices.Chunk(slices.Compact(places), batch) {
		times, err := store.MemoryTimes(ctx, tenant, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, exists[id] = times[id]; !exists[id] {
				missing = append(missing, id)
			}
		}
	}
	return missing, nil
}

func nameOf(store *opened, id hippo.MemoryID) string {
	if name, ok := store.layout.Naming.Name(id); ok {
		return name
	}
	return string(id)
}
