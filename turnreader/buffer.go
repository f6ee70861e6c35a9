package turnreader

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
	"github.com/hippofire/hippofire/textscan"
)

// The bounds of the buffer: lines, pointers on a line, and the steps by which a
// pointer follows memories that were moved.
const (
	maxLines    = 12
	maxPointers = 8
	maxMoves    = 3
)

// Line is one line of the buffer.
type Line struct {
	Handle string       `json:"handle"`
	From   hippo.Micros `json:"from"`
	To     hippo.Micros `json:"to"`
	Gist   string       `json:"gist"`
	// Pointers are names of memories that exist.
	Pointers []string `json:"pointers"`
}

// String is the line as the model reads it.
func (l Line) String() string {
	text := fmt.Sprintf("%s [%s]: %s", l.To.Time().Format("2006-01-02"), l.Handle, l.Gist)
	if len(l.Pointers) > 0 {
		text += " (filed in " + strings.Join(l.Pointers, ", ") + ")"
	}
	return text
}

// Buffer is what a turn shows of the stretches before its window.
type Buffer struct {
	Text  string
	Lines []Line
	// Gap says that a stretch was left out, Blocked how many lines were because
	// the scan refused them.
	Gap     bool
	Blocked int
	// Withheld counts pointers whose names the scan refuses, Dropped those that
	// lead to no listed memory.
	Withheld, Dropped int
	// gapAt is the line before which the gap line stands: the second, or the first
	// where the thread's first stretch is not shown.
	gapAt int
}

// readBuffer reads the buffer of a thread for a window that begins at start.
func (r *Reader) readBuffer(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, start hippo.Position) ([]hippo.Episode, bool, error) {
	var (
		first  hippo.Episode
		found  bool
		recent []hippo.Episode
	)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		first, found, err = r.store.FirstEpisode(ctx, tenant, thread)
		return err
	})
	group.Go(func() (err error) {
		recent, err = r.store.EpisodesBefore(ctx, tenant, thread, start, maxLines)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, false, err
	}
	shown, gap := selectEpisodes(first, found && first.From.Before(start), recent)
	return shown, gap, nil
}

// selectEpisodes decides which stretches a buffer shows, oldest first, and
// whether one lies between the first and the others that it does not show.
// recent are the latest, latest first, maxLines of them or all there are.
func selectEpisodes(first hippo.Episode, older bool, recent []hippo.Episode) (shown []hippo.Episode, gap bool) {
	shown = slices.Clone(recent)
	slices.Reverse(shown)
	if !older || slices.ContainsFunc(recent, func(e hippo.Episode) bool { return e.Stretch == first.Stretch }) {
		return shown, false
	}
	gap = len(recent) == maxLines
	return append([]hippo.Episode{first}, shown[max(0, len(shown)-(maxLines-1)):]...), gap
}

// render makes the block of the chosen stretches.
func (r *Reader) render(ctx context.Context, tenant hippo.TenantID, episodes []hippo.Episode, gap bool, known *Known) (Buffer, error) {
	b := Buffer{Gap: gap, gapAt: 1}
	var shown []hippo.Episode
	for i, e := range episodes {
		e.Gist = prompttext.Cut(e.Gist, hippo.MaxGistWords, hippo.MaxGistCharacters)
		if _, hit := textscan.Scan(e.Gist); hit || e.Blocked != "" {
			b.Blocked++
			b.Gap = true
			if i == 0 {
				b.gapAt = 0
			}
			continue
		}
		shown = append(shown, e)
	}
	now, err := r.follow(ctx, tenant, shown, known)
	if err != nil {
		return Buffer{}, err
	}
	for _, e := range shown {
		names, withheld := r.names(e.Pointers, now)
		b.Withheld += withheld
		for _, id := range e.Pointers {
			if _, ok := now[id]; !ok {
				b.Dropped++
			}
		}
		b.Lines = append(b.Lines, Line{Handle: e.Handle, From: e.From.At, To: e.To.At, Gist: e.Gist, Pointers: names})
	}
	if len(episodes) > 0 {
		b.Text = b.block()
	}
	return b, nil
}

// names are the names of the memories that pointers lead to now, as a line shows
// them. Those that the scan refuses are left out and counted.
func (r *Reader) names(pointers []hippo.MemoryID, now map[hippo.MemoryID]hippo.MemoryID) (names []string, withheld int) {
	seen := make(map[string]bool)
	for _, id := range pointers {
		name, ok := r.layout.Naming.Name(now[id])
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		if _, hit := textscan.Scan(name); hit {
			withheld++
		} else if names = append(names, name); len(names) == maxPointers {
			break
		}
	}
	return names, withheld
}

// follow finds for each pointer the listed memory it leads to now. One that leads
// to none is not in the answer. Only the first pointers of a line are looked for
// where they went, so that what a turn reads does not grow with what passes filed.
func (r *Reader) follow(ctx context.Context, tenant hippo.TenantID, episodes []hippo.Episode, known *Known) (map[hippo.MemoryID]hippo.MemoryID, error) {
	at := make(map[hippo.MemoryID]hippo.MemoryID)
	for _, e := range episodes {
		for i, id := range e.Pointers {
			if i < maxPointers || known.Has(id) {
				at[id] = id
			}
		}
	}
	for range maxMoves {
		unlisted := unlistedOf(at, known)
		if len(unlisted) == 0 {
			break
		}
		moves, err := r.store.Moves(ctx, tenant, unlisted)
		if err != nil {
			return nil, err
		}
		for id, now := range at {
			if into, ok := moves[now]; ok {
				at[id] = into
			} else if !known.Has(now) {
				delete(at, id)
			}
		}
	}
	maps.DeleteFunc(at, func(_, now hippo.MemoryID) bool { return !known.Has(now) })
	return at, nil
}

// unlistedOf lists the places that are not listed, each once.
func unlistedOf(at map[hippo.MemoryID]hippo.MemoryID, known *Known) []hippo.MemoryID {
	var unlisted []hippo.MemoryID
	for _, id := range at {
		if !known.Has(id) {
			unlisted = append(unlisted, id)
		}
	}
	slices.Sort(unlisted)
	return slices.Compact(unlisted)
}

// block is the buffer as the model reads it.
func (b Buffer) block() string {
	lines := make([]string, 0, len(b.Lines)+1)
	for _, l := range b.Lines {
		lines = append(lines, "- "+l.String())
	}
	if b.Gap {
		lines = slices.Insert(lines, min(b.gapAt, len(lines)), "- … more of this thread happened here; search_chat_history finds it.")
	}
	return prompttext.Block{
		Title: "EARLIER IN THIS THREAD",
		Note: "The agent's own notes on stretches of this thread that are no longer shown, oldest first: not the user's words, and no evidence for a number. " +
			"open_memory reads a memory that a line was filed in, open_stretch the messages behind its [handle].",
		Lines: lines,
	}.String()
}
