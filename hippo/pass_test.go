package hippo_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hippofire/hippofire/hippo"
)

var stretch = hippo.Stretch{From: hippo.Position{At: 1, ID: "a"}, To: hippo.Position{At: 2, ID: "b"}}

func TestAPassTouchesEachMemoryOnce(t *testing.T) {
	pass := hippo.Pass{
		Writes: []hippo.Write{{ID: "w"}, {ID: "m"}}, Deletes: []hippo.MemoryID{"d", "w"}, Wrote: []hippo.MemoryID{"o"},
		Moves: []hippo.Move{{From: "f", Into: "m"}},
	}
	if diff := cmp.Diff([]hippo.MemoryID{"d", "f", "m", "o", "w"}, pass.Touched()); diff != "" {
		t.Errorf("touched (-want +got):\n%s", diff)
	}
	if got := (hippo.Pass{}).Touched(); len(got) != 0 {
		t.Errorf("a pass of nothing touches %q", got)
	}
}

func TestPlansOfPasses(t *testing.T) {
	writes := []hippo.Write{{ID: "w", Name: "n"}, {ID: "x", Name: "n"}}
	line := func(pointers ...hippo.MemoryID) *hippo.Episode {
		return &hippo.Episode{Stretch: stretch, Gist: "g", Pointers: pointers, Handle: hippo.HandleOf(stretch.To)}
	}
	blocked := line()
	blocked.Blocked = "rule"
	type found = map[hippo.MemoryID]hippo.Micros
	for name, c := range map[string]struct {
		pass    hippo.Pass
		receipt string
		found   found
		want    hippo.PassPlan
	}{
		"nothing at all":         {pass: hippo.Pass{Hash: "h"}},
		"a line alone":           {pass: hippo.Pass{Hash: "h", Gist: "g"}, want: hippo.PassPlan{Episode: line()}},
		"a blocked line":         {pass: hippo.Pass{Hash: "h", Gist: "g", Blocked: "rule"}, want: hippo.PassPlan{Episode: blocked}},
		"memories without line":  {pass: hippo.Pass{Hash: "h", Writes: writes}, want: hippo.PassPlan{Writes: writes}},
		"memories and line":      {pass: hippo.Pass{Hash: "h", Writes: writes, Gist: "g"}, want: hippo.PassPlan{Writes: writes, Episode: line("w", "x")}},
		"of the same content":    {pass: hippo.Pass{Hash: "h", Writes: writes, Gist: "g"}, receipt: "h", want: hippo.PassPlan{Repeated: true}},
		"of other content":       {pass: hippo.Pass{Hash: "h", Writes: writes[:1], Gist: "g"}, receipt: "old", want: hippo.PassPlan{Writes: writes[:1], Episode: line("w")}},
		"wrote what is there":    {pass: hippo.Pass{Hash: "h", Wrote: []hippo.MemoryID{"o"}, Gist: "g"}, found: found{"o": 1}, want: hippo.PassPlan{Episode: line("o")}},
		"wrote what is not":      {pass: hippo.Pass{Hash: "h", Wrote: []hippo.MemoryID{"o", "p"}, Gist: "g"}, found: found{"p": 1}, want: hippo.PassPlan{Missing: []hippo.MemoryID{"o"}, Episode: line("p")}},
		"repeated, and missing":  {pass: hippo.Pass{Hash: "h", Wrote: []hippo.MemoryID{"o"}}, receipt: "h", want: hippo.PassPlan{Repeated: true, Missing: []hippo.MemoryID{"o"}}},
		"wrote the same twice":   {pass: hippo.Pass{Hash: "h", Writes: writes[:1], Wrote: []hippo.MemoryID{"w", "o", "o"}, Gist: "g"}, found: found{"w": 1, "o": 1}, want: hippo.PassPlan{Writes: writes[:1], Episode: line("w", "o")}},
		"wrote and deleted":      {pass: hippo.Pass{Hash: "h", Wrote: []hippo.MemoryID{"o"}, Deletes: []hippo.MemoryID{"o"}, Gist: "g"}, found: found{"o": 1}, want: hippo.PassPlan{Deletes: []hippo.MemoryID{"o"}, Episode: line()}},
		"deletes what is not":    {pass: hippo.Pass{Hash: "h", Deletes: []hippo.MemoryID{"d"}}, want: hippo.PassPlan{Deletes: []hippo.MemoryID{"d"}}},
		"moves into what is":     {pass: hippo.Pass{Hash: "h", Moves: []hippo.Move{{From: "f", Into: "i"}}}, found: found{"f": 1, "i": 1}, want: hippo.PassPlan{Moves: []hippo.Move{{From: "f", Into: "i"}}, Deletes: []hippo.MemoryID{"f"}}},
		"moves into its write":   {pass: hippo.Pass{Hash: "h", Writes: writes[:1], Moves: []hippo.Move{{From: "f", Into: "w"}}}, want: hippo.PassPlan{Writes: writes[:1], Moves: []hippo.Move{{From: "f", Into: "w"}}, Deletes: []hippo.MemoryID{"f"}}},
		"moves what it deletes":  {pass: hippo.Pass{Hash: "h", Deletes: []hippo.MemoryID{"f"}, Moves: []hippo.Move{{From: "f", Into: "i"}}}, found: found{"i": 1}, want: hippo.PassPlan{Moves: []hippo.Move{{From: "f", Into: "i"}}, Deletes: []hippo.MemoryID{"f"}}},
		"as it was read":         {pass: hippo.Pass{Hash: "h", Writes: []hippo.Write{{ID: "w", IfUpdatedAt: 5}}}, found: found{"w": 5}, want: hippo.PassPlan{Writes: []hippo.Write{{ID: "w", IfUpdatedAt: 5}}}},
		"repeated after an edit": {pass: hippo.Pass{Hash: "h", Writes: []hippo.Write{{ID: "w", IfUpdatedAt: 5}}}, receipt: "h", found: found{"w": 9}, want: hippo.PassPlan{Repeated: true}},
	} {
		c.pass.Stretch = stretch
		deletes := slices.Clone(c.pass.Deletes)
		got, err := hippo.PlanPass(c.pass, c.receipt, c.found)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
		if !slices.Equal(deletes, c.pass.Deletes) {
			t.Errorf("%s: the pass was changed", name)
		}
	}
}

func TestPassesThatCannotBeRecordedAreRefusedByField(t *testing.T) {
	type found = map[hippo.MemoryID]hippo.Micros
	for name, c := range map[string]struct {
		pass  hippo.Pass
		found found
		kind  hippo.ErrorKind
		field string
	}{
		"another time":        {hippo.Pass{Writes: []hippo.Write{{ID: "a"}, {ID: "w", IfUpdatedAt: 5}}}, found{"w": 6}, hippo.Conflict, "writes[1].if_updated_at"},
		"gone since":          {hippo.Pass{Writes: []hippo.Write{{ID: "w", IfUpdatedAt: 5}}}, nil, hippo.Conflict, "writes[0].if_updated_at"},
		"moved into nothing":  {hippo.Pass{Moves: []hippo.Move{{From: "f", Into: "i"}}}, found{"f": 1}, hippo.NotFound, "moves[0].into"},
		"the second moved so": {hippo.Pass{Moves: []hippo.Move{{From: "f", Into: "i"}, {From: "g", Into: "j"}}}, found{"i": 1}, hippo.NotFound, "moves[1].into"},
	} {
		c.pass.Hash = "h"
		_, err := hippo.PlanPass(c.pass, "", c.found)
		var e *hippo.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Field != c.field {
			t.Errorf("%s: error %v, want one of kind %q about %s", name, err, c.kind, c.field)
		}
	}
}
