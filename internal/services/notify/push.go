package notify

import (
	"context"
	"crypto/ecdh"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"
	"github.com/google/uuid"

	"harness/internal/platform/database"
)

const (
	// maxBrowsers is the maximum number of subscriptions of one holder; a new one replaces the oldest.
	maxBrowsers = 20
	// maxEndpoint is the maximum length of an endpoint, in bytes.
	maxEndpoint = 2048
)

// Subscriber is the holder of a subscription and its access: withdrawing the access ends the subscription.
type Subscriber struct {
	// Holder is the same for all browsers of one access; Proof proves that the access is unchanged.
	Holder, Proof string
	// Until is when the access ends, in ms; 0 means never.
	Until int64
	// Projects limits the holder to projects, nil for no limit.
	Projects []string
}

// Browser is an endpoint of a browser at its push service (PushSubscription of the Push API).
type Browser struct {
	// Endpoint is the URL for messages; it is secret.
	Endpoint string
	// P256dh and Auth are the browser's encryption keys, as base64url (RFC 8291).
	P256dh, Auth string
}

// Subscription is a subscribed browser.
type Subscription struct {
	Browser
	Subscriber
	ID string
	// CreatedAt is in ms.
	CreatedAt int64
}

// Service returns the host of the push service.
func (s *Subscription) Service() string {
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// PushOptions configure a Push. DB and Allows are required.
type PushOptions struct {
	DB *database.DB
	// Services are the allowed push services: a host, *.host for every host below one, or an origin.
	Services []string
	// Contact is a mailto: or https: URL at which a push service can reach the server's operator (RFC 8292).
	Contact string
	// Allows reports whether the access of a subscription is still valid, and whether it covers the news.
	Allows func(ctx context.Context, who Subscriber, news News) (counts, may bool, err error)
}

// Push stores the subscribed browsers, and encrypts their messages (Web Push: RFC 8030, 8291, 8292).
type Push struct {
	opts            PushOptions
	private, public string
}

// ErrNoSubscription means that the holder has no subscription with this id.
var ErrNoSubscription = errors.New("no such subscription")

// BrowserError refuses a browser that cannot receive messages.
type BrowserError struct{ Field, Message string }

// Error implements error.
func (e *BrowserError) Error() string { return e.Field + ": " + e.Message }

// NewPush makes a Push over a migrated store; all its servers sign with the same key.
func NewPush(ctx context.Context, opts PushOptions) (*Push, error) {
	var failed error
	pair, err := Key(ctx, opts.DB, "vapid", func() string {
		private, public, err := webpush.GenerateVAPIDKeys()
		failed = err
		return private + "." + public
	})
	if err := errors.Join(failed, err); err != nil {
		return nil, fmt.Errorf("make the key of web push: %w", err)
	}
	p := &Push{opts: opts}
	p.private, p.public, _ = strings.Cut(pair, ".")
	return p, nil
}

// PublicKey returns the key for browsers to subscribe with (applicationServerKey), as base64url.
func (p *Push) PublicKey() string { return p.public }

// Subscribe adds a browser. A subscribed one is assigned to the caller. Errors: *BrowserError.
func (p *Push) Subscribe(ctx context.Context, who Subscriber, browser Browser) (made Subscription, err error) {
	if err := p.check(browser); err != nil {
		return made, err
	}
	projects, err := json.Marshal(who.Projects)
	if err != nil {
		return made, fmt.Errorf("store a subscription: %w", err)
	}
	err = p.opts.DB.Update(ctx, func(tx database.Tx) error {
		made = Subscription{Browser: browser, Subscriber: who, ID: "push_" + uuid.NewString(), CreatedAt: time.Now().UnixMilli()}
		was, err := scanSubscription(tx.QueryRowContext(ctx, selectSubscription+` where endpoint = $1`, browser.Endpoint))
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case was.Holder == who.Holder:
			made.ID, made.CreatedAt = was.ID, was.CreatedAt
			if _, err := tx.ExecContext(ctx, `delete from push_subscriptions where id = $1`, was.ID); err != nil {
				return err
			}
		default: // pending messages of the earlier holder are not for this one
			if err := unsubscribe(ctx, tx, was.ID); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `insert into push_subscriptions
			(id, endpoint, p256dh, auth, holder, proof, until, projects, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			made.ID, made.Endpoint, made.P256dh, made.Auth, made.Holder, made.Proof, made.Until, string(projects), made.CreatedAt)
		if err != nil {
			return err
		}
		return p.bound(ctx, tx, who.Holder)
	})
	if err != nil {
		return made, fmt.Errorf("store a subscription: %w", err)
	}
	return made, nil
}

// bound removes the oldest subscriptions of a holder beyond maxBrowsers.
func (p *Push) bound(ctx context.Context, tx database.Tx, holder string) error {
	all, err := subscriptionsOf(ctx, tx, holder)
	if err != nil {
		return err
	}
	for len(all) > maxBrowsers {
		if err := unsubscribe(ctx, tx, all[0].ID); err != nil {
			return err
		}
		all = all[1:]
	}
	return nil
}

// List returns the browsers of a holder, the oldest first.
func (p *Push) List(ctx context.Context, holder string) ([]Subscription, error) {
	return subscriptionsOf(ctx, p.opts.DB.Read(), holder)
}

// Unsubscribe removes a subscription of a holder and its pending messages. Errors: ErrNoSubscription.
func (p *Push) Unsubscribe(ctx context.Context, holder, id string) error {
	err := p.opts.DB.Update(ctx, func(tx database.Tx) error {
		// Postgres may refuse the text of an invalid id.
		one, err := scanSubscription(tx.QueryRowContext(ctx, selectSubscription+` where id = $1`, database.EncodeText(id)))
		if errors.Is(err, sql.ErrNoRows) || err == nil && one.Holder != holder {
			return ErrNoSubscription
		}
		if err != nil {
			return err
		}
		return unsubscribe(ctx, tx, id)
	})
	if err != nil && !errors.Is(err, ErrNoSubscription) {
		return fmt.Errorf("end a subscription: %w", err)
	}
	return err
}

func unsubscribe(ctx context.Context, tx database.Tx, id string) error {
	if _, err := tx.ExecContext(ctx, `delete from push_subscriptions where id = $1`, id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `delete from notify_messages where target = $1`, pushTarget(id))
	return err
}

const selectSubscription = `select id, endpoint, p256dh, auth, holder, proof, until, projects, created_at from push_subscriptions`

func subscriptionsOf(ctx context.Context, from database.Querier, holder string) ([]Subscription, error) {
	return database.ReadAll(ctx, from, "read the subscriptions", scanSubscription,
		selectSubscription+` where holder = $1 order by created_at, id`, holder)
}

func scanSubscription(row database.Row) (s Subscription, err error) {
	var projects string
	err = row.Scan(&s.ID, &s.Endpoint, &s.P256dh, &s.Auth, &s.Holder, &s.Proof, &s.Until, &projects, &s.CreatedAt)
	if err == nil {
		err = json.Unmarshal([]byte(projects), &s.Projects)
	}
	return s, err
}

// check refuses a browser that cannot receive messages.
func (p *Push) check(browser Browser) error {
	if len(browser.Endpoint) > maxEndpoint || !p.isService(browser.Endpoint) {
		return &BrowserError{"endpoint", "this server sends to no such push service; an operator can add it to " +
			"HARNESS_NOTIFY_PUSH_SERVICES"}
	}
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(browser.P256dh, "="))
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return &BrowserError{"keys.p256dh", "Use the browser's public key, a point of P-256 as base64url"}
	}
	if auth, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(browser.Auth, "=")); err != nil || len(auth) != 16 {
		return &BrowserError{"keys.auth", "Use the browser's 16 bytes as base64url"}
	}
	return nil
}

// isService reports whether an endpoint belongs to an allowed push service.
func (p *Push) isService(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.User != nil || u.Fragment != "" || u.Hostname() == "" {
		return false
	}
	for _, service := range p.opts.Services {
		if strings.Contains(service, "://") {
			if strings.EqualFold(u.Scheme+"://"+u.Host, service) {
				return true
			}
			continue
		}
		host := strings.ToLower(u.Host) // entries by host allow no port
		below, wild := strings.CutPrefix(service, "*")
		if u.Scheme == "https" && (host == service || wild && strings.HasSuffix(host, below)) {
			return true
		}
	}
	return false
}
