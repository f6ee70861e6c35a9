package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// quietEvery is how often a progress says something where nobody watches.
const quietEvery = 10 * time.Second

// progress tells how far long work has got: a moving line on a terminal, a line
// now and then elsewhere.
type progress struct {
	w    io.Writer
	what string
	bar  *progressbar.ProgressBar
	last time.Time
	done int
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{w: w, what: what, last: time.Now()}
	if isTerminal(w) {
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionSpinnerType(14), progressbar.OptionClearOnFinish())
	}
	return p
}

// at says that so many things are done.
func (p *progress) at(done int) {
	p.done = done
	switch {
	case p.bar != nil:
		p.bar.Set(done)
	case time.Since(p.last) > quietEvery:
		p.last = time.Now()
		fmt.Fprintf(p.w, "%s: %d\n", p.what, done)
	}
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Finish()
	}
}
