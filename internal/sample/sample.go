// Package sample holds the conversation that ships with the project: seven weeks
// between the owner of a bicycle shop and her agent, what the agent's memory
// passes filed, what it knew before, and a question that only something said
// weeks ago can answer. People, places and figures are invented.
package sample

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/hippofire/hippofire/hippo"
)

//go:embed *.jsonl question.json
var files embed.FS

// Sample is the whole of it.
type Sample struct {
	// Before are the memories that were there before the thread began.
	Before []Memory
	// Messages are the thread, oldest first.
	Messages []StretchMessage
	// Passes are what was filed, one a stretch, in order.
	Passes   []Pass
	Question Question
}

// Memory is a long-term record as an import brings it.
type Memory struct {
	Name      string       `json:"name"`
	Content   string       `json:"content"`
	UpdatedAt hippo.Micros `json:"updated_at"`
}

// StretchMessage is a message and the number of its stretch, counted from 1.
type StretchMessage struct {
	Stretch int `json:"stretch"`
	hippo.Message
}

// Pass is what the memory pass of one stretch filed. An empty Episode means that
// the stretch was small talk and gets no line.
type Pass struct {
	Stretch int      `json:"stretch"`
	Episode string   `json:"episode"`
	Writes  []Write  `json:"writes"`
	Deletes []string `json:"deletes"`
	Moves   []Move   `json:"moves"`
}

// Write files a memory; it replaces the content of one that is there.
type Write struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Move merges one memory into another, and the first is gone.
type Move struct {
	From string `json:"from"`
	Into string `json:"into"`
}

// Question is the user message that comes after the thread.
type Question struct {
	hippo.Message
	// Needs is the text without which no answer is right, letter by letter as it
	// stands in Stretch, where it was said, and in Memory, where it was filed.
	Needs   string `json:"needs"`
	Stretch int    `json:"stretch"`
	Memory  string `json:"memory"`
	Edit    Edit   `json:"edit"`
}

// Edit is what somebody changes by hand, behind the agent's back.
type Edit struct {
	// Delete names a page that lines of the buffer point at.
	Delete string `json:"delete"`
}

// Load reads the sample out of the program.
func Load() (Sample, error) { return load(files) }

// Stretch lists the messages of stretch n.
func (s Sample) Stretch(n int) []hippo.Message {
	var in []hippo.Message
	for _, m := range s.Messages {
		if m.Stretch == n {
			in = append(in, m.Message)
		}
	}
	return in
}

func load(from fs.FS) (Sample, error) {
	var s Sample
	var err error
	if s.Before, err = decode[Memory](from, "before.jsonl"); err != nil {
		return Sample{}, err
	}
	if s.Messages, err = decode[StretchMessage](from, "thread.jsonl"); err != nil {
		return Sample{}, err
	}
	if s.Passes, err = decode[Pass](from, "passes.jsonl"); err != nil {
		return Sample{}, err
	}
	questions, err := decode[Question](from, "question.json")
	if err != nil {
		return Sample{}, err
	}
	if len(questions) != 1 {
		return Sample{}, hippo.Errorf(hippo.Invalid, "question.json", "has %d questions instead of one", len(questions))
	}
	s.Question = questions[0]
	return s, nil
}

// decode reads every JSON value of a file, and refuses a field it does not know.
func decode[T any](from fs.FS, name string) ([]T, error) {
	raw, err := fs.ReadFile(from, name)
	if err != nil {
		return nil, hippo.Wrap(hippo.NotFound, err, "read "+name)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var values []T
	for dec.More() {
		var v T
		if err := dec.Decode(&v); err != nil {
			return nil, hippo.Wrap(hippo.Invalid, err, fmt.Sprintf("%s, value %d", name, len(values)+1))
		}
		values = append(values, v)
	}
	return values, nil
}
