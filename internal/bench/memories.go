package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// contentBytes is the size of a memory's content.
const contentBytes = 2000

var (
	content = strings.Repeat("A sentence of a memory. ", contentBytes/24+1)[:contentBytes]
	epoch   = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// memoryName is the name of the i-th memory: of every kind some, as long as names
// usually are.
func memoryName(i int) string {
	kind := [...]string{"pages", "pages", "pages", "pages", "sources", "sources", "notebook", "journal"}[i%8]
	return fmt.Sprintf("%s/Supplier %06d of the second location", kind, i)
}

// batchDocuments is how many memories one commit writes, which keeps it well
// below the 4 MiB of a request.
const batchDocuments = 400

// grow writes memories until there are so many.
func (w *World) grow(ctx context.Context, from, to int, progress func(int)) error {
	for first := from; first < to; first += batchDocuments {
		last := min(first+batchDocuments, to)
		documents := make(map[string]map[string]any, last-first)
		for i := first; i < last; i++ {
			id, err := w.Layout.Naming.ID(memoryName(i))
			if err != nil {
				return err
			}
			documents[hippo.Fill(w.Layout.Paths.Memory, string(Tenant), string(id))] = map[string]any{
				"name": memoryName(i), "content": content, "updated_at": epoch.Add(time.Duration(i) * time.Minute),
			}
		}
		if err := w.PutDocuments(ctx, documents); err != nil {
			return err
		}
		progress(last)
	}
	return nil
}
