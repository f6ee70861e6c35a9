package tokens

import (
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// table is a byte pair encoding. Its vocabulary is part of the program and is
// made ready when a text is first counted with it, which takes some tens of
// milliseconds and megabytes.
type table struct {
	load func() tokenizer.Codec
}

var (
	o200k  = newTable(tokenizer.O200kBase)
	cl100k = newTable(tokenizer.Cl100kBase)
)

func newTable(encoding tokenizer.Encoding) *table {
	return &table{load: sync.OnceValue(func() tokenizer.Codec {
		codec, err := tokenizer.Get(encoding)
		if err != nil {
			return nil
		}
		return codec
	})}
}

// count is exact. Should the table not be there or fail on a text, which it has no
// reason to, the count is an upper bound: no token is shorter than a byte.
func (t *table) count(text string) int {
	codec := t.load()
	if codec == nil {
		return len(text)
	}
	n, err := codec.Count(text)
	if err != nil {
		return len(text)
	}
	return n
}
