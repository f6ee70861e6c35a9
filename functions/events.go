package functions

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/hippofire/hippofire/docevent"
	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/indexhook"
	"github.com/hippofire/hippofire/repairmsg"
)

const published = "google.cloud.pubsub.topic.v1.messagePublished"

// logBatches logs how many memories each write of the hook was for.
func logBatches(reconcile indexhook.Reconcile, log *slog.Logger) indexhook.Reconcile {
	return func(ctx context.Context, tenant hippo.TenantID, ids []hippo.MemoryID) error {
		begun := time.Now()
		err := reconcile(ctx, tenant, ids)
		log.InfoContext(ctx, "batch written", "tenant", tenant, "memories", len(ids), "ok", err == nil, "milliseconds", time.Since(begun).Milliseconds())
		return err
	}
}

// IndexHook takes the document trigger's events. An error asks for the event to
// be delivered again; an event that never could be used is logged and
// acknowledged.
func (a *App) IndexHook(ctx context.Context, e event.Event) error {
	if e.Type() != docevent.Written {
		a.log.WarnContext(ctx, "event dropped: it is no document's", "event", e.ID(), "type", e.Type())
		return nil
	}
	return a.hook.Handle(ctx, e.ID(), e.Data())
}

// Repair takes the messages of the repair topic, on the same terms.
func (a *App) Repair(ctx context.Context, e event.Event) error {
	m, err := repairMessage(e)
	if err == nil {
		err = a.repairer.Handle(ctx, m)
	}
	if err != nil && !hippo.ErrorKindOf(err).Retry() {
		a.log.WarnContext(ctx, "repair message dropped: it can never be carried out", "event", e.ID(), "tenant", m.Tenant, "error", err)
		return nil
	}
	return err
}

func repairMessage(e event.Event) (repairmsg.Message, error) {
	if e.Type() != published {
		return repairmsg.Message{}, hippo.Errorf(hippo.Invalid, "", "%q is not the event of a topic", e.Type())
	}
	var push struct {
		Message struct {
			Data []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(e.Data(), &push); err != nil {
		return repairmsg.Message{}, hippo.Wrap(hippo.Invalid, err, "the event holds no message")
	}
	return repairmsg.Decode(push.Message.Data)
}
