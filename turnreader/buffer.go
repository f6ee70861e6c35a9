package turnreader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
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
	moved, err := r.follow(ctx, tenant, episodes, known)
	if err != nil {
		return Buffer{}, err
	}
	b := Buffer{Gap: gap}
	for _, e := range episodes {
		if e.Blocked != "" {
			b.Blocked++
			b.Gap = true
			continue
		}
		line := Line{Handle: e.Handle, From: e.From.At, To: e.To.At, Gist: prompttext.Line(e.Gist)}
		for _, id := range e.Pointers {
			name, ok := r.layout.Naming.Name(moved[id])
			if ok && !slices.Contains(line.Pointers, name) && len(line.Pointers) < maxPointers {
				line.Pointers = append(line.Pointers, name)
			}
		}
		b.Lines = append(b.Lines, line)
	}
	if len(episodes) > 0 {
		b.Text = bufferBlock(b, episodes[0].Blocked == "")
	}
	return b, nil
}

// follow finds for each pointer the listed memory it leads to now. One that
// leads to none is not in the answer.
func (r *Reader) follow(ctx context.Context, tenant hippo.TenantID, episodes []hippo.Episode, known *Known) (map[hippo.MemoryID]hippo.MemoryID, error) {
	at := make(map[hippo.MemoryID]hippo.MemoryID)
	for _, e := range episodes {
		if e.Blocked == "" {
			for _, id := range e.Pointers {
				at[id] = id
			}
		}
	}
	for step := 0; ; step++ {
		var unlisted []hippo.MemoryID
		for _, id := range at {
			if !known.Has(id) {
				unlisted = append(unlisted, id)
			}
		}
		slices.Sort(unlisted)
		unlisted = slices.Compact(unlisted)
		var moves map[hippo.MemoryID]hippo.MemoryID
		if len(unlisted) > 0 && step < maxMoves {
			var err error
			if moves, err = r.store.Moves(ctx, tenant, unlisted); err != nil {
				return nil, err
			}
		}
		for id, now := range at {
			if into, ok := moves[now]; ok {
				at[id] = into
			} else if !known.Has(now) {
				delete(at, id)
			}
		}
		if len(moves) == 0 {
			return at, nil
		}
	}
}

func bufferBlock(b Buffer, firstShown bool) string {
	lines := make([]string, 0, len(b.Lines)+1)
	for _, l := range b.Lines {
		lines = append(lines, "- "+l.String())
	}
	if b.Gap {
		at := 0
		if firstShown {
			at = min(1, len(lines))
		}
		lines = slices.Insert(lines, at, "- … more of this thread happened here.")
	}
	return prompttext.Block{
		Title: "EARLIER IN THIS THREAD",
		Note:  "The agent's own notes on stretches of this thread that are no longer shown. They are not the user's words, and no evidence for a number: open_memory reads what a stretch was filed in.",
		Lines: lines,
	}.String()
}
