// Package notify sends messages to people outside the server: that a request waits for a decision, that a
// turn ended, that a job failed.
//
// It owns the messages to be sent and the requests that send them. It follows the journal in the background:
// no writer waits for it. A message is sent at least once, and again until it is accepted or a day old. It
// must never know what an event means (Options.NewsOf), and no message holds text of a session but its title.
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

// words are for people.
func (k Kind) words() string {
	switch k {
	case ApprovalWaits:
		return "An approval waits"
	case QuestionWaits:
		return "A question waits"
	case TurnFailed:
		return "A turn failed"
	case JobFailed:
		return "A job failed"
	default:
		return "A turn ended"
	}
}

// waits reports whether a decision is open.
func (k Kind) waits() bool { return k == ApprovalWaits || k == QuestionWaits }

// News is what happened; ids that it has none of are "".
type News struct {
	Kind      Kind   `json:"kind"`
	SessionID string `json:"sessionId,omitempty"`
	TurnID    string `json:"turnId,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	JobID     string `json:"jobId,omitempty"`
}

// Message is news as a target gets it.
type Message struct {
	News
	// ID is the same however often it is sent.
	ID string
	// At is when it happened, in ms.
	At int64
	// Title is the session's, Link a page that shows it ("" when the server's public URL is not set).
	Title, Link string
	// Decide is a page that decides the request without any other access, "" for none. Its URL is a secret.
	Decide string
}

// Target is where messages are sent to.
type Target interface {
	// Name is one word, under which unsent messages are stored.
	Name() string
	// Request makes the HTTP request for a message. Its error holds no secret.
	Request(ctx context.Context, m Message) (*http.Request, error)
}

// The names of targets.
const (
	Webhook = "webhook"
	Ntfy    = "ntfy"
	// PushName is that of all browsers together.
	PushName = "push"
)

// isEndpoint reports whether a text is a URL that requests are sent to.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// Outcome is what became of a message.
type Outcome string

// A message that failed is sent again; one is dropped that is too old, or one too many.
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
	// Read gives the events after a position, Head is the last one this process knows of.
	Read func(ctx context.Context, query journal.Query) ([]journal.Record, error)
	Head func() int64
	// NewsOf makes news of an event, false for none. It does not read; the payload of a long event is left
	// out.
	NewsOf func(record *journal.Record) (News, bool)
	// Waits reports whether a request still waits for a decision; one decided by then is not sent.
	Waits func(ctx context.Context, news News) (bool, error)
	// PublicURL is where people reach this server, without a slash at its end; "" makes no links.
	PublicURL string
	// DecideLink makes Message.Decide; nil makes none.
	DecideLink func(news News) string
	// Ended counts what became of messages.
	Ended  func(target string, outcome Outcome)
	Logger zerolog.Logger
	// Clock is that of events, time.Now when nil.
	Clock func() time.Time
	// Pause is how long news may wait to be read (default 500 ms), Retry how long the second attempt waits
	// for the first, which itself is given up after half of that (default 10 s).
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

// Start begins to follow the journal and to send, where there are targets. Calling it twice is allowed.
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

// Stop ends it. Messages that are not sent yet are sent after the next start.
func (n *Notifier) Stop(ctx context.Context) error {
	_, err := n.loops.Stop(ctx, "notifications")
	n.client.CloseIdleConnections()
	return err
}
