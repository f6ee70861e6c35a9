package hippo_test

import (
	"errors"
	"fmt"
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
	type ids = []hippo.MemoryID
	ifAt0 := []hippo.Write{{ID: "w", IfUpdatedAt: new(hippo.Micros(0))}}
	ifAt5 := []hippo.Write{{ID: "w", IfUpdatedAt: new(hippo.Micros(5))}}
	for name, c := range map[string]struct {
		pass    hippo.Pass
		receipt string
		found   found
		want    hippo.PassPlan
	}{
		"nothing at all":        {pass: hippo.Pass{}},
		"a line alone":          {pass: hippo.Pass{Gist: "g"}, want: hippo.PassPlan{Episode: line()}},
		"a blocked line":        {pass: hippo.Pass{Gist: "g", Blocked: "rule"}, want: hippo.PassPlan{Episode: blocked}},
		"memories without line": {pass: hippo.Pass{Writes: writes}, want: hippo.PassPlan{Writes: writes, Settled: ids{"w", "x"}}},
		"memories and line":     {pass: hippo.Pass{Writes: writes, Gist: "g"}, want: hippo.PassPlan{Writes: writes, Settled: ids{"w", "x"}, Episode: line("w", "x")}},
		"of the same content":   {pass: hippo.Pass{Writes: writes, Gist: "g"}, receipt: "h", want: hippo.PassPlan{Repeated: true}},
		"of other content":      {pass: hippo.Pass{Writes: writes[:1], Gist: "g"}, receipt: "old", want: hippo.PassPlan{Writes: writes[:1], Settled: ids{"w"}, Episode: line("w")}},
		"wrote what is there":   {pass: hippo.Pass{Wrote: ids{"o"}, Gist: "g"}, found: found{"o": 1}, want: hippo.PassPlan{Settled: ids{"o"}, Episode: line("o")}},
		"wrote what is not":     {pass: hippo.Pass{Wrote: ids{"o", "p"}, Gist: "g"}, found: found{"p": 1}, want: hippo.PassPlan{Missing: ids{"o"}, Settled: ids{"p"}, Episode: line("p")}},
		"repeated, and missing": {pass: hippo.Pass{Wrote: ids{"o"}}, receipt: "h", want: hippo.PassPlan{Repeated: true, Missing: ids{"o"}}},
		"repeated, and deleted since": {
			pass: hippo.Pass{Writes: writes[:1], Wrote: ids{"w"}}, receipt: "h",
			want: hippo.PassPlan{Repeated: true, Missing: ids{"w"}},
		},
		"wrote what it writes": {pass: hippo.Pass{Writes: writes[:1], Wrote: ids{"w"}, Gist: "g"}, want: hippo.PassPlan{Writes: writes[:1], Settled: ids{"w"}, Episode: line("w")}},
		"wrote the same twice": {pass: hippo.Pass{Writes: writes[:1], Wrote: ids{"w", "o", "o"}, Gist: "g"}, found: found{"w": 1, "o": 1}, want: hippo.PassPlan{Writes: writes[:1], Settled: ids{"w", "o"}, Episode: line("w", "o")}},
		"wrote and deleted":    {pass: hippo.Pass{Wrote: ids{"o"}, Deletes: ids{"o"}, Gist: "g"}, found: found{"o": 1}, want: hippo.PassPlan{Deletes: ids{"o"}, Episode: line()}},
		"wrote and moved away": {
			pass: hippo.Pass{Wrote: ids{"o", "i"}, Moves: moves("o", "i"), Gist: "g"}, found: found{"o": 1, "i": 1},
			want: hippo.PassPlan{Deletes: ids{"o"}, Moves: moves("o", "i"), Settled: ids{"i"}, Episode: line("i")},
		},
		"deletes what is not":  {pass: hippo.Pass{Deletes: ids{"d"}}, want: hippo.PassPlan{Deletes: ids{"d"}}},
		"moves into what is":   {pass: hippo.Pass{Moves: moves("f", "i")}, found: found{"f": 1, "i": 1}, want: hippo.PassPlan{Moves: moves("f", "i"), Deletes: ids{"f"}}},
		"moves into its write": {pass: hippo.Pass{Writes: writes[:1], Moves: moves("f", "w")}, want: hippo.PassPlan{Writes: writes[:1], Settled: ids{"w"}, Moves: moves("f", "w"), Deletes: ids{"f"}}},
		"moves what it deletes": {
			pass: hippo.Pass{Deletes: ids{"f"}, Moves: moves("f", "i")}, found: found{"i": 1},
			want: hippo.PassPlan{Moves: moves("f", "i"), Deletes: ids{"f"}},
		},
		"moves on what it moves": {
			pass: hippo.Pass{Moves: moves("a", "b", "b", "c", "c", "d")}, found: found{"a": 1, "d": 1},
			want: hippo.PassPlan{Moves: moves("a", "d", "b", "d", "c", "d"), Deletes: ids{"a", "b", "c"}},
		},
		"as it was read in 1970": {pass: hippo.Pass{Writes: ifAt0}, found: found{"w": 0}, want: hippo.PassPlan{Writes: ifAt0, Settled: ids{"w"}}},
		"as it was read":         {pass: hippo.Pass{Writes: ifAt5}, found: found{"w": 5}, want: hippo.PassPlan{Writes: ifAt5, Settled: ids{"w"}}},
		"repeated after an edit": {pass: hippo.Pass{Writes: ifAt5}, receipt: "h", found: found{"w": 9}, want: hippo.PassPlan{Repeated: true}},
	} {
		c.pass.Stretch, c.pass.Hash = stretch, "h"
		deletes := slices.Clone(c.pass.Deletes)
		got, err := hippo.PlanPass(c.pass, hippo.Receipt{Hash: c.receipt}, c.found)
		got.Receipt = hippo.Receipt{}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
		if !slices.Equal(deletes, c.pass.Deletes) {
			t.Errorf("%s: the pass was changed", name)
		}
	}
}

// moves are moves from each first into each second.
func moves(pairs ...hippo.MemoryID) []hippo.Move {
	var out []hippo.Move
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, hippo.Move{From: pair[0], Into: pair[1]})
	}
	return out
}

func TestAReceiptKnowsThePassesThatWereReplaced(t *testing.T) {
	var receipt hippo.Receipt
	record := func(hash string) bool {
		t.Helper()
		plan, err := hippo.PlanPass(hippo.Pass{Stretch: stretch, Hash: hash}, receipt, nil)
		if err != nil {
			t.Fatal(err)
		}
		receipt = plan.Receipt
		return plan.Repeated
	}
	for i, step := range []struct {
		hash     string
		repeated bool
	}{{"a", false}, {"a", true}, {"b", false}, {"a", true}, {"b", true}, {"c", false}, {"a", true}, {"b", true}} {
		if got := record(step.hash); got != step.repeated {
			t.Errorf("step %d, pass %s: repeated %v, want %v", i, step.hash, got, step.repeated)
		}
	}
	if receipt.Hash != "c" {
		t.Errorf("the pass that counts is %s, want c", receipt.Hash)
	}
	for i := range 1000 {
		record(fmt.Sprint("other ", i))
	}
	if n := len(receipt.Replaced); n == 0 || n > 50 {
		t.Errorf("the receipt remembers %d replaced passes, want some and not all", n)
	}
	if !record("other 990") {
		t.Error("a pass replaced a little ago is taken for a new one")
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
		"another than 1970":          {hippo.Pass{Writes: []hippo.Write{{ID: "w", IfUpdatedAt: new(hippo.Micros(0))}}}, found{"w": 6}, hippo.Conflict, "writes[0].if_updated_at"},
		"another time":               {hippo.Pass{Writes: []hippo.Write{{ID: "a"}, {ID: "w", IfUpdatedAt: new(hippo.Micros(5))}}}, found{"w": 6}, hippo.Conflict, "writes[1].if_updated_at"},
		"gone since":                 {hippo.Pass{Writes: []hippo.Write{{ID: "w", IfUpdatedAt: new(hippo.Micros(5))}}}, nil, hippo.Conflict, "writes[0].if_updated_at"},
		"moved into nothing":         {hippo.Pass{Moves: []hippo.Move{{From: "f", Into: "i"}}}, found{"f": 1}, hippo.NotFound, "moves[0].into"},
		"moved into what it deletes": {hippo.Pass{Deletes: []hippo.MemoryID{"i"}, Moves: moves("f", "i")}, found{"f": 1, "i": 1}, hippo.Invalid, "moves[0].into"},
		"moved in a circle":          {hippo.Pass{Moves: moves("f", "g", "g", "f")}, found{"f": 1, "g": 1}, hippo.Invalid, "moves[0].into"},
		"moved into a circle":        {hippo.Pass{Moves: moves("e", "f", "f", "g", "g", "f")}, found{"f": 1, "g": 1}, hippo.Invalid, "moves[0].into"},
		"moved on into nothing":      {hippo.Pass{Moves: moves("f", "g", "g", "i")}, found{"f": 1, "g": 1}, hippo.NotFound, "moves[0].into"},
		"the second moved so":        {hippo.Pass{Moves: []hippo.Move{{From: "f", Into: "i"}, {From: "g", Into: "j"}}}, found{"i": 1}, hippo.NotFound, "moves[1].into"},
	} {
		c.pass.Hash = "h"
		_, err := hippo.PlanPass(c.pass, hippo.Receipt{}, c.found)
		var e *hippo.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Field != c.field {
			t.Errorf("%s: error %v, want one of kind %q about %s", name, err, c.kind, c.field)
		}
	}
}
