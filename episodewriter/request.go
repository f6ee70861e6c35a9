package episodewriter

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/prompttext"
	"github.com/hippofire/hippofire/textscan"
)

// Request is what a memory pass sends. Memories are named, not identified.
type Request struct {
	Tenant hippo.TenantID  `json:"tenant"`
	Thread hippo.ThreadID  `json:"thread"`
	From   hippo.MessageID `json:"from"`
	To     hippo.MessageID `json:"to"`
	// Speaker is who the stretch is from; the user where it is empty.
	Speaker string `json:"speaker,omitempty"`
	// Episode is the pass's line; empty where there is nothing to show.
	Episode string   `json:"episode"`
	Writes  []Write  `json:"writes,omitempty"`
	Deletes []string `json:"deletes,omitempty"`
	Moves   []Move   `json:"moves,omitempty"`
	Wrote   []string `json:"wrote,omitempty"`
}

// Write is a memory that the pass files.
type Write struct {
	Name    string `json:"name"`
	Content string `json:"content"`
	// IfUpdatedAt, where given, is the memory's updated_at as the pass read it,
	// in RFC 3339; the pass is refused where the memory has another by now.
	IfUpdatedAt string `json:"if_updated_at,omitempty"`
}

// Move says that a memory was renamed or merged into another.
type Move struct {
	From string `json:"from"`
	Into string `json:"into"`
}

// pass checks the request and turns its names into ids.
func (w *Writer) pass(req Request) (hippo.Pass, error) {
	if err := checkIDs(req); err != nil {
		return hippo.Pass{}, err
	}
	if !utf8.ValidString(req.Episode) {
		return hippo.Pass{}, hippo.Errorf(hippo.Invalid, "episode", "is not valid UTF-8")
	}
	pass := hippo.Pass{Hash: hash(req), Gist: prompttext.Cut(req.Episode, hippo.MaxGistWords, hippo.MaxGistCharacters)}
	pass.Blocked, _ = textscan.Scan(pass.Gist)
	n := namer{naming: w.naming, used: map[hippo.MemoryID]string{}}
	for i, write := range req.Writes {
		field := fmt.Sprintf("writes[%d]", i)
		n.checkContent(field, write)
		pass.Writes = append(pass.Writes, hippo.Write{
			ID: n.once(field+".name", write.Name), Name: write.Name, Content: write.Content,
			IfUpdatedAt: n.time(field+".if_updated_at", write.IfUpdatedAt),
		})
	}
	for i, name := range req.Deletes {
		pass.Deletes = append(pass.Deletes, n.once(fmt.Sprintf("deletes[%d]", i), name))
	}
	for i, move := range req.Moves {
		field := fmt.Sprintf("moves[%d]", i)
		m := hippo.Move{From: n.once(field+".from", move.From), Into: n.id(field+".into", move.Into)}
		if n.err == nil && m.From == m.Into {
			n.err = hippo.Errorf(hippo.Invalid, field+".into", "is the memory itself")
		}
		pass.Moves = append(pass.Moves, m)
	}
	for i, name := range req.Wrote {
		pass.Wrote = append(pass.Wrote, n.id(fmt.Sprintf("wrote[%d]", i), name))
	}
	if count := len(pass.Touched()); n.err == nil && count > hippo.MaxPassMemories {
		n.err = hippo.Errorf(hippo.TooLarge, "writes", "the pass names %d memories; the limit is %d", count, hippo.MaxPassMemories)
	}
	return pass, n.err
}

func checkIDs(req Request) error {
	if _, _, err := hippo.ThreadOf(string(req.Tenant), string(req.Thread)); err != nil {
		return err
	}
	if _, err := hippo.NewMessageID(string(req.From)); err != nil {
		return hippo.InField(err, "from")
	}
	_, err := hippo.NewMessageID(string(req.To))
	return hippo.InField(err, "to")
}

// hash is of everything the caller sent, in a form of its own.
func hash(req Request) string {
	body, err := json.Marshal(req)
	if err != nil {
		panic("episodewriter: a request of strings and times cannot fail to encode: " + err.Error())
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// namer turns names into ids and keeps the first error.
type namer struct {
	naming hippo.Naming
	used   map[hippo.MemoryID]string
	bytes  int
	err    error
}

func (n *namer) id(field, name string) hippo.MemoryID {
	id, err := n.naming.ID(name)
	if err != nil && n.err == nil {
		n.err = hippo.InField(err, field)
	}
	return id
}

// once is id for a memory that a pass can write, delete or move only once.
func (n *namer) once(field, name string) hippo.MemoryID {
	id := n.id(field, name)
	if other, ok := n.used[id]; ok && n.err == nil {
		n.err = hippo.Errorf(hippo.Invalid, field, "%q is in %s already", prompttext.Cut(name, 12, 80), other)
	}
	n.used[id] = field
	return id
}

func (n *namer) time(field, s string) *hippo.Micros {
	if s == "" {
		return nil
	}
	at, err := hippo.ParseMicros(s)
	if err != nil && n.err == nil {
		n.err = hippo.InField(err, field)
	}
	return &at
}

func (n *namer) checkContent(field string, w Write) {
	n.bytes += len(w.Name) + len(w.Content)
	switch {
	case n.err != nil:
	case !utf8.ValidString(w.Content):
		n.err = hippo.Errorf(hippo.Invalid, field+".content", "is not valid UTF-8")
	case len(w.Content) > hippo.MaxMemoryBytes:
		n.err = hippo.Errorf(hippo.TooLarge, field+".content", "is %d bytes long; the limit is %d", len(w.Content), hippo.MaxMemoryBytes)
	case n.bytes > hippo.MaxPassBytes:
		n.err = hippo.Errorf(hippo.TooLarge, field, "with this the pass writes more than %d bytes", hippo.MaxPassBytes)
	}
}
