package cli

// benchCmd holds the benchmarks, one field each.
type benchCmd struct {
	List  benchListCmd  `cmd:"" help:"What the list of an agent's memories costs, by scan and from the index."`
	Hook  benchHookCmd  `cmd:"" help:"What it takes to index an import through trigger events."`
	Start benchStartCmd `cmd:"" help:"How long a new process of the functions takes until it has answered a turn, and how large it is."`
}

// benchStore says where a benchmark's documents lie.
type benchStore struct {
	Store     string `help:"Where documents lie: the Firestore emulator, or a store in this process." enum:"emulator,embedded" default:"emulator"`
	Firestore string `help:"Use the Firestore emulator that runs there; else one is started." env:"FIRESTORE_EMULATOR_HOST" placeholder:"HOST:PORT"`
	JSON      bool   `help:"Print JSON."`
}
