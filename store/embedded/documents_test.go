package embedded

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

func TestWhatFirestoreCouldNotStoreIsInvalid(t *testing.T) {
	s := inMemory(t, nil)
	for name, c := range map[string]struct {
		path   string
		fields schema.Fields
	}{
		"a collection's path":       {"tenants/t/memories", schema.Fields{}},
		"no path":                   {"", schema.Fields{}},
		"an empty segment":          {"tenants//memories/a", schema.Fields{}},
		"a segment that climbs":     {"tenants/../memories/a", schema.Fields{}},
		"a reserved id":             {"tenants/__t__", schema.Fields{}},
		"text that is not UTF-8":    {"c/a", schema.Fields{"f": "\xff"}},
		"nested text not UTF-8":     {"c/a", schema.Fields{"f": []any{schema.Fields{"g": "\xff"}}}},
		"a field without a name":    {"c/a", schema.Fields{"": 1}},
		"a reserved field":          {"c/a", schema.Fields{"__f__": 1}},
		"a field name not UTF-8":    {"c/a", schema.Fields{"\xff": 1}},
		"a field name of 1,501":     {"c/a", schema.Fields{strings.Repeat("f", 1501): 1}},
		"a year that is too late":   {"c/a", schema.Fields{"f": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"a year that is too early":  {"c/a", schema.Fields{"f": time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)}},
		"a type that is no field's": {"c/a", schema.Fields{"f": struct{}{}}},
		"a channel":                 {"c/a", schema.Fields{"f": make(chan int)}},
	} {
		if err := s.PutDocument(t.Context(), c.path, c.fields); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%s: error %v, want an invalid one", name, err)
		}
	}
}

func TestADocumentEndsAtOneMebibyte(t *testing.T) {
	s := inMemory(t, nil)
	const path = "c/a"
	room := maxDocumentBytes - int(schema.Size(path, schema.Fields{"f": ""}))
	if err := s.PutDocument(t.Context(), path, schema.Fields{"f": strings.Repeat("x", room)}); err != nil {
		t.Errorf("a document of exactly the limit: %v", err)
	}
	if err := s.PutDocument(t.Context(), path, schema.Fields{"f": strings.Repeat("x", room+1)}); !hippo.IsKind(err, hippo.TooLarge) {
		t.Errorf("a document of one byte more: error %v, want a too large one", err)
	}
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	s := inMemory(t, nil)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutDocument(t.Context(), "c/a", schema.Fields{}); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("write: error %v, want an unavailable one", err)
	}
	if _, err := s.Meta(t.Context(), "t"); !hippo.IsKind(err, hippo.Unavailable) {
		t.Errorf("read: error %v, want an unavailable one", err)
	}
}

func TestALayoutThatWouldNotDoIsInvalid(t *testing.T) {
	bad, nameless := hippo.DefaultLayout(), hippo.DefaultLayout()
	bad.Paths.Memory = "memories/{memory}"
	nameless.Naming = "rot13"
	for _, layout := range []hippo.Layout{bad, nameless} {
		if _, err := New(layout, nil); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("New(%v): error %v, want an invalid one", layout, err)
		}
	}
}

func TestATenantOfAnIDThatNoneMayHaveIsNotListed(t *testing.T) {
	s := inMemory(t, nil)
	for _, path := range []string{"tenants/ann/memories/m", "tenants/b..b/memories/m", "elsewhere/cy", "tenants/di/reports/repair"} {
		if err := s.PutDocument(t.Context(), path, schema.Fields{}); err != nil {
			t.Fatal(err)
		}
	}
	got, _, err := s.Tenants(t.Context(), hippo.Cursor{}, 9)
	if diff := cmp.Diff([]hippo.TenantID{"ann", "di"}, got); err != nil || diff != "" {
		t.Errorf("tenants, error %v (-want +got):\n%s", err, diff)
	}
}

// fieldsGen draws fields of every type that a document can hold.
func fieldsGen(depth int) *rapid.Generator[schema.Fields] {
	values := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.String().AsAny(),
		rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Map(rapid.Int64Range(-62135596800, 253402300799), func(n int64) any { return time.Unix(n, 123456000).UTC() }),
	}
	if depth > 0 {
		values = append(values, fieldsGen(depth-1).AsAny(), rapid.Map(fieldsGen(depth-1), func(f schema.Fields) any {
			list := []any{}
			for _, name := range slices.Sorted(maps.Keys(f)) {
				list = append(list, f[name])
			}
			return list
		}))
	}
	return rapid.MapOfN(rapid.StringMatching(`[a-z.\x60/é😀"<\\]{1,4}`), rapid.OneOf(values...), 0, 4)
}

func TestDocumentsReadBackAndBelongToTheirReaders(t *testing.T) {
	s := inMemory(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		ctx, fields := t.Context(), fieldsGen(2).Draw(t, "fields")
		if err := s.PutDocument(ctx, "c/a", fields); err != nil {
			t.Fatal(err)
		}
		got, ok, err := s.Document(ctx, "c/a")
		if diff := cmp.Diff(fields, got); err != nil || !ok || diff != "" {
			t.Fatalf("error %v (-want +got):\n%s", err, diff)
		}
		spoil(got)
		again, _, err := s.Document(ctx, "c/a")
		if diff := cmp.Diff(fields, again); err != nil || diff != "" {
			t.Fatalf("after the first copy was changed: error %v (-want +got):\n%s", err, diff)
		}
	})
}

// spoil changes a value wherever it can be changed in place.
func spoil(v any) {
	switch v := v.(type) {
	case schema.Fields:
		for _, e := range v {
			spoil(e)
		}
		clear(v)
		v["spoilt"] = true
	case []any:
		for i, e := range v {
			spoil(e)
			v[i] = "spoilt"
		}
	case []byte:
		for i := range v {
			v[i]++
		}
	}
}

func TestChangesInPlaceKeepTheSizeRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(hippo.DefaultLayout(), nil)
		if err != nil {
			t.Fatal(err)
		}
		fields := rapid.SampledFrom([]schema.Fields{
			{}, {"e": schema.Fields{}}, {"e": "no map"}, {"rev": "no number"}, {"e": schema.Fields{"a": "text", "b": schema.Fields{"c": int64(1)}}, "rev": int64(3)},
		}).Draw(t, "document")
		if err := s.PutDocument(t.Context(), "c/a", fields); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			changes := changesGen().Draw(t, "changes")
			err := s.transact(t.Context(), "test", func(tx *tx) error {
				tx.update("c/a", changes)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				c.apply(fields)
			}
			d := s.document("c/a")
			if diff := cmp.Diff(fields, d.fields); diff != "" {
				t.Fatalf("document (-want +got):\n%s", diff)
			}
			if want := schema.Size("c/a", d.fields); d.size != want {
				t.Fatalf("size %d, want %d", d.size, want)
			}
		}
	})
}

// changesGen draws changes of different fields.
func changesGen() *rapid.Generator[[]change] {
	paths := [][]string{{"rev"}, {"e", "a"}, {"e", "b.c"}, {"e", "b", "c"}, {"f", "g"}}
	one := rapid.Custom(func(t *rapid.T) change {
		c := change{Path: rapid.SampledFrom(paths).Draw(t, "path"), Do: rapid.SampledFrom([]action{set, add, remove}).Draw(t, "do")}
		if c.Do != remove {
			c.Value = typed{rapid.Int64Range(-5, 5).Draw(t, "value")}
		}
		return c
	})
	return rapid.SliceOfNDistinct(one, 1, 4, func(c change) string { return strings.Join(c.Path, "/") })
}

func TestAChangeThatNamesNoFieldIsInvalid(t *testing.T) {
	s := inMemory(t, nil)
	if err := s.PutDocument(t.Context(), "c/a", schema.Fields{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{nil, {"e", ""}, {"e", "__x__"}, {"e", strings.Repeat("x", maxFieldPathBytes)}} {
		err := s.transact(t.Context(), "test", func(tx *tx) error {
			tx.update("c/a", []change{{Path: path, Do: remove}})
			return nil
		})
		if !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("path %.20q: error %v, want an invalid one", path, err)
		}
	}
}
