package layering

import "slices"

const module = "github.com/hippofire/hippofire"

// row says what a package may import outside its tests, beside the standard
// library.
type row struct {
	pkg string // inside the module; "." is the root
	// imports are packages of the module; anything stands for all but
	// commands and, outside packages for tests, those.
	imports []string
	// bare packages import no other module.
	bare bool
	// forTests marks a package that only tests and its like import.
	forTests bool
}

var (
	domain   = []string{"hippo"}
	leaves   = []string{"contract", "format", "prompttext", "tokens", "textscan", "terms", "repairmsg", "docevent", "reconcile", "store/schema", "tools"}
	stored   = []string{"hippo", "store/schema"}
	features = []string{"indexhook", "turnreader", "episodewriter", "history", "repair"}
	onLeaves = slices.Concat(domain, leaves)
	anything = []string{"*"}
)

// rows has every package of the module.
var rows = []row{
	{pkg: "hippo", bare: true},

	{pkg: "contract", imports: domain},
	{pkg: "format", imports: append([]string{"tools"}, domain...)},
	{pkg: "prompttext", imports: domain},
	{pkg: "tokens", imports: domain},
	{pkg: "textscan", imports: domain},
	{pkg: "terms", imports: domain},
	{pkg: "repairmsg", imports: domain},
	{pkg: "docevent", imports: domain},
	{pkg: "tools"},
	{pkg: "store/schema", imports: domain},
	{pkg: "reconcile", imports: append([]string{"repairmsg"}, domain...)},

	{pkg: "store/embedded", imports: stored},
	{pkg: "store/firestoredb", imports: stored},
	{pkg: "store/faultstore", imports: domain, forTests: true},
	{pkg: "store/firestoredb/indexcheck", forTests: true},
	{pkg: "store/storetest", imports: stored, forTests: true},

	{pkg: "indexhook", imports: onLeaves},
	{pkg: "turnreader", imports: onLeaves},
	{pkg: "episodewriter", imports: onLeaves},
	{pkg: "history", imports: onLeaves},
	{pkg: "repair", imports: onLeaves},

	{pkg: "functions", imports: slices.Concat(onLeaves, features, []string{"store/firestoredb"})},
	{pkg: ".", imports: []string{"functions"}},

	{pkg: "cmd/hippofire", imports: anything},
	{pkg: "examples/agent", bare: true},
	{pkg: "internal/dataset", forTests: true},
	{pkg: "emulator-tests", imports: anything, forTests: true},
	{pkg: "examples", forTests: true},
	{pkg: "examples/go", bare: true},
	{pkg: "emulator-tests/environment", imports: anything, forTests: true},
	{pkg: "emulator-tests/functionsprocess", imports: anything},
	{pkg: "emulator-tests/rpcfault"},
	{pkg: "emulator-tests/simulation", imports: anything, forTests: true},
	{pkg: "internal/bench", imports: anything},
	{pkg: "internal/cli", imports: anything},
	{pkg: "internal/client", imports: anything},
	{pkg: "internal/demo", imports: anything},
	{pkg: "internal/emulator", imports: domain},
	{pkg: "internal/emulator/emulatortest", imports: []string{"internal/emulator"}, forTests: true},
	{pkg: "internal/firestoreconf", imports: domain},
	{pkg: "internal/fixture", imports: anything, forTests: true},
	{pkg: "internal/importer", imports: anything},
	{pkg: "internal/forget", imports: []string{"hippo", "internal/paging"}},
	{pkg: "internal/paging", imports: domain},
	{pkg: "internal/layering"},
	{pkg: "internal/localstack", imports: anything},
	{pkg: "internal/edgefuzz", forTests: true},
	{pkg: "internal/secret"},
	{pkg: "internal/planted", imports: anything, forTests: true},
	{pkg: "internal/openapi", imports: anything},
	{pkg: "internal/relay", imports: anything},
	{pkg: "internal/sample", imports: anything},

	{pkg: "scripts/internal/breaks", imports: tools},
	{pkg: "scripts/internal/checkdeploy", imports: tools},
	{pkg: "scripts/internal/deploy", imports: []string{"hippo", "functions", "repairmsg", "internal/firestoreconf", "scripts/internal/worktree"}},
	{pkg: "scripts/internal/emulators", imports: []string{"hippo", "internal/emulator"}},
	{pkg: "scripts/internal/gotest"},
	{pkg: "scripts/internal/testrun", imports: append([]string{"internal/secret"}, tools...)},
	{pkg: "scripts/internal/worktree"},
}

var tools = []string{"scripts/internal/emulators", "scripts/internal/gotest", "scripts/internal/worktree"}

// guard names the packages that may import a library, in their tests too.
type guard struct {
	library string // the packages at and below this path
	to      []string
	// inTests says that only their tests may.
	inTests bool
}

// guards: where several match, the first decides.
var guards = []guard{
	// The generated messages alone, which the trigger's events carry.
	{library: "cloud.google.com/go/firestore/apiv1/firestorepb", to: []string{"docevent", "store/firestoredb", "store/firestoredb/indexcheck"}},
	{library: "cloud.google.com/go/firestore", to: []string{"store/firestoredb", "internal/emulator", "internal/emulator/emulatortest", "emulator-tests"}},
	{library: "github.com/GoogleCloudPlatform/functions-framework-go", to: []string{".", "functions", "internal/localstack", "emulator-tests/functionsprocess"}},
	// What the providers' own libraries take is what a turn is held to.
	{library: "github.com/anthropics/anthropic-sdk-go", to: []string{"functions"}, inTests: true},
	{library: "github.com/openai/openai-go", to: []string{"functions"}, inTests: true},
	{library: "google.golang.org/genai", to: []string{"functions"}, inTests: true},
}
