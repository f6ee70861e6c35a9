package functions

import (
	"context"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/repairmsg"
)

// publishTimeout bounds one message's way to the topic.
const publishTimeout = 10 * time.Second

// topic publishes repair messages to Pub/Sub.
type topic struct {
	client    *pubsub.Client
	publisher *pubsub.Publisher
}

func newTopic(client *pubsub.Client, name string) *topic {
	p := client.Publisher(name)
	p.PublishSettings.DelayThreshold = time.Millisecond
	return &topic{client: client, publisher: p}
}

// Publish returns when the topic has the message.
func (t *topic) Publish(ctx context.Context, m repairmsg.Message) error {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if _, err := t.publisher.Publish(ctx, &pubsub.Message{Data: m.Encode()}).Get(ctx); err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "publishing a repair message")
	}
	return nil
}

func (t *topic) close() error {
	t.publisher.Stop()
	return t.client.Close()
}
