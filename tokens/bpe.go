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

// count is exact, but that where thousands of bytes have no space between words a
// token may now and then be counted twice. Should the table not be there or fail on
// a text, which it has no reason to, the count is an upper bound: no token is
// shorter than a byte.
func (t *table) count(text string) int {
	codec := t.load()
	if codec == nil {
		return len(text)
	}
	total := 0
	for text != "" {
		end := pieceEnd(text)
		n, err := codec.Count(text[:end])
		if err != nil {
			n = end
		}
		total += n
		text = text[end:]
	}
	return total
}

// pieceBytes bounds what is counted at once, since the time that a run of white
// space takes grows with the square of its length.
const pieceBytes = 8 << 10

// pieceEnd is where the first piece of a text ends: if it can, before a space
// between words, where every token ends.
func pieceEnd(text string) int {
	if len(text) <= pieceBytes {
		return len(text)
	}
	for at := pieceBytes; at > pieceBytes/2; at-- {
		if text[at] == ' ' && inWord(text[at-1]) {
			return at
		}
	}
	return backToRune(text, pieceBytes)
}

func inWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == ','
}
