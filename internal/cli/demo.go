package cli

import (
	"context"
	"fmt"

	"github.com/hippofire/hippofire/internal/demo"
	"github.com/hippofire/hippofire/internal/localstack"
)

type demoCmd struct {
	Store string `help:"Where documents lie: a store in this process, or the Firestore emulator." enum:"embedded,emulator" default:"embedded"`
	JSON  bool   `help:"Print the same as data."`
}

func (c *demoCmd) Run(ctx context.Context, to console) error {
	world, stop, err := demo.Open(ctx, localstack.StoreKind(c.Store))
	if err != nil {
		return err
	}
	result, err := demo.Run(ctx, world, func(doing string) {
		if isTerminal(to.err) {
			fmt.Fprintf(to.err, "... %s\n", doing)
		}
	})
	if stopped := stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return to.printJSON(result)
	}
	return result.Write(to.out, demo.Style{Colour: colour(to.out), Times: c.Store == "emulator"})
}
