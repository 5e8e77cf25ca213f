package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/internal/services/notify"
)

// echoedPush returns its arguments.
type echoedPush struct{}

func (echoedPush) PublicKey() string { return "the-key" }

func (echoedPush) Subscriber(context.Context) notify.Subscriber {
	return notify.Subscriber{Holder: "me"}
}

func (echoedPush) List(_ context.Context, holder string) ([]notify.Subscription, error) {
	return []notify.Subscription{{ID: holder, Browser: notify.Browser{Endpoint: "https://push.example:444/secret"}, CreatedAt: 1}}, nil
}

func (echoedPush) Subscribe(_ context.Context, who notify.Subscriber, browser notify.Browser) (notify.Subscription, error) {
	if browser.P256dh == "bad" {
		return notify.Subscription{}, &notify.BrowserError{Field: "keys.p256dh", Message: "no key"}
	}
	return notify.Subscription{ID: browser.P256dh + browser.Auth, Browser: browser, Subscriber: who}, nil
}

func (echoedPush) Unsubscribe(_ context.Context, _, id string) error {
	if id == "none" {
		return notify.ErrNoSubscription
	}
	return nil
}

// Every caller has separate browsers. A refusal has a reason, and no response contains an endpoint.
func TestPushSubscriptionRoutes(t *testing.T) {
	t.Parallel()
	document, b := readDocument(t), setup(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "", "", 200,
			`{"data":[{"id":"me","service":"push.example:444","createdAt":"1970-01-01T00:00:00.001Z"}],"publicKey":"the-key"}`},
		{"POST", "", `{"endpoint":"https://push.example/secret","keys":{"p256dh":"k","auth":"a"}}`, 200,
			`{"status":"ok","subscription":{"id":"ka","service":"push.example","createdAt":"1970-01-01T00:00:00.000Z"}}`},
		{"POST", "", `{"endpoint":"https://push.example/secret","keys":{"p256dh":"bad","auth":"a"}}`, 400, `no key`},
		{"POST", "", `{"endpoint":"https://push.example/secret","keys":{"auth":"a"}}`, 400, `p256dh`},
		{"POST", "", `{"endpoint":"https://push.example/secret"}`, 400, `keys`},
		{"DELETE", "/one", "", 200, `{"status":"ok","subscriptionId":"one"}`},
		{"DELETE", "/none", "", 404, `{"status":"not_found","subscriptionId":"none"}`},
	} {
		kind := ""
		if c.body != "" {
			kind = "application/json"
		}
		answer := b.send(c.method, "/api/push"+c.path, kind, c.body)
		got := strings.TrimSpace(answer.Body.String())
		if answer.Code != c.status || !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, answer.Code, got)
		}
		if err := document.checkReply(document.find(c.method, "/api/push"+c.path), answer.Code, got); err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
	}
	if answer := setup(t, func(p *parts) { p.Push = nil }).send("GET", "/api/push", "", ""); answer.Code != http.StatusNotFound {
		t.Errorf("without: %d", answer.Code)
	}
}
