// Package repairmsg is what travels on the repair topic: the messages that ask
// for a check, a build or their continuation, and the Asker with which any part
// of the system asks without asking twice.
package repairmsg

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hippofire/hippofire/hippo"
)

// Cause says why a message was sent.
type Cause string

// The causes. Whatever the cause, who takes the message looks at the index
// first and does what it needs.
const (
	Nightly   Cause = "nightly"       // the scheduled check of every tenant
	Operator  Cause = "operator"      // somebody asked by hand
	NoIndex   Cause = "no index"      // a reader or writer found none
	LostShard Cause = "lost shard"    // a generation misses a shard
	OldFormat Cause = "old format"    // the index is of an older version
	FullShard Cause = "full shard"    // a shard is above half of its budget
	Refused   Cause = "refused write" // a shard was refused for its size
	Continue  Cause = "continue"      // an earlier run has more to do
)

// Message is one message of the topic. Without a tenant it asks for all.
type Message struct {
	Tenant hippo.TenantID `json:"tenant,omitempty"`
	Cause  Cause          `json:"cause"`
	// Gen is the generation being filled that this message carries on.
	Gen hippo.GenerationID `json:"gen,omitempty"`
	// After is the last memory (or, without a tenant, the last tenant) that the
	// earlier run had done with.
	After string `json:"after,omitempty"`
	// Token is the store's own mark of the same place in the list of tenants.
	Token string `json:"token,omitempty"`
	// Run is what earlier parts of the same run found; nil at its beginning.
	Run *hippo.Report `json:"run,omitempty"`
}

// Encode is the message as it travels.
func (m Message) Encode() []byte {
	data, err := json.Marshal(m)
	if err != nil {
		panic("repairmsg: a message of strings and numbers cannot fail to encode: " + err.Error())
	}
	return data
}

// Decode reads a message. Its error is of kind Invalid.
func Decode(data []byte) (Message, error) {
	var m Message
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		// What the decoder complains of may quote the message, and errors are logged.
		return m, hippo.Errorf(hippo.Invalid, "", "the repair message is not one of ours")
	}
	return m, m.check()
}

// causes are all there are.
var causes = []Cause{Nightly, Operator, NoIndex, LostShard, OldFormat, FullShard, Refused, Continue}

// check refuses what no part of this program sends. It quotes nothing, as Decode
// does not.
func (m Message) check() error {
	if !slices.Contains(causes, m.Cause) {
		return hippo.Errorf(hippo.Invalid, "cause", "is none of those that a repair message has")
	}
	if m.Run != nil && m.Run.Tenant != m.Tenant {
		return hippo.Errorf(hippo.Invalid, "run.tenant", "is another tenant than the message's")
	}
	if m.Tenant == "" {
		return nil
	}
	_, err := hippo.NewTenantID(string(m.Tenant))
	return hippo.InField(err, "tenant")
}

// Publisher puts a message on the topic and returns when it is there.
type Publisher interface {
	Publish(ctx context.Context, m Message) error
}

// askAgainAfter is how long a process stays silent about a tenant it has asked
// for, and the longest list of such tenants it keeps.
const (
	askAgainAfter = time.Minute
	maxAsked      = 10_000
)

// Asker asks for a tenant's repair at most once a minute. It is safe for
// concurrent use.
type Asker struct {
	publisher Publisher
	now       func() time.Time

	mu    sync.Mutex
	asked map[hippo.TenantID]time.Time
}

// NewAsker makes an Asker; a nil clock is the host's.
func NewAsker(publisher Publisher, now func() time.Time) *Asker {
	if now == nil {
		now = time.Now
	}
	return &Asker{publisher: publisher, now: now, asked: make(map[hippo.TenantID]time.Time)}
}

// Ask publishes a message about the tenant, or does nothing where this process
// did so within the last minute. A message that could not be published counts as
// not asked.
func (a *Asker) Ask(ctx context.Context, tenant hippo.TenantID, cause Cause) error {
	if !a.claim(tenant) {
		return nil
	}
	err := a.publisher.Publish(ctx, Message{Tenant: tenant, Cause: cause})
	if err != nil {
		a.mu.Lock()
		delete(a.asked, tenant)
		a.mu.Unlock()
		return hippo.Wrap(hippo.Unavailable, err, "asking for a repair")
	}
	return nil
}

func (a *Asker) claim(tenant hippo.TenantID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if last, ok := a.asked[tenant]; ok && now.Sub(last) < askAgainAfter {
		return false
	}
	if len(a.asked) >= maxAsked {
		clear(a.asked)
	}
	a.asked[tenant] = now
	return true
}

// ErrNoPublisher is what Nobody answers.
var ErrNoPublisher = errors.New("no repair topic is configured: set HIPPOFIRE_REPAIR_TOPIC")

// Nobody is the Publisher of a process that has no topic to publish to.
type Nobody struct{}

// Publish fails with ErrNoPublisher.
func (Nobody) Publish(context.Context, Message) error { return ErrNoPublisher }
