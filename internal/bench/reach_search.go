package bench

import (
	"context"
	"slices"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/history"
	"github.com/hippofire/hippofire/internal/importer"
)

// searches measures what the first hits of a search reach.
func (r *reach) searches(ctx context.Context, app *functions.App) error {
	for _, hits := range []int{1, 5, 10} {
		r.report.Search = append(r.report.Search, SearchReach{Hits: hits, Alone: newTally(), WithAround: newTally()})
	}
	most := r.report.Search[len(r.report.Search)-1].Hits
	done := 0
	for i, c := range r.conversations {
		for _, q := range r.questions[i] {
			r.step("searching for the questions' words", done)
			done++
			resp, err := app.Search(ctx, history.SearchRequest{Tenant: c.SampleID, Thread: importer.LocomoThread, Query: q.text, Limit: most})
			if err != nil && !hippo.IsKind(err, hippo.Invalid) { // a question of function words alone finds nothing
				return err
			}
			r.countHits(q, resp.Hits)
		}
	}
	return nil
}

func (r *reach) countHits(q asked, hits []history.Hit) {
	for _, s := range r.report.Search {
		alone, around := make(map[hippo.MessageID]bool), make(map[hippo.MessageID]bool)
		for _, h := range hits[:min(len(hits), s.Hits)] {
			alone[h.Message.ID] = true
			for _, m := range slices.Concat([]history.Said{h.Message}, h.Before, h.After) {
				around[m.ID] = true
			}
		}
		tally(s.Alone).count(q, q.reaches(alone))
		tally(s.WithAround).count(q, q.reaches(around))
	}
}
