package localstack

import (
	"context"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hippofire/hippofire/hippo"
)

// subscribe makes the repair topic and its push subscription. A subscription
// that an earlier stack left at an emulator that goes on running leads to a
// server that is gone, and is replaced.
func (s *Stack) subscribe(ctx context.Context) error {
	client, err := pubsub.NewClient(ctx, s.config.Project,
		option.WithEndpoint(s.PubSubHost),
		option.WithoutAuthentication(),
		option.WithTelemetryDisabled(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "connect to the Pub/Sub emulator")
	}
	defer client.Close()
	project := "projects/" + s.config.Project
	topic, name := project+"/topics/"+s.config.Topic, project+"/subscriptions/"+s.config.Topic
	if _, err := client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topic}); err != nil && status.Code(err) != codes.AlreadyExists {
		return hippo.Wrap(hippo.Unavailable, err, "create the repair topic")
	}
	admin := client.SubscriptionAdminClient
	err = admin.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: name})
	if err != nil && status.Code(err) != codes.NotFound {
		return hippo.Wrap(hippo.Unavailable, err, "replace the subscription of the repair topic")
	}
	_, err = admin.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name: name, Topic: topic, AckDeadlineSeconds: int32(pushTimeout.Seconds()),
		PushConfig: &pubsubpb.PushConfig{PushEndpoint: s.FunctionsURL + "/Repair"},
	})
	if err != nil {
		return hippo.Wrap(hippo.Unavailable, err, "create the subscription of the repair topic")
	}
	return nil
}
