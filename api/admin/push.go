package admin

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/services/notify"
)

// Push stores the browsers that get notifications while no page is open.
type Push interface {
	// PublicKey is the key that browsers subscribe with.
	PublicKey() string
	// Subscriber returns the caller of a request.
	Subscriber(ctx context.Context) notify.Subscriber
	// List returns the caller's browsers, oldest first.
	List(ctx context.Context, holder string) ([]notify.Subscription, error)
	// Subscribe adds a browser; *notify.BrowserError refuses it.
	Subscribe(ctx context.Context, who notify.Subscriber, browser notify.Browser) (notify.Subscription, error)
	// Unsubscribe removes one of the caller's browsers; notify.ErrNoSubscription if there is none.
	Unsubscribe(ctx context.Context, holder, id string) error
}

var (
	pushKey       = schema.Text{}.Trim().Min(1).Max(200)
	subscribeBody = schema.Struct(rest.Required("endpoint", schema.Text{}.Trim().Min(1)),
		rest.Required("keys", schema.Struct(rest.Required("p256dh", pushKey), rest.Required("auth", pushKey))))
)

// pushRoutes manage the caller's browsers. Every role may use them.
func (s *pushAPI) pushRoutes() []rest.Route {
	const all = "/api/push"
	routes := []rest.Route{
		{Method: http.MethodGet, Path: all, Handle: s.listPush},
		{Method: http.MethodPost, Path: all, Body: subscribeBody, Handle: s.subscribe},
		{Method: http.MethodDelete, Path: all + "/:subscriptionId", Handle: s.unsubscribe},
	}
	for i := range routes {
		routes[i].Access, routes[i].OwnReach = rest.AccessViewer, true
		if s.push == nil {
			routes[i].Raw = http.HandlerFunc(rest.NotFound)
		}
	}
	return routes
}

// subscriptionView is a browser that gets notifications. Its endpoint is secret.
type subscriptionView struct {
	ID        string `json:"id"`
	Service   string `json:"service"`
	CreatedAt string `json:"createdAt"`
}

func viewSubscription(one notify.Subscription) subscriptionView {
	return subscriptionView{one.ID, one.Service(), javascript.ISOTime(one.CreatedAt)}
}

func (s *pushAPI) listPush(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	all, err := s.push.List(ctx, s.push.Subscriber(ctx).Holder)
	if err != nil {
		return rest.Reply{}, err
	}
	views := make([]subscriptionView, len(all))
	for i, one := range all {
		views[i] = viewSubscription(one)
	}
	return rest.OK(struct {
		Data      []subscriptionView `json:"data"`
		PublicKey string             `json:"publicKey"`
	}{views, s.push.PublicKey()})
}

func (s *pushAPI) subscribe(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	keys := in.Body.Get("keys")
	made, err := s.push.Subscribe(ctx, s.push.Subscriber(ctx), notify.Browser{Endpoint: in.Body.Get("endpoint").Text(),
		P256dh: keys.Get("p256dh").Text(), Auth: keys.Get("auth").Text()})
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status       string           `json:"status"`
		Subscription subscriptionView `json:"subscription"`
	}{"ok", viewSubscription(made)})
}

func (s *pushAPI) unsubscribe(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	id := in.Params["subscriptionId"]
	if err := s.push.Unsubscribe(ctx, s.push.Subscriber(ctx).Holder, id); err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status         string `json:"status"`
		SubscriptionID string `json:"subscriptionId"`
	}{"ok", id})
}

// pushFailures maps push subscription errors to responses.
func pushFailures(err error, _ *rest.Route, in *rest.Input) (rest.Failure, bool) {
	var refused *notify.BrowserError
	switch {
	case errors.As(err, &refused):
		return rest.Invalid(schema.Custom(refused.Message, refused.Field)), true
	case errors.Is(err, notify.ErrNoSubscription):
		return rest.Failure{Status: http.StatusNotFound, Body: struct {
			Status         string `json:"status"`
			SubscriptionID string `json:"subscriptionId"`
		}{"not_found", in.Params["subscriptionId"]}}, true
	}
	return rest.Failure{}, false
}
