package contract_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/hippofire/hippofire/contract"
	"github.com/hippofire/hippofire/hippo"
)

func number(n int) *int { return &n }

func TestContractIsRead(t *testing.T) {
	got, err := contract.Parse([]byte("max_tokens: 9000\ninclude:\n  memory_list: {rank: 2, max_tokens: 0}\n  buffer: {rank: -1}\n  system_text:\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := contract.Contract{MaxTokens: number(9000), Include: map[contract.Block]contract.Rule{
		contract.MemoryList: {Rank: 2, MaxTokens: number(0)}, contract.Buffer: {Rank: -1}, contract.SystemText: {},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]contract.Block{contract.Buffer, contract.MemoryList}, got.Ranked()); diff != "" {
		t.Error(diff)
	}
	if got.Includes(contract.RecentMessages) || !got.Includes(contract.NewMessage) {
		t.Error("what it names is not what it includes")
	}
}

// wrong are contracts that are refused, and how. Those that no schema can know
// are marked.
var wrong = []struct {
	name, text, want string
	beyondSchema     bool
}{
	{"an unknown block", "include:\n  buffer: {rank: 1}\n  memory_lst: {rank: 2}\n", "include.memory_lst: line 3: there is no such block: use system_text, memory_list,", false},
	{"a negative ceiling", "include:\n  buffer:\n    rank: 1\n    max_tokens: -5\n", "include.buffer.max_tokens: line 4: -5 is negative", false},
	{"a negative ceiling of the whole", "max_tokens: -1\ninclude: {buffer: {rank: 1}}\n", "max_tokens: line 1: -1 is negative", false},
	{"a tab", "include:\n\tbuffer: {rank: 1}\n", "line 2: begins with a tab", true},
	{"an unknown field", "include: {buffer: {rank: 1}}\nbudget: 5\n", "budget: line 2: there is no such field: use max_tokens, include", false},
	{"an unknown field of a block", "include: {buffer: {rank: 1, max: 5}}\n", "include.buffer.max: line 1: there is no such field: use rank, max_tokens", false},
	{"a ceiling in words", "max_tokens: many\ninclude: {buffer: {rank: 1}}\n", "max_tokens: line 1: must be a whole number", false},
	{"a ceiling in quotes", "max_tokens: \"5\"\ninclude: {buffer: {rank: 1}}\n", "max_tokens: line 1: must be a whole number", false},
	{"no rank", "include:\n  buffer: {max_tokens: 5}\n", "include.buffer.rank: line 2: is missing", false},
	{"a rank of what is never left out", "include: {new_message: {rank: 1}}\n", "include.new_message.rank: line 1: new_message is never left out", false},
	{"a rank that is there twice", "include:\n  buffer: {rank: 1}\n  memory_list: {rank: 1}\n", "include.memory_list.rank: line 3: 1 is that of buffer too", true},
	{"a block that is there twice", "include:\n  buffer: {rank: 1}\n  buffer: {rank: 2}\n", "line 3", true},
	{"nothing included", "max_tokens: 5\n", "include: line 1: names no block", false},
	{"a list", "- buffer\n", "line 1: must be a mapping", false},
	{"a list of blocks", "include: [buffer]\n", "include: line 1: must be a mapping", false},
	{"an alias", "include: {buffer: &b {rank: 1}, memory_list: *b}\n", "include.memory_list: line 1: must be a mapping", true},
	{"nothing", "", "line 1: is empty", true},
	{"a comment alone", "# nothing yet\n", "is not YAML", true},
	{"no YAML", "include: {buffer\n", "is not YAML", true},
	{"two documents", "include: {buffer: {rank: 1}}\n---\ninclude: {}\n", "is not YAML", true},
}

func TestWrongContractIsRefusedWithLineAndField(t *testing.T) {
	for _, test := range wrong {
		t.Run(test.name, func(t *testing.T) {
			_, err := contract.Parse([]byte(test.text))
			if !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestSetNamesItsContracts(t *testing.T) {
	set, err := contract.ParseSet([]byte("contracts:\n  a: {include: {buffer: {rank: 1}}}\n  b: {include: {memory_list: {rank: 1}}}\n"))
	if err != nil || len(set) != 2 || !set["b"].Includes(contract.MemoryList) {
		t.Errorf("%v, error %v", set, err)
	}
	for text, want := range map[string]string{
		"contracts:\n  a:\n    include:\n      lease: {}\n": "contracts.a.include.lease: line 4: there is no such block",
		"contracts: {}\n":                    "contracts: line 1: holds no contract",
		"include: {buffer: {rank: 1}}\n":     "include: line 1: there is no such field: use contracts",
		strings.Repeat("#", 64<<10) + "\n\n": "the limit is 65536",
	} {
		if _, err := contract.ParseSet([]byte(text)); !hippo.IsKind(err, hippo.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// inline is the schema of one contract.
func inline(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := os.ReadFile("../docs/contract.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	one := jsonschema.Schema{Ref: "#/$defs/contract", Defs: schema.Defs}
	resolved, err := one.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func TestSchemaRefusesWhatTheParserRefuses(t *testing.T) {
	schema := inline(t)
	for _, test := range wrong {
		if test.beyondSchema {
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(test.text), &value); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(value) == nil {
			t.Errorf("the schema takes %s", test.name)
		}
	}
}

func TestShippedExampleIsAsTheSchemaSays(t *testing.T) {
	text, err := os.ReadFile("../docs/contracts.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := contract.ParseSet(text); err != nil {
		t.Error(err)
	}
	var file struct {
		Contracts map[string]any `yaml:"contracts"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	schema := inline(t)
	for name, value := range file.Contracts {
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, test := range wrong {
		f.Add([]byte(test.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := contract.Parse(text)
		_, errSet := contract.ParseSet(text)
		for _, err := range []error{err, errSet} {
			if err != nil && !hippo.IsKind(err, hippo.Invalid) {
				t.Errorf("error %v is not of kind invalid", err)
			}
		}
	})
}
