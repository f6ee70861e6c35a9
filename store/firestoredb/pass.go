package firestoredb

import (
	"cmp"
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

const recordPass = "RecordPass"

// RecordPass reads the receipt and the times of the memories concerned, and, of a
// pass that was recorded before, the episode it left.
func (s *Store) RecordPass(ctx context.Context, tenant hippo.TenantID, thread hippo.ThreadID, pass hippo.Pass) (hippo.PassResult, error) {
	p, err := s.passNames(tenant, thread, pass)
	if err != nil {
		return hippo.PassResult{}, err
	}
	var result hippo.PassResult
	resp, err := s.transact(ctx, recordPass, func(t *tx) ([]*pb.Write, error) {
		result = hippo.PassResult{}
		plan, err := p.plan(t, pass)
		if err != nil {
			return nil, err
		}
		result.Repeated, result.Missing, result.Episode = plan.Repeated, plan.Missing, plan.Episode
		if plan.Repeated {
			result.Episode, err = p.stored(t)
			return nil, err
		}
		return s.passWrites(tenant, p, plan)
	})
	if err != nil {
		return hippo.PassResult{}, err
	}
	if !result.Repeated && result.Episode != nil {
		// The episode is the last of the commit's writes.
		result.Episode.CreatedAt = stampOf(resp.WriteResults[len(resp.WriteResults)-1])
	}
	return result, nil
}

// passNames are the resource names of the documents that a pass reads.
type passNames struct {
	receipt, episode string
	memories         []string
}

func (s *Store) passNames(tenant hippo.TenantID, thread hippo.ThreadID, pass hippo.Pass) (p passNames, err error) {
	to := pass.To.String()
	if p.receipt, err = s.name(s.layout.Paths.Pass, string(tenant), string(thread), to); err != nil {
		return p, err
	}
	if p.episode, err = s.name(s.layout.Paths.Episode, string(tenant), string(thread), to); err != nil {
		return p, err
	}
	p.memories, err = s.memories(tenant, pass.Touched())
	return p, err
}

func (p passNames) plan(t *tx, pass hippo.Pass) (hippo.PassPlan, error) {
	receipt, err := t.get([]string{p.receipt}, nil)
	if err != nil {
		return hippo.PassPlan{}, err
	}
	found, err := t.get(p.memories, []string{t.s.layout.Fields.MemoryUpdatedAt})
	if err != nil {
		return hippo.PassPlan{}, err
	}
	recorded := schema.ParseReceipt(decode(receipt.documents[p.receipt].GetFields()))
	return hippo.PlanPass(pass, recorded, t.s.memoryTimes(found))
}

// stored is the episode that is there; nil where there is none.
func (p passNames) stored(t *tx) (*hippo.Episode, error) {
	found, err := t.get([]string{p.episode}, nil)
	if err != nil {
		return nil, err
	}
	d := found.documents[p.episode]
	if d == nil {
		return nil, nil
	}
	if e, ok := schema.ParseEpisode(decode(d.Fields)); ok {
		return &e, nil
	}
	return nil, nil
}

// passWrites lists what a plan writes, the episode last.
func (s *Store) passWrites(tenant hippo.TenantID, p passNames, plan hippo.PassPlan) ([]*pb.Write, error) {
	c := changes{at: make(map[string]int)}
	memory := func(id hippo.MemoryID) string { return c.name(s, s.layout.Paths.Memory, tenant, id) }
	move := func(id hippo.MemoryID) string { return c.name(s, s.layout.Paths.Move, tenant, id) }
	for _, w := range plan.Writes {
		c.add(s.memoryWrite(memory(w.ID), hippo.Memory{ID: w.ID, Name: w.Name, Content: w.Content}))
	}
	for _, id := range plan.Settled {
		c.add(remove(move(id)), nil)
	}
	for _, id := range plan.Deletes {
		c.add(remove(memory(id)), nil)
	}
	for _, m := range plan.Moves {
		c.add(setStamped(move(m.From), schema.MoveFields(m.Into), schema.At))
	}
	c.add(setStamped(p.receipt, schema.ReceiptFields(plan.Receipt), schema.At))
	if plan.Episode != nil {
		c.add(setStamped(p.episode, schema.EpisodeFields(*plan.Episode), schema.CreatedAt))
	} else {
		c.add(remove(p.episode), nil)
	}
	return c.writes, c.err
}

// changes collects writes, one for each document: a later one takes the place of
// an earlier. It keeps the first error.
type changes struct {
	writes []*pb.Write
	at     map[string]int
	err    error
}

func (c *changes) add(w *pb.Write, err error) {
	if err != nil {
		c.err = cmp.Or(c.err, err)
		return
	}
	name := w.GetDelete() + w.GetUpdate().GetName() // one of them is set
	if i, ok := c.at[name]; ok {
		c.writes[i] = w
		return
	}
	c.at[name] = len(c.writes)
	c.writes = append(c.writes, w)
}

func (c *changes) name(s *Store, template string, tenant hippo.TenantID, id hippo.MemoryID) string {
	name, err := s.name(template, string(tenant), string(id))
	c.err = cmp.Or(c.err, err)
	return name
}
