package contract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/hippofire/hippofire/hippo"
)

// MaxBytes bounds a text of contracts.
const MaxBytes = 64 << 10

// Set is contracts by name.
type Set map[string]Contract

// ParseSet reads a file of contracts: the field contracts, with one under each
// name. Its errors are of kind Invalid and name the line and the field.
func ParseSet(text []byte) (Set, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	set := Set{}
	err = eachField(root, "", func(field string, key, value *yaml.Node) error {
		if key.Value != "contracts" {
			return unknown(key, field, "field", "contracts")
		}
		return eachField(value, field, func(field string, key, value *yaml.Node) (err error) {
			set[key.Value], err = readContract(value, field)
			return err
		})
	})
	if err == nil && len(set) == 0 {
		err = failure(root, "contracts", "holds no contract")
	}
	return set, err
}

// Parse reads one contract by itself, with the fields that one has under its name
// in a file. Its errors are ParseSet's.
func Parse(text []byte) (Contract, error) {
	root, err := parse(text)
	if err != nil {
		return Contract{}, err
	}
	return readContract(root, "")
}

func parse(text []byte) (*yaml.Node, error) {
	if len(text) > MaxBytes {
		return nil, hippo.Errorf(hippo.Invalid, "", "is %d bytes long; the limit is %d", len(text), MaxBytes)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, hippo.Errorf(hippo.Invalid, "", "line 1: is empty")
	}
	var document yaml.Node
	if err := yaml.Load(text, &document); err != nil {
		return nil, notYAML(string(text), err)
	}
	return document.Content[0], nil
}

// notYAML says where a text is no YAML. People who indent by tabs are told that.
func notYAML(text string, err error) error {
	line := 0
	for l := range strings.Lines(text) {
		line++
		if strings.HasPrefix(strings.TrimLeft(l, " "), "\t") && strings.TrimSpace(l) != "" {
			return hippo.Errorf(hippo.Invalid, "", "line %d: begins with a tab; YAML is indented by spaces", line)
		}
	}
	var at *yaml.LoadError
	if errors.As(err, &at) && at.Mark.Line > 0 {
		return hippo.Errorf(hippo.Invalid, "", "line %d: is not YAML: %s", at.Mark.Line, at.Message)
	}
	return hippo.Errorf(hippo.Invalid, "", "is not YAML: %v", err)
}

func readContract(node *yaml.Node, at string) (Contract, error) {
	c := Contract{Include: map[Block]Rule{}}
	err := eachField(node, at, func(field string, key, value *yaml.Node) (err error) {
		switch key.Value {
		case "max_tokens":
			c.MaxTokens, err = readTokens(value, field)
		case "include":
			err = eachField(value, field, func(field string, key, value *yaml.Node) error { return c.readBlock(field, key, value) })
		default:
			err = unknown(key, field, "field", "max_tokens", "include")
		}
		return err
	})
	if err != nil {
		return c, err
	}
	if len(c.Include) == 0 {
		return c, failure(node, join(at, "include"), "names no block: a turn would carry nothing")
	}
	return c, nil
}

func (c Contract) readBlock(at string, key, value *yaml.Node) error {
	b := Block(key.Value)
	if !slices.Contains(Blocks, b) {
		names := make([]string, len(Blocks))
		for i, b := range Blocks {
			names[i] = string(b)
		}
		return unknown(key, at, "block", names...)
	}
	var r Rule
	ranked := false
	err := eachField(value, at, func(field string, key, value *yaml.Node) (err error) {
		switch {
		case key.Value == "max_tokens":
			r.MaxTokens, err = readTokens(value, field)
		case key.Value == "rank" && b.Given():
			err = failure(key, field, fmt.Sprintf("%s is never left out, so that a rank means nothing", b))
		case key.Value == "rank":
			ranked = true
			r.Rank, err = readNumber(value, field)
		default:
			err = unknown(key, field, "field", "rank", "max_tokens")
		}
		return err
	})
	if err != nil {
		return err
	}
	if !ranked && !b.Given() {
		return failure(key, join(at, "rank"), "is missing: the block with the lowest rank is the first to be left out")
	}
	for other, rule := range c.Include {
		if ranked && rule.Rank == r.Rank && !other.Given() {
			return failure(key, join(at, "rank"), fmt.Sprintf("%d is that of %s too", r.Rank, other))
		}
	}
	c.Include[b] = r
	return nil
}

// readTokens reads a ceiling.
func readTokens(node *yaml.Node, field string) (*int, error) {
	n, err := readNumber(node, field)
	if err == nil && n < 0 {
		err = failure(node, field, fmt.Sprintf("%d is negative", n))
	}
	return &n, err
}

func readNumber(node *yaml.Node, field string) (int, error) {
	n, err := strconv.Atoi(node.Value)
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" || err != nil {
		return 0, failure(node, field, "must be a whole number such as 4000")
	}
	return n, nil
}

// eachField calls read for the fields of a mapping, each with its path. A field
// without a value has none of its own.
func eachField(node *yaml.Node, at string, read func(field string, key, value *yaml.Node) error) error {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return failure(node, at, "must be a mapping of fields to values")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		field := join(at, key.Value)
		if seen[key.Value] {
			return failure(key, field, "is there twice")
		}
		seen[key.Value] = true
		if err := read(field, key, value); err != nil {
			return err
		}
	}
	return nil
}

func unknown(key *yaml.Node, field, what string, known ...string) error {
	return failure(key, field, fmt.Sprintf("there is no such %s: use %s", what, strings.Join(known, ", ")))
}

func failure(node *yaml.Node, field, what string) error {
	return hippo.Errorf(hippo.Invalid, field, "line %d: %s", max(node.Line, 1), what)
}

func join(at, field string) string {
	if at == "" {
		return field
	}
	return at + "." + field
}
