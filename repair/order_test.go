package repair_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/internal/fixture"
	"github.com/hippofire/hippofire/repair"
	"github.com/hippofire/hippofire/repairmsg"
)

// Each test here is about one step of a rebuild's order, and fails where the step
// is taken too early, too late, or without looking.

func TestAMemoryCreatedJustBeforeTheGenerationIsAnnouncedIsInIt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(25)...)
		f.Fault.Before = func(_ context.Context, method string) error {
			if method == "AnnounceGeneration" {
				r.hook(f.SaveMemories("a/first", "z/last")...) // which finds no index, and acknowledges
			}
			return nil
		}
		r.handle(ask())
		f.WantEqual(f.Meta().Current)
	})
}

func TestReadersNeverSeeAGenerationThatIsNotFilled(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(45)...)
		var looks atomic.Int32 // shards are written side by side
		f.Fault.After = func(_ context.Context, method string) error {
			looks.Add(1)
			if current := f.Meta().Current; !current.IsZero() {
				f.WantEqual(current)
			}
			return nil
		}
		r.handle(ask())
		f.DeleteIndexDocument(f.Meta().Current.ShardIDs()[0].String())
		f.Fault.After = nil
		r.handle(ask())
		f.WantEqual(f.Meta().Current)
		if n := looks.Load(); n < 10 {
			t.Errorf("only %d calls were looked at", n)
		}
	})
}

func TestABuilderWhoseMetaIsGoneDoesNotBringItBack(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(15)...)
		var once sync.Once
		scans := 0
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ScanEntries" {
				scans++
			}
			if method == "WriteEntries" && scans == 2 { // of the last page
				once.Do(func() {
					f.DeleteIndexDocument("meta")
					r.hook(f.SaveMemories("a/while there was no meta")...) // which is acknowledged
				})
			}
			return nil
		}
		r.handle(ask())
		f.WantEqual(f.Meta().Current)
		r.wantNoLeftovers()
	})
}

func TestABuilderWhoseGenerationWasReplacedDoesNotPromoteIt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(15)...)
		scans := 0
		var replaced hippo.Generation
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ScanEntries" {
				if scans++; scans == 2 { // the last page
					replaced = f.Meta().Next
					f.Announce(hippo.IndexVersion, 16)
				}
			}
			return nil
		}
		r.handle(ask())
		f.Fault.After = nil
		if current := f.Meta().Current; current == replaced {
			t.Errorf("the generation that had been replaced was promoted")
		}
		r.handle(ask())
		r.wantRight()
	})
}

func TestOfTwoBuildersOneBegins(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.SaveMemories(fixture.Names(15)...)
		first, second := newRepairer(f, repair.Options{}), newRepairer(f, repair.Options{})
		begun, counts := 0, 0
		f.Fault.Before = func(_ context.Context, method string) error {
			if method == "CountMemories" {
				if counts++; counts == 1 { // the first has read meta, and will announce on what it read
					second.handle(ask())
				}
			}
			return nil
		}
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "AnnounceGeneration" {
				begun++
			}
			return nil
		}
		first.handle(ask())
		if begun != 1 {
			t.Errorf("%d generations were begun, want one", begun)
		}
		first.wantRight()
	})
}

func TestALateBuilderSweepsNothingThatAnotherOneIsFilling(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{})
		f.SaveMemories(fixture.Names(15)...)
		var next hippo.Generation
		f.Fault.Before = func(_ context.Context, method string) error {
			if method == "SweepIndex" && next.IsZero() {
				next = f.Announce(hippo.IndexVersion, 16)
			}
			return nil
		}
		r.handle(ask())
		f.Fault.Before = nil
		for _, s := range f.Index().Of(next) {
			if s == nil {
				t.Fatal("a shard of the generation that is being filled was swept")
			}
		}
		r.handle(ask())
		r.wantRight()
	})
}

func TestAnOldGenerationIsSweptOnlyWhenNobodyIsSentThere(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(25)...)
		r.handle(ask())
		old := f.Meta().Current
		f.PutDocument(hippo.Fill(f.Layout.Paths.Index, string(fixture.Tenant), old.ShardIDs()[0].String()), map[string]any{}) // so that it is rebuilt
		f.Fault.After = func(context.Context, string) error {
			meta, there := f.Meta(), 0
			for _, s := range f.Index().Of(old) {
				if s != nil {
					there++
				}
			}
			if meta.Current == old && there < old.Shards-1 {
				t.Errorf("meta still names the old generation, of which %d shards are left", there)
			}
			return nil
		}
		r.handle(ask())
		f.Fault.After = nil
		if f.Meta().Current == old {
			t.Error("it was not rebuilt")
		}
		r.wantNoLeftovers()
		r.wantRight()
	})
}

func TestACursorIsOfItsGenerationAlone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		ids := f.SaveMemories(fixture.Names(25)...)
		r.handle(repairmsg.Message{Tenant: fixture.Tenant, Cause: repairmsg.Continue, Gen: "replaced00", After: string(ids[20])})
		r.wantRight()
	})
}

func TestABuilderWhoseGenerationWasReplacedScansNoFurtherPage(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		r := newRepairer(f, repair.Options{PageSize: 10})
		f.SaveMemories(fixture.Names(45)...)
		scans := 0
		f.Fault.After = func(_ context.Context, method string) error {
			if method == "ScanEntries" {
				if scans++; scans == 2 {
					f.Announce(hippo.IndexVersion, 16)
				}
			}
			return nil
		}
		r.handle(ask())
		f.Fault.After = nil
		if scans != 2 {
			t.Errorf("%d pages were scanned, want none after the second", scans)
		}
		r.handle(ask())
		r.wantRight()
	})
}
