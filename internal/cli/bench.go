package cli

// benchCmd holds the benchmarks, one field each.
type benchCmd struct {
	List      benchListCmd      `cmd:"" help:"What the list of an agent's memories costs, by scan and from the index."`
	Turn      benchTurnCmd      `cmd:"" help:"What a turn costs beside reading its messages alone, as thread and memory grow."`
	Load      benchLoadCmd      `cmd:"" help:"How many turns the served functions answer in a second, and how fast; each fifth request saves messages."`
	Hook      benchHookCmd      `cmd:"" help:"What it takes to index an import through trigger events."`
	Reach     benchReachCmd     `cmd:"" help:"How much of what answers the questions of LoCoMo a model can see or open."`
	Repair    benchRepairCmd    `cmd:"" help:"What a repair costs, of a right index and of a wrong one."`
	Freshness benchFreshnessCmd `cmd:"" help:"How soon a change shows in the list."`
	Start     benchStartCmd     `cmd:"" help:"How long a new process of the functions takes until it has answered a turn, and how large it is."`
}

// benchStore says where a benchmark's documents lie.
type benchStore struct {
	Store     string `help:"Where documents lie: the Firestore emulator, or a store in this process." enum:"emulator,embedded" default:"emulator"`
	Firestore string `help:"Use the Firestore emulator that runs there; else one is started." env:"FIRESTORE_EMULATOR_HOST" placeholder:"HOST:PORT"`
	JSON      bool   `help:"Print JSON."`
}
