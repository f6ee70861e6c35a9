package docevent

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hippofire/hippofire/hippo"
)

// Field numbers of the messages that Decode walks.
const (
	eventValue    protowire.Number = 1
	eventOldValue protowire.Number = 2
	eventMask     protowire.Number = 3

	documentName       protowire.Number = 1
	documentUpdateTime protowire.Number = 4

	timestampSeconds protowire.Number = 1
	timestampNanos   protowire.Number = 2
)

// A message gives the wire types of those fields of a message by which Decode
// knows it. Other fields are passed over.
type message map[protowire.Number]protowire.Type

var (
	eventMessage     = message{eventValue: protowire.BytesType, eventOldValue: protowire.BytesType, eventMask: protowire.BytesType}
	documentMessage  = message{documentName: protowire.BytesType, documentUpdateTime: protowire.BytesType}
	timestampMessage = message{timestampSeconds: protowire.VarintType, timestampNanos: protowire.VarintType}
)

// header is what Decode reads of a document.
type header struct {
	present    bool
	name       string
	updateTime *timestamppb.Timestamp
}

// Decode reads which document an event is about. Its errors are of kind Invalid:
// ErrNoDocument where the event holds neither document, another one where data
// is no such payload. A document of length zero counts as none.
func Decode(data []byte) (Change, error) {
	var value, old header
	err := eventMessage.walk(data, func(n protowire.Number, field []byte) error {
		switch n {
		case eventValue:
			return value.read(field)
		case eventOldValue:
			return old.read(field)
		}
		return nil
	})
	switch {
	case err != nil:
		return Change{}, err
	case value.present && old.present && value.name != old.name:
		return Change{}, hippo.Errorf(hippo.Invalid, "name", "the event names two documents")
	case value.present:
		return value.change(false)
	case old.present:
		return old.change(true)
	}
	return Change{}, ErrNoDocument
}

func (h header) change(deleted bool) (Change, error) {
	c, err := parseName(h.name)
	if err != nil {
		return Change{}, err
	}
	c.Deleted = deleted
	if h.updateTime != nil {
		if err := h.updateTime.CheckValid(); err != nil {
			return Change{}, hippo.Wrap(hippo.Invalid, err, "read the event's update_time")
		}
		c.UpdatedAt = h.updateTime.AsTime()
	}
	return c, nil
}

// read adds what it finds in a document: protobuf allows that a message comes in
// several pieces, of which the later ones win.
func (h *header) read(document []byte) error {
	h.present = h.present || len(document) > 0
	return documentMessage.walk(document, func(n protowire.Number, field []byte) error {
		if n == documentName {
			h.name = string(field)
			return nil
		}
		return h.readTime(field)
	})
}

func (h *header) readTime(data []byte) error {
	if h.updateTime == nil {
		h.updateTime = new(timestamppb.Timestamp)
	}
	return timestampMessage.walk(data, func(n protowire.Number, field []byte) error {
		v, _ := protowire.ConsumeVarint(field)
		if n == timestampSeconds {
			h.updateTime.Seconds = int64(v)
		} else {
			h.updateTime.Nanos = int32(v)
		}
		return nil
	})
}

// walk calls visit with the value of each field that m lists, in the order of
// the data. Where such a field has another wire type, data is of another schema.
func (m message) walk(data []byte, visit func(protowire.Number, []byte) error) error {
	for len(data) > 0 {
		n, got, size := protowire.ConsumeTag(data)
		if size < 0 {
			return malformed(size)
		}
		data = data[size:]
		if size = protowire.ConsumeFieldValue(n, got, data); size < 0 {
			return malformed(size)
		}
		value := data[:size]
		data = data[size:]
		want, listed := m[n]
		switch {
		case !listed:
			continue
		case got != want:
			return hippo.Errorf(hippo.Invalid, "", "field %d has wire type %d: this is no document event", n, got)
		case got == protowire.BytesType:
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := visit(n, value); err != nil {
			return err
		}
	}
	return nil
}

func malformed(size int) error {
	return hippo.Wrap(hippo.Invalid, protowire.ParseError(size), "read a document event")
}
