package embedded

import (
	"context"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// RecordPass implements hippo.ThreadStore.
func (s *Store) RecordPass(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, pass hippo.Pass) (hippo.PassResult, error) {
	p := passPaths{
		receipt: hippo.Fill(s.layout.Paths.Pass, string(tenant), string(thread), pass.To.String()),
		episode: hippo.Fill(s.layout.Paths.Episode, string(tenant), string(thread), pass.To.String()),
	}
	var result hippo.PassResult
	err := s.transact(ctx, "RecordPass", func(t *tx) error {
		var receipt hippo.Receipt
		if d := t.get(p.receipt); d != nil {
			receipt = schema.ParseReceipt(d.fields)
		}
		plan, err := hippo.PlanPass(pass, receipt, t.times(tenant, pass.Touched()))
		if err != nil {
			return err
		}
		result = hippo.PassResult{Repeated: plan.Repeated, Missing: plan.Missing}
		if plan.Repeated {
			result.Episode = t.episode(p.episode)
			return nil
		}
		t.file(tenant, plan)
		t.saveReceipt(p.receipt, plan.Receipt)
		result.Episode = t.saveEpisode(p.episode, plan.Episode)
		return nil
	})
	if err != nil {
		return hippo.PassResult{}, err
	}
	return result, nil
}

// passPaths are the documents of one pass.
type passPaths struct{ receipt, episode string }

// file writes what a pass does to memories.
func (t *tx) file(tenant hippo.TenantID, plan hippo.PassPlan) {
	for _, w := range plan.Writes {
		t.saveMemory(tenant, hippo.Memory{ID: w.ID, Name: w.Name, Content: w.Content})
	}
	for _, id := range plan.Settled {
		t.delete(t.store.movePath(tenant, id))
	}
	for _, id := range plan.Deletes {
		t.delete(t.store.memoryPath(tenant, id))
	}
	for _, m := range plan.Moves {
		fields := schema.MoveFields(m.Into)
		fields[schema.At] = t.now()
		t.set(t.store.movePath(tenant, m.From), fields)
	}
}

func (t *tx) saveReceipt(path string, r hippo.Receipt) {
	fields := schema.ReceiptFields(r)
	fields[schema.At] = t.now()
	t.set(path, fields)
}

// episode reads an episode; nil where it does not exist.
func (r *reader) episode(path string) *hippo.Episode {
	d := r.get(path)
	if d == nil {
		return nil
	}
	e, ok := schema.ParseEpisode(d.fields)
	if !ok {
		return nil
	}
	return &e
}

// saveEpisode writes an episode, or deletes the one that is there where e is nil.
func (t *tx) saveEpisode(path string, e *hippo.Episode) *hippo.Episode {
	if e == nil {
		t.delete(path)
		return nil
	}
	fields := schema.EpisodeFields(*e)
	fields[schema.CreatedAt] = t.now()
	t.set(path, fields)
	written := *e
	written.CreatedAt = hippo.MicrosOf(t.now())
	return &written
}
