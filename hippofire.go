// Package hippofire is what the Go functions buildpack builds: it looks for a
// package at the root of the module, imports it, and serves the functions that
// register themselves. They live in the package functions; docs/design.md tells
// where everything else does.
package hippofire

import (
	_ "github.com/GoogleCloudPlatform/functions-framework-go/functions"

	_ "github.com/hippofire/hippofire/functions"
)
