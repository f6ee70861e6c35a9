package embedded

import (
	"context"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/storetest"
)

// harness is an embedded store, which is its own way around itself.
type harness struct{ store *Store }

func (h harness) Store() hippo.Store { return h.store }

func (h harness) Rerun() hippo.Store {
	h.store.rerun = true
	return h.store
}

func (h harness) PutDocument(ctx context.Context, path string, fields map[string]any) error {
	return h.store.PutDocument(ctx, path, fields)
}

func (h harness) DeleteDocument(ctx context.Context, path string) error {
	return h.store.DeleteDocument(ctx, path)
}

func (h harness) Document(ctx context.Context, path string) (map[string]any, bool, error) {
	return h.store.Document(ctx, path)
}

// inMemory is a new store in the default layout.
func inMemory(t *testing.T, options *Options) *Store {
	t.Helper()
	s, err := New(hippo.DefaultLayout(), options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreInMemoryKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T, layout hippo.Layout) storetest.Harness {
		s, err := New(layout, nil)
		if err != nil {
			t.Fatal(err)
		}
		return harness{s}
	})
}

func TestStoreInAFolderKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T, layout hippo.Layout) storetest.Harness {
		s, err := Open(t.TempDir(), layout, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return harness{s}
	})
}
