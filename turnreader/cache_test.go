package turnreader

import (
	"fmt"
	"testing"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

func TestCacheHoldsNoMoreThanItsBytesAndDropsWhatWasUsedLeastRecently(t *testing.T) {
	c := newCache(1000)
	for i := range 300 {
		c.put(hippo.TenantID(fmt.Sprint(i)), &Known{bytes: 100})
		c.get("0") // is in use all the time
		if c.bytes > c.limit || len(c.held) != c.order.Len() || c.bytes != int64(100*len(c.held)) {
			t.Fatalf("%d lists of %d bytes are held, in an order of %d", len(c.held), c.bytes, c.order.Len())
		}
	}
	for i := range 300 {
		want := i == 0 || i >= 291
		if held := c.get(hippo.TenantID(fmt.Sprint(i))) != nil; held != want {
			t.Errorf("tenant %d is held: %t", i, held)
		}
	}
	if c.put("large", &Known{bytes: 1001}); c.bytes != 0 || c.get("large") != nil {
		t.Errorf("a list larger than the cache left %d bytes", c.bytes)
	}
}

func TestTenantsThatKnowNothingTakeTheirRoomInTheCache(t *testing.T) {
	c := newCache(1 << 20)
	gen := hippo.Generation{ID: "00000000", Shards: hippo.MinShards, Version: hippo.IndexVersion}
	shards := make([]*hippo.Shard, gen.Shards)
	for n := range shards {
		shards[n] = &hippo.Shard{ID: hippo.ShardID{Gen: gen.ID, N: n}}
	}
	for i := range 2000 {
		known, ok := knownOf(hippo.Base64URL, gen, shards, time.Unix(1, 0))
		if !ok {
			t.Fatal("the index is not whole")
		}
		c.put(hippo.TenantID(fmt.Sprint(i)), known)
	}
	if len(c.held) < 100 || len(c.held) > 500 {
		t.Errorf("1 MiB holds %d tenants", len(c.held))
	}
}

func TestCacheKeepsTheLaterSnapshot(t *testing.T) {
	c := newCache(1000)
	early, late := &Known{at: time.Unix(1, 0)}, &Known{at: time.Unix(2, 0)}
	for _, known := range []*Known{early, late, early} {
		c.put("t", known)
	}
	if c.get("t") != late {
		t.Error("an earlier snapshot took the place of a later one")
	}
}
