package docevent

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/hippo"
)

const prefix = "projects/demo/databases/(default)/documents/"

var (
	early = time.Date(2026, 10, 11, 9, 30, 0, 137906000, time.UTC)
	late  = early.Add(time.Hour)
)

func document(path string, updated time.Time) *firestorepb.Document {
	return &firestorepb.Document{
		Name:       prefix + path,
		Fields:     map[string]*firestorepb.Value{"content": {ValueType: &firestorepb.Value_StringValue{StringValue: "text"}}},
		CreateTime: timestamppb.New(early),
		UpdateTime: timestamppb.New(updated),
	}
}

func mustEncode(t testing.TB, value, old *firestorepb.Document) []byte {
	t.Helper()
	data, err := encode(value, old)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// emulatorUpdate and emulatorNothing are payloads that Firestore emulator 1.19.9
// sent for an update, and for the deletion of a document that did not exist.
const (
	emulatorUpdate  = "Cm8KRXByb2plY3RzL2RlbW8vZGF0YWJhc2VzLyhkZWZhdWx0KS9kb2N1bWVudHMvdGVuYW50cy9hL21lbW9yaWVzL23DqTEgeBIMCgRuYW1lEgSKAQF5GgsI/7ay2AYQkJOhQSILCP+2stgGEIDZrXISbwpFcHJvamVjdHMvZGVtby9kYXRhYmFzZXMvKGRlZmF1bHQpL2RvY3VtZW50cy90ZW5hbnRzL2EvbWVtb3JpZXMvbcOpMSB4EgwKBG5hbWUSBIoBAXgaCwj/trLYBhCQk6FBIgsI/7ay2AYQkJOhQRoA"
	emulatorNothing = "GgA="
)

func fromBase64(t testing.TB, s string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDecodeReadsWhichDocumentChanged(t *testing.T) {
	memory := "tenants/a/memories/b"
	change := Change{Project: "demo", Database: "(default)", Path: memory, UpdatedAt: late}
	deleted := change
	deleted.Deleted, deleted.UpdatedAt = true, early
	for name, c := range map[string]struct {
		data []byte
		want Change
	}{
		"created": {mustEncode(t, document(memory, late), nil), change},
		"updated": {mustEncode(t, document(memory, late), document(memory, early)), change},
		"deleted": {mustEncode(t, nil, document(memory, early)), deleted},
		"an empty value beside an old one": {
			slices.Concat(protowire.AppendTag(nil, eventValue, protowire.BytesType), []byte{0}, mustEncode(t, nil, document(memory, early))), deleted},
		"without a time": {
			mustEncode(t, &firestorepb.Document{Name: prefix + memory}, nil), Change{Project: "demo", Database: "(default)", Path: memory}},
		"as the emulator sends it": {
			fromBase64(t, emulatorUpdate),
			Change{Project: "demo", Database: "(default)", Path: "tenants/a/memories/mé1 x", UpdatedAt: time.Date(2026, 11, 29, 21, 39, 11, 239824000, time.UTC)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(c.data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDecodeRefusesWhatIsNoDocumentEvent(t *testing.T) {
	badTime := document("tenants/a/memories/b", late)
	badTime.UpdateTime = &timestamppb.Timestamp{Nanos: -1}
	named := func(name string) []byte { return mustEncode(t, &firestorepb.Document{Name: name}, nil) }
	for name, data := range map[string][]byte{
		"no protobuf":                {0xff, 0xff, 0xff},
		"text":                       []byte(`{"message":{"data":"e30="}}`),
		"cut off":                    mustEncode(t, document("tenants/a/memories/b", late), nil)[:40],
		"a number for the document":  protowire.AppendVarint(protowire.AppendTag(nil, eventValue, protowire.VarintType), 7),
		"a text for the document":    protowire.AppendString(protowire.AppendTag(nil, eventValue, protowire.BytesType), "not a document"),
		"two different documents":    mustEncode(t, document("tenants/a/memories/b", late), document("tenants/a/memories/c", early)),
		"another one without a name": mustEncode(t, document("tenants/a/memories/b", late), &firestorepb.Document{UpdateTime: timestamppb.New(early)}),
		"no name":                    mustEncode(t, &firestorepb.Document{UpdateTime: timestamppb.New(early)}, nil),
		"a bad time":                 mustEncode(t, badTime, nil),
		"a name of something else":   named("projects/demo/topics/t"),
		"a collection":               named(prefix + "tenants"),
		"the database":               named("projects/demo/databases/(default)/documents"),
		"an empty segment":           named(prefix + "tenants//memories/b"),
		"no project":                 named("projects//databases/(default)/documents/tenants/a"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(data)
			if !hippo.IsKind(err, hippo.Invalid) || errors.Is(err, ErrNoDocument) {
				t.Errorf("Decode = %+v, %v; want an error of kind %v that is not ErrNoDocument", got, err, hippo.Invalid)
			}
		})
	}
}

func TestDecodeTellsAnEventWithoutDocuments(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing at all":           nil,
		"as the emulator sends it": fromBase64(t, emulatorNothing),
		"two empty documents":      mustEncode(t, &firestorepb.Document{}, &firestorepb.Document{}),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode(data); !errors.Is(err, ErrNoDocument) || !hippo.IsKind(err, hippo.Invalid) {
				t.Errorf("error %v, want ErrNoDocument of kind %v", err, hippo.Invalid)
			}
		})
	}
}

func TestDecodeLeavesTheFieldsAlone(t *testing.T) {
	big := document("tenants/a/memories/b", late)
	for i := range 10_000 {
		big.Fields[fmt.Sprintf("field%d", i)] = big.Fields["content"]
	}
	data := mustEncode(t, big, big)
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := Decode(data); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 50 {
		t.Errorf("decoding documents of 10,000 fields takes %v allocations", allocs)
	}
}

func TestWhatAChangeEncodesDecodesToIt(t *testing.T) {
	segment := rapid.StringMatching(`[^/]{1,20}`)
	rapid.Check(t, func(t *rapid.T) {
		want := Change{
			Project:   rapid.StringMatching(`[a-z][a-z0-9-]{5,20}`).Draw(t, "project"),
			Database:  "(default)",
			Path:      strings.Join(rapid.SliceOfN(segment, 4, 4).Draw(t, "ids"), "/"),
			UpdatedAt: time.UnixMicro(rapid.Int64Range(1, 1<<52).Draw(t, "micros")).UTC(),
			Deleted:   rapid.Bool().Draw(t, "deleted"),
		}
		data, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestEncodeRefusesAPathThatIsNoText(t *testing.T) {
	if _, err := (Change{Project: "demo", Database: "(default)", Path: "tenants/\xff"}).Encode(); !hippo.IsKind(err, hippo.Invalid) {
		t.Errorf("error %v, want one of kind %v", err, hippo.Invalid)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Add(fromBase64(f, emulatorUpdate))
	f.Add(fromBase64(f, emulatorNothing))
	f.Add(mustEncode(f, nil, document("tenants/a/memories/b", late)))
	f.Add(mustEncode(f, document("tenants/a/memories/b", late), document("tenants/a/memories/c", late)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Decode(data)
		if err != nil {
			if !hippo.IsKind(err, hippo.Invalid) {
				t.Errorf("error of kind %v: %v", hippo.ErrorKindOf(err), err)
			}
			return
		}
		again, err := got.Encode()
		if err != nil {
			t.Fatalf("%+v does not encode: %v", got, err)
		}
		if back, err := Decode(again); err != nil || !cmp.Equal(got, back) {
			t.Errorf("%+v encodes to what decodes to %+v, %v", got, back, err)
		}
	})
}
