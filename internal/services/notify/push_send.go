package notify

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"harness/internal/platform/database"
)

// pushPrefix is the prefix of the targets for browsers; the id of the subscription follows.
const pushPrefix = PushName + "/"

func pushTarget(id string) string { return pushPrefix + id }

// browser is the target of one subscription.
type browser struct {
	push *Push
	to   Subscription
}

func (b *browser) Name() string { return PushName }

// Request implements Target. Only the browser can read the message: its push service cannot, and does not learn its
// length.
func (b *browser) Request(ctx context.Context, m Message) (*http.Request, error) {
	payload, err := json.Marshal(struct {
		News
		Title string `json:"title"`
		Text  string `json:"text"`
	}{m.News, m.Title, textOf(m)})
	if err != nil {
		return nil, fmt.Errorf("write a message for a browser: %w", err)
	}
	// An undelivered message is replaced by a newer one of the same kind in the same session.
	topic := sha256.Sum256([]byte(string(m.Kind) + "\x00" + m.SessionID))
	options := &webpush.Options{TTL: int(max(maxAge-time.Since(time.UnixMilli(m.At)), 0) / time.Second), Urgency: webpush.UrgencyNormal,
		Topic:          base64.RawURLEncoding.EncodeToString(topic[:24]),
		Subscriber:     strings.TrimPrefix(b.push.opts.Contact, "mailto:"), // the library adds mailto:
		VAPIDPublicKey: b.push.public, VAPIDPrivateKey: b.push.private}
	if m.Kind.waits() {
		options.Urgency = webpush.UrgencyHigh
	}
	var made request
	options.HTTPClient = &made
	_, err = webpush.SendNotificationWithContext(ctx, payload, &webpush.Subscription{ //nolint:bodyclose // there is no answer yet
		Endpoint: b.to.Endpoint, Keys: webpush.Keys{P256dh: b.to.P256dh, Auth: b.to.Auth}}, options)
	if err != nil {
		return nil, errors.New("a message cannot be encrypted for this browser") // the cause may contain the endpoint
	}
	return made.Request, nil
}

// textOf describes a message for the person at the browser.
func textOf(m Message) string {
	if m.Summary == "" {
		return m.Kind.words()
	}
	return m.Kind.words() + ": " + m.Summary
}

// request wraps the request that the library made, for the notifier to send.
type request struct{ *http.Request }

// Do implements webpush.HTTPClient.
func (r *request) Do(made *http.Request) (*http.Response, error) {
	r.Request = made
	return nil, nil //nolint:nilnil // it is sent later
}

// targetOf returns the browser of a message. It returns nil if the browser is gone or its access does not cover the
// news. It does so, too, if the access is no longer valid, and then removes the subscription.
func (p *Push) targetOf(ctx context.Context, m stored) (Target, error) {
	id := m.target[len(pushPrefix):]
	to, err := scanSubscription(p.opts.DB.Read().QueryRowContext(ctx, selectSubscription+` where id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no target
	}
	if err != nil {
		return nil, fmt.Errorf("read a subscription: %w", err)
	}
	counts, may, err := p.opts.Allows(ctx, to.Subscriber, m.News)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the access of a subscription: %w", err)
	case !counts || !p.isService(to.Endpoint):
		return nil, p.end(ctx, id)
	case !may:
		return nil, nil //nolint:nilnil // no target
	}
	return &browser{p, to}, nil
}

// end removes a subscription and its pending messages.
func (p *Push) end(ctx context.Context, id string) error {
	err := p.opts.DB.Update(context.WithoutCancel(ctx), func(tx database.Tx) error { return unsubscribe(ctx, tx, id) })
	if err != nil {
		return fmt.Errorf("end a subscription: %w", err)
	}
	return nil
}

// hasSubscribers reports whether a browser is subscribed.
func (p *Push) hasSubscribers(ctx context.Context) (is bool, err error) {
	var browsers int64
	err = p.opts.DB.Read().QueryRowContext(ctx, `select count(*) from (select 1 from push_subscriptions limit 1) as one`).Scan(&browsers)
	if err != nil {
		return false, fmt.Errorf("count subscriptions: %w", err)
	}
	return browsers > 0, nil
}

// targets returns the targets of all browsers.
func (p *Push) targets(ctx context.Context, tx database.Tx) ([]string, error) {
	return database.ReadAll(ctx, tx, "read the subscriptions", func(row database.Row) (target string, err error) {
		var id string
		err = row.Scan(&id)
		return pushTarget(id), err
	}, `select id from push_subscriptions order by id`)
}
