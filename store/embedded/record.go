package embedded

import (
	"encoding/json"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// record is one line of the journal: one commit, at its time.
type record struct {
	At  hippo.Micros `json:"at"`
	Ops []op         `json:"ops"`
}

// op is what a commit did to one document. One of Set, Update and Delete is the
// document's path.
type op struct {
	Set    string `json:"set,omitempty"`
	Update string `json:"update,omitempty"`
	Delete string `json:"delete,omitempty"`
	// Fields are the whole document that Set left.
	Fields map[string]typed `json:"fields,omitempty"`
	// Created is when the document was created, where a line is not of a commit
	// but stands for all commits to a document before.
	Created hippo.Micros `json:"created,omitzero"`
	// Changes are what Update did.
	Changes []change `json:"changes,omitempty"`
}

func opOf(e effect) op {
	switch {
	case e.deletes():
		return op{Delete: e.path}
	case e.changes == nil:
		return op{Set: e.path, Fields: typedFields(e.fields)}
	}
	return op{Update: e.path, Changes: e.changes}
}

func typedFields(fields schema.Fields) map[string]typed {
	out := make(map[string]typed, len(fields))
	for name, v := range fields {
		out[name] = typed{v}
	}
	return out
}

// write is the write that an op was made of.
func (o op) write() write {
	switch {
	case o.Delete != "":
		return write{path: o.Delete}
	case o.Set != "":
		fields := make(schema.Fields, len(o.Fields))
		for name, v := range o.Fields {
			fields[name] = v.value
		}
		return write{path: o.Set, fields: fields}
	}
	return write{path: o.Update, changes: o.Changes}
}

// line is a record's line of the journal.
func line(r record) ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

// snapshotLine stands for all commits to a document.
func snapshotLine(path string, d *document) ([]byte, error) {
	return line(record{At: hippo.MicrosOf(d.updated), Ops: []op{{
		Set: path, Fields: typedFields(d.fields), Created: hippo.MicrosOf(d.created),
	}}})
}

func parseLine(text []byte) (record, error) {
	var r record
	err := json.Unmarshal(text, &r)
	return r, err
}

// replay applies a commit that was read back.
func (s *Store) replay(r record) error {
	effects := make([]effect, len(r.Ops))
	for i, o := range r.Ops {
		var err error
		if effects[i], err = s.effect(o.write()); err != nil {
			return err
		}
	}
	for i, e := range effects {
		s.apply(e, r.At.Time())
		if d := s.document(e.path); d != nil && r.Ops[i].Created != 0 {
			d.created = r.Ops[i].Created.Time()
		}
	}
	if at := r.At.Time(); at.After(s.last) {
		s.last = at
	}
	return nil
}
