package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/hippofire/hippofire/hippo"
)

type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

// Run prints the version that the module was built as, and the index format.
func (c *versionCmd) Run(to console) error {
	v := struct {
		Version string `json:"version"`
		Index   int    `json:"index_format"`
		Go      string `json:"go"`
	}{Version: builtAs(), Index: hippo.IndexVersion, Go: runtime.Version()}
	if c.JSON {
		return to.printJSON(v)
	}
	to.say("hippofire %s, index format %d, %s", v.Version, v.Index, v.Go)
	return nil
}

// builtAs is the version that the module was built as.
func builtAs() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
