package hippo_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

// vector is a line of testdata/id_vectors.json, which is there for writers of
// memories in other languages too.
type vector struct {
	Name     *string
	Naming   hippo.Naming
	ID       *string
	Listable bool
	Kind     hippo.Kind
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/id_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < 70 {
		t.Fatalf("%d vectors, want the whole file", len(file.Vectors))
	}
	return file.Vectors
}

func TestNamesAndIDsAgreeWithTheVectors(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Name != nil {
			checkName(t, v)
		}
		if v.ID != nil {
			checkVectorID(t, v)
		}
	}
}

func checkName(t *testing.T, v vector) {
	t.Helper()
	id, err := v.Naming.ID(*v.Name)
	switch {
	case v.ID == nil && !hippo.IsKind(err, hippo.Invalid):
		t.Errorf("%s name %.40q: id %.40q, error %v, want an invalid one", v.Naming, *v.Name, id, err)
	case v.ID != nil && (err != nil || string(id) != *v.ID):
		t.Errorf("%s name %.40q: id %.40q, error %v, want %.40q", v.Naming, *v.Name, id, err, *v.ID)
	}
	if v.Listable && hippo.KindOf(*v.Name) != v.Kind {
		t.Errorf("name %.40q: kind %q, want %q", *v.Name, hippo.KindOf(*v.Name), v.Kind)
	}
}

func checkVectorID(t *testing.T, v vector) {
	t.Helper()
	id := hippo.MemoryID(*v.ID)
	name, ok := v.Naming.Name(id)
	if ok != v.Listable || v.Naming.Listable(id) != v.Listable {
		t.Errorf("%s id %.40q: listable %t, want %t", v.Naming, id, ok, v.Listable)
	}
	if v.Listable && name != *v.Name {
		t.Errorf("%s id %.40q: name %.40q, want %.40q", v.Naming, id, name, *v.Name)
	}
}

func TestEveryNameThatHasAnIDReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		naming := rapid.SampledFrom([]hippo.Naming{hippo.Base64URL, hippo.Plain}).Draw(t, "naming")
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`(pages|__|\.|/)?[a-zA-Z/._]{0,8}`), rapid.StringN(500, 800, 1600)).Draw(t, "name")
		id, err := naming.ID(name)
		if err != nil {
			if !hippo.IsKind(err, hippo.Invalid) {
				t.Fatalf("error %v, want an invalid one", err)
			}
			return
		}
		if got, ok := naming.Name(id); !ok || got != name {
			t.Fatalf("id %q reads as %q, %t", id, got, ok)
		}
		if _, err := hippo.NewMemoryID(string(id)); err != nil {
			t.Fatalf("id %q is no document id: %v", id, err)
		}
	})
}

func TestAnIDIsListableOnlyInTheOneFormOfItsName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := hippo.MemoryID(rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_-]{0,12}`), rapid.StringMatching(`[A-Q_+=.\n]{1,6}`)).Draw(t, "id"))
		name, ok := hippo.Base64URL.Name(id)
		if !ok {
			return
		}
		if again := base64.RawURLEncoding.EncodeToString([]byte(name)); again != string(id) {
			t.Fatalf("%q is listed as %q, whose id is %q", id, name, again)
		}
	})
}

func TestTrailingBitsDoNotMakeASecondIDOfAName(t *testing.T) {
	name := "a"
	id, err := hippo.Base64URL.ID(name)
	if err != nil {
		t.Fatal(err)
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	listable := 0
	for _, last := range alphabet {
		candidate := id[:1] + hippo.MemoryID(last)
		if got, ok := hippo.Base64URL.Name(candidate); ok && got == name {
			listable++
		}
	}
	if listable != 1 {
		t.Errorf("%d ids stand for %q, want one", listable, name)
	}
}

func TestTheLongestNameFitsAndNoLonger(t *testing.T) {
	for _, naming := range []hippo.Naming{hippo.Base64URL, hippo.Plain} {
		longest := strings.Repeat("x", naming.MaxNameBytes())
		id, err := naming.ID(longest)
		if err != nil || len(id) > hippo.MaxEntryKeyBytes || len(id) < hippo.MaxEntryKeyBytes-1 {
			t.Errorf("%s: %d bytes of name make %d bytes of id, error %v", naming, len(longest), len(id), err)
		}
		if _, err := naming.ID(longest + "x"); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%s: one byte more: error %v, want an invalid one", naming, err)
		}
	}
}

func TestNamesThatAreNoTextAreRefused(t *testing.T) {
	for _, naming := range []hippo.Naming{hippo.Base64URL, hippo.Plain} {
		for _, name := range []string{"\xff", "a\xc3", "\xed\xa0\x80"} {
			if id, err := naming.ID(name); !hippo.IsKind(err, hippo.Invalid) {
				t.Errorf("%s of %q: id %q, error %v, want an invalid one", naming, name, id, err)
			}
		}
	}
}

func TestKindIsTheFirstElementOfAPath(t *testing.T) {
	for name, want := range map[string]hippo.Kind{
		"pages/Second Location": "pages", "journal/2026/10": "journal", "a/": "a",
		"Second Location": hippo.OtherKind, "": hippo.OtherKind, "/a": hippo.OtherKind, "//": hippo.OtherKind,
	} {
		if got := hippo.KindOf(name); got != want {
			t.Errorf("kind of %q is %q, want %q", name, got, want)
		}
	}
}

func TestOnlyTheTwoNamingsCanBeSet(t *testing.T) {
	for _, naming := range []hippo.Naming{hippo.Base64URL, hippo.Plain} {
		if got, err := hippo.ParseNaming(string(naming)); err != nil || got != naming {
			t.Errorf("%q reads as %q, error %v", naming, got, err)
		}
	}
	for _, s := range []string{"", "Plain", "base64"} {
		if _, err := hippo.ParseNaming(s); !hippo.IsKind(err, hippo.Invalid) {
			t.Errorf("%q: error %v, want an invalid one", s, err)
		}
	}
}
