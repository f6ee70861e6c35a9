package main

const modulePath = "github.com/hippofire/hippofire"

// listedSkips are the tests that may skip themselves in a full run, by package
// and name, each with the reason why that leaves nothing untested.
var listedSkips = map[testID]string{
	{modulePath + "/internal/emulator/emulatortest", "TestPrintsAddress"}: "another test runs it in a process of its own",
}
