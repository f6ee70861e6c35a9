package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/client"
	"github.com/hippofire/hippofire/internal/importer"
)

type importCmd struct {
	Locomo   importLocomoCmd   `cmd:"" help:"Load the conversations of a LoCoMo file, one tenant each, with what a memory pass filed."`
	Messages importMessagesCmd `cmd:"" help:"Load a transcript: JSON Lines with role, content and created_at, and optionally tenant, thread, id and speaker."`
}

type importLocomoCmd struct {
	target
	File string `arg:"" help:"The file, such as locomo10.json." type:"existingfile"`
	JSON bool   `help:"Print JSON."`
}

func (c *importLocomoCmd) Run(ctx context.Context, to console) error {
	file, functions, err := c.source(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	conversations, err := importer.ReadLocomo(file)
	if err != nil {
		return err
	}
	var p *progress
	sum, err := importer.Locomo(ctx, functions, conversations, func(tenant string, done, of int) {
		if done == 1 {
			p = newProgress(to.err, tenant)
		}
		p.at(done)
		if done == of {
			p.end()
			fmt.Fprintf(to.err, "%s: %d sessions\n", tenant, of)
		}
	})
	return importDone(to, sum, c.JSON, err)
}

type importMessagesCmd struct {
	target
	File string `arg:"" help:"The file." type:"existingfile"`
	JSON bool   `help:"Print JSON."`
}

func (c *importMessagesCmd) Run(ctx context.Context, to console) error {
	file, functions, err := c.source(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	p := newProgress(to.err, "lines")
	sum, err := importer.Messages(ctx, functions, file, p.at)
	p.end()
	return importDone(to, sum, c.JSON, err)
}

// source opens the file of an import, and what it is imported through.
func (t *target) source(path string) (*os.File, *client.Client, error) {
	url, err := t.functionsURL()
	if err != nil {
		return nil, nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, hippo.Wrap(hippo.Invalid, err, "opening the file")
	}
	return file, client.New(url), nil
}

// importDone prints what was imported, also where an error ended it.
func importDone(to console, sum importer.Summary, asJSON bool, err error) error {
	if ctxEnded := hippo.IsKind(err, hippo.Unavailable); ctxEnded {
		err = fmt.Errorf("%w (what is imported stays; the same command goes on from there)", err)
	}
	if asJSON {
		if printed := to.printJSON(sum); err == nil {
			err = printed
		}
		return err
	}
	to.say("%d messages created, %d there already; %d memory passes recorded, %d there already; %d memories written",
		sum.Messages, sum.Existing, sum.Passes, sum.Repeated, sum.Memories)
	return err
}
