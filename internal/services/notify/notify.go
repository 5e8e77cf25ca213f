// Package notify sends messages to people outside the server: that a request needs a decision, that a turn ended, that
// a job failed.
//
// It owns the pending messages and the requests that send them. It follows the journal in the background, so no writer
// waits for it. It sends a message at least once, and retries until the message is accepted or a day old. It must never
// know what an event means (Options.NewsOf). No message contains text of a session except its title, and
// for browsers, what a request asks.
package notify

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/lifecycle"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Kind is a kind of news.
type Kind string

// The kinds of news.
const (
	ApprovalWaits Kind = "approval.waiting"
	QuestionWaits Kind = "question.waiting"
	TurnEnded     Kind = "turn.ended"
	TurnFailed    Kind = "turn.failed"
	JobFailed     Kind = "job.failed"
)

// words describes a kind for people.
func (k Kind) words() string {
	switch k {
	case ApprovalWaits:
		return "An approval is waiting"
	case QuestionWaits:
		return "A question is waiting"
	case TurnFailed:
		return "A turn failed"
	case JobFailed:
		return "A job failed"
	default:
		return "A turn ended"
	}
}

// waits reports whether a decision is pending.
func (k Kind) waits() bool { return k == ApprovalWaits || k == QuestionWaits }

// News describes what happened; missing ids are "".
type News struct {
	Kind      Kind   `json:"kind"`
	SessionID string `json:"sessionId,omitempty"`
	TurnID    string `json:"turnId,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	JobID     string `json:"jobId,omitempty"`
}

// Message is news in the form for targets.
type Message struct {
	News
	// ID is the same for each attempt to send the message.
	ID string
	// At is the time of the event, in ms.
	At int64
	// Title is the session's; Link is a page that shows it ("" if the server's public URL is not set).
	Title, Link string
	// Summary is what the request asks. Only browsers get it, encrypted.
	Summary string
	// Decide is a page that decides the request without any other access, "" for none. Its URL is a secret.
	Decide string
}

// Target is a destination of messages.
type Target interface {
	// Name is one word; unsent messages are stored under it.
	Name() string
	// Request makes the HTTP request for a message. Its error contains no secret.
	Request(ctx context.Context, m Message) (*http.Request, error)
}

// The names of targets.
const (
	Webhook = "webhook"
	Ntfy    = "ntfy"
	// PushName is the name for all browsers together.
	PushName = "push"
)

// isEndpoint reports whether a text is a valid URL for requests.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// Outcome is the outcome of an attempt to send a message.
type Outcome string

// A failed message is sent again; a message is dropped if it is too old or exceeds the limit.
const (
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"
	Dropped   Outcome = "dropped"
)

// Options configure a Notifier.
type Options struct {
	DB      *database.DB
	Targets []Target
	// Push sends to browsers, nil for none.
	Push *Push
	// Read returns the events after a position; Head returns the last position that this process has seen.
	Read func(ctx context.Context, query journal.Query) ([]journal.Record, error)
	Head func() int64
	// NewsOf converts an event to news, false for none. It reads nothing else; the payload of a long event is missing.
	NewsOf func(record *journal.Record) (News, bool)
	// Waits reports whether a request is still pending; otherwise its news is not sent.
	Waits func(ctx context.Context, news News) (bool, error)
	// PublicURL is this server's URL for people, without a trailing slash; "" makes no links.
	PublicURL string
	// DecideLink makes Message.Decide; nil makes none.
	DecideLink func(news News) string
	// Ended counts the outcomes of messages.
	Ended  func(target string, outcome Outcome)
	Logger zerolog.Logger
	// Clock returns the time of events; nil means time.Now.
	Clock func() time.Time
	// Pause is the interval for reading news (default 500 ms). Retry is the delay of the second attempt (default 10 s);
	// the first one times out after half of it.
	Pause, Retry time.Duration
}

// Notifier sends news to targets. Make it with New, then Start it.
type Notifier struct {
	opts   Options
	client *http.Client
	loops  lifecycle.Loops
	lanes  []*lane
}

// New makes a notifier over a migrated store.
func New(opts Options) *Notifier {
	if opts.Pause <= 0 {
		opts.Pause = 500 * time.Millisecond
	}
	if opts.Retry <= 0 {
		opts.Retry = 10 * time.Second
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	return &Notifier{opts: opts, lanes: lanes(opts), client: &http.Client{Timeout: opts.Retry / 2,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Start starts to follow the journal and to send, if there are targets. Calling it twice is allowed.
func (n *Notifier) Start(ctx context.Context) error {
	return n.loops.Start(ctx, func(context.Context) error {
		if len(n.lanes) == 0 {
			return nil
		}
		n.loops.Go(n.follow)
		for _, l := range n.lanes {
			n.loops.Go(func(ctx context.Context) { n.deliver(ctx, l) })
		}
		return nil
	})
}

// Stop stops it. The next start sends the remaining messages.
func (n *Notifier) Stop(ctx context.Context) error {
	_, err := n.loops.Stop(ctx, "notifications")
	n.client.CloseIdleConnections()
	return err
}
