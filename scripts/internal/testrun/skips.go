package main

const modulePath = "github.com/hippofire/hippofire"

// listedSkips are the tests that may skip themselves in a full run, by package
// and name, each with the reason why that leaves nothing untested.
var listedSkips = map[testID]string{
	{modulePath + "/internal/emulator/emulatortest", "TestPrintsAddress"}:             "another test runs it in a process of its own",
	{modulePath + "/internal/importer", "TestRealDataSetIsRead"}:                      "the data set is no part of the project, and a conversation of its form is imported anyway",
	{modulePath + "/scripts/internal/deploy", "TestEveryFlagIsOneOfTheInstalledCLIs"}: "only an installed Google Cloud CLI says which flags it has",
	{modulePath + "/textscan", "TestLoCoMoPasses"}:                                    "the data set is no part of the project, and ordinary lines of its own are scanned anyway",
	{modulePath + "/internal/bench", "TestReachOfLoCoMo"}:                             "the data set is no part of the project, and a conversation of its form is measured anyway",

	{modulePath + "/examples", "TestIDsOfMemoriesInPythonAreThoseOfTheVectors"}:             withoutPython,
	{modulePath + "/examples", "TestIDsOfMemoriesInNodeAreThoseOfTheVectors"}:               withoutNode,
	{modulePath + "/internal/cli", "TestExamplesOfAnAgentRunOnBothStores/embedded/python3"}: withoutPython,
	{modulePath + "/internal/cli", "TestExamplesOfAnAgentRunOnBothStores/emulator/python3"}: withoutPython,
	{modulePath + "/internal/cli", "TestExamplesOfAnAgentRunOnBothStores/embedded/node"}:    withoutNode,
	{modulePath + "/internal/cli", "TestExamplesOfAnAgentRunOnBothStores/emulator/node"}:    withoutNode,
}

// The examples are no part of what is deployed, and need what they are written in.
const (
	withoutPython = "Python need not be installed, and the Go tests hold the same vectors and calls"
	withoutNode   = "Node need not be installed, and the Go tests hold the same vectors and calls"
)
