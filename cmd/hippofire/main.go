// Command hippofire runs the system on one machine, loads data into it, and looks
// after an index. hippofire --help lists what it can do.
package main

import (
	"os"

	"github.com/hippofire/hippofire/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
