package docevent

import (
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hippofire/hippofire/hippo"
)

// encode writes the payload of a change from one document to another. value is
// nil where it was deleted, old where it was created.
func encode(value, old *firestorepb.Document) ([]byte, error) {
	var data []byte
	for _, d := range []struct {
		field    protowire.Number
		document *firestorepb.Document
	}{{eventValue, value}, {eventOldValue, old}} {
		if d.document == nil {
			continue
		}
		raw, err := proto.Marshal(d.document)
		if err != nil {
			return nil, hippo.Wrap(hippo.Invalid, err, "write a document event")
		}
		data = protowire.AppendTag(data, d.field, protowire.BytesType)
		data = protowire.AppendBytes(data, raw)
	}
	return data, nil
}

// Encode writes a payload that says what c says and nothing else: its document
// has no fields.
func (c Change) Encode() ([]byte, error) {
	d := &firestorepb.Document{Name: c.Name()}
	if !c.UpdatedAt.IsZero() {
		d.UpdateTime = timestamppb.New(c.UpdatedAt)
	}
	if c.Deleted {
		return encode(nil, d)
	}
	return encode(d, nil)
}
