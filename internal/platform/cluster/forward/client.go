package forward

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"harness/internal/platform/auth"
	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/internal/platform/telemetry"
)

// ErrClientsTurn means that this node cannot forward the request, and the client must ask the owner itself. The owner
// has no node port, or is not running.
var ErrClientsTurn = errors.New("the owner is not asked by other nodes")

// UnreachableError means that the request did not reach the owner, so nothing changed.
type UnreachableError struct {
	NodeID string
	// RetryAfter is when a retry makes sense.
	RetryAfter time.Duration
	Cause      error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("node %s, which does this, cannot be asked now: %v; nothing was done, send the request again later",
		e.NodeID, e.Cause)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// LostAnswerError means that the owner may or may not have performed the request.
type LostAnswerError struct {
	NodeID string
	Cause  error
}

// Error implements error.
func (e *LostAnswerError) Error() string {
	return fmt.Sprintf("node %s, which does this, was asked, and its answer was lost (%v): look whether it was done before it is "+
		"sent again; with the same Idempotency-Key, if it had one, it is not done twice", e.NodeID, e.Cause)
}

// Unwrap returns the cause.
func (e *LostAnswerError) Unwrap() error { return e.Cause }

// Client asks owners.
type Client struct {
	Identity *Identity
	DB       *database.DB
	// Sure returns an error while other nodes may consider this node dead. nil: they never do.
	Sure func() error

	mu    sync.Mutex
	lines map[purpose]*line
}

// purpose is the use of a connection. Long requests have a separate connection, which stays open. A client's request on
// that connection would be lost if its owner froze. On a new connection, a failure proves that the request was not
// sent.
type purpose struct {
	node  string
	lasts bool
}

// line is the connection to one server of a node.
type line struct {
	address, certificate string
	transport            *http.Transport
}

// Ask sends a request once to the node that owns its subject, under the client's identity. Its caller closes the
// answer's body. It returns ErrClientsTurn, *UnreachableError, *LostAnswerError, and errors of the store and of ctx.
func (c *Client) Ask(r *http.Request, owner, body string) (*http.Response, error) {
	ctx := r.Context()
	principal, is := auth.PrincipalFrom(ctx)
	agent := agentOf(ctx, principal)
	if _, came := CameFrom(ctx); came || !is || agent == nil && !passes(principal.Role) {
		return nil, ErrClientsTurn
	}
	peer, err := c.find(ctx, owner)
	if err != nil {
		return nil, err
	}
	uri := r.URL.RequestURI()
	signature, err := c.Identity.sign(ask{from: c.Identity.NodeID, to: owner, method: r.Method, uri: uri, body: []byte(body),
		now: peer.Now, agent: agent}, principal)
	if err != nil {
		return nil, err
	}
	// A request on an open connection may have been sent.
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := http.NewRequestWithContext(traced, r.Method, "https://"+peer.Address+uri, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask node %s: %w", owner, err)
	}
	copyHeaders(request.Header, r.Header, "Content-Type", "Idempotency-Key", "If-None-Match", "Accept-Encoding", "Traceparent",
		"X-Request-Id")
	request.Header.Set(whoHeader, signature)
	answer, err := c.transport(peer, false).RoundTrip(request)
	switch {
	case err == nil && answer.Header.Get(refusedHeader) != "":
		defer answer.Body.Close()
		return nil, &UnreachableError{owner, cluster.Beat, refusal(answer.Body)}
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case connected.Load():
		return nil, &LostAnswerError{owner, err}
	}
	return nil, &UnreachableError{owner, max(peer.Lease, time.Second), err}
}

// Open starts a long request of this node itself, without a user principal. The other node needs a separate route for
// it. Open sends body while the answer arrives. The caller closes the answer's body.
func (c *Client) Open(ctx context.Context, node, path string, body io.Reader) (*http.Response, error) {
	peer, err := c.find(ctx, node)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+peer.Address+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask node %s: %w", node, err)
	}
	return c.transport(peer, true).RoundTrip(request)
}

// Runners returns the other nodes that run agents.
func (c *Client) Runners(ctx context.Context) ([]string, error) {
	return cluster.Runners(ctx, c.DB, c.Identity.NodeID)
}

// Takers returns the nodes that make sessions when this one does not, in the order in which to ask them.
func (c *Client) Takers(ctx context.Context) ([]string, error) {
	return cluster.Takers(ctx, c.DB, c.Identity.NodeID)
}

// find finds an owner that accepts requests.
func (c *Client) find(ctx context.Context, owner string) (cluster.Peer, error) {
	if c.Sure != nil {
		if err := c.Sure(); err != nil {
			return cluster.Peer{}, &UnreachableError{owner, cluster.Beat, err}
		}
	}
	peer, err := cluster.FindPeer(ctx, c.DB, owner)
	switch {
	case errors.Is(err, cluster.ErrUnknown):
		return peer, ErrClientsTurn
	case err != nil:
		return peer, err
	case peer.Address == "" || peer.Grace <= 0:
		return peer, ErrClientsTurn
	case peer.Lease <= 0:
		return peer, &UnreachableError{owner, min(peer.Grace, cluster.Patience), fmt.Errorf(
			"it has not renewed its lease; if it does not come back within %d s, its turns end, and its sessions wait for it",
			int(peer.Grace.Seconds())+1)}
	}
	return peer, nil
}

// transport returns the transport to the server that a node's row names now.
func (c *Client) transport(peer cluster.Peer, lasts bool) *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines == nil {
		c.lines = map[purpose]*line{}
	}
	key := purpose{peer.NodeID, lasts}
	if known := c.lines[key]; known != nil {
		if known.address == peer.Address && known.certificate == peer.Certificate {
			return known.transport
		}
		known.transport.CloseIdleConnections()
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	settings := c.Identity.config(func(shown *x509.Certificate) error {
		if fingerprint(shown) != peer.Certificate {
			return fmt.Errorf("%s does not show the certificate of node %s", peer.Address, peer.NodeID)
		}
		return nil
	})
	transport := &http.Transport{
		Protocols: protocols, IdleConnTimeout: time.Minute, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address, settings) },
		// A node that is frozen or cut off answers no ping.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: 3 * time.Second},
	}
	c.lines[key] = &line{peer.Address, peer.Certificate, transport}
	return transport
}

// Close closes the connections without a request.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.lines {
		known.transport.CloseIdleConnections()
	}
}

// refusal returns the error with which a node refused a request.
func refusal(body io.Reader) error {
	var said struct {
		Message string `json:"message"`
	}
	if err := json.NewDecoder(io.LimitReader(body, 4<<10)).Decode(&said); err != nil {
		return fmt.Errorf("it refused this node, for a reason that cannot be read: %w", err)
	}
	return fmt.Errorf("it refused this node: %s", said.Message)
}

func copyHeaders(to, from http.Header, names ...string) {
	for _, name := range names {
		if values := from.Values(name); len(values) > 0 {
			to[name] = values
		}
	}
}

// Relay sends a request and its body to a node, using ask (Client.Ask), and writes the answer to w. The errors are
// those of ask; nothing was written in that case.
func Relay(w http.ResponseWriter, r *http.Request, ask func(r *http.Request, owner, body string) (*http.Response, error),
	owner, body string) error {
	r.Header.Set("X-Request-Id", w.Header().Get("X-Request-Id"))
	answer, err := ask(r, owner, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := relayed(w, answer); err != nil {
		telemetry.Log(r.Context()).Warn().Err(err).Str("node", owner).Msg("response of the owning node ended early")
		panic(http.ErrAbortHandler) // half of the answer is already sent
	}
	return nil
}

// relayed writes the owner's answer to the client.
func relayed(w http.ResponseWriter, answer *http.Response) error {
	copyHeaders(w.Header(), answer.Header, "Content-Type", "Content-Encoding", "Cache-Control", "Etag", "Vary", "Retry-After",
		"Idempotency-Replayed")
	w.WriteHeader(answer.StatusCode)
	to := io.Writer(w)
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		to = &prompt{w, http.NewResponseController(w)}
	}
	_, err := io.Copy(to, answer.Body)
	return err
}

// prompt sends what it writes at once: the next event of a stream may be minutes away.
type prompt struct {
	w       io.Writer
	control *http.ResponseController
}

// Write implements io.Writer.
func (p *prompt) Write(text []byte) (int, error) {
	n, err := p.w.Write(text)
	return n, errors.Join(err, p.control.Flush())
}
