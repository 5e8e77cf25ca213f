package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Frame is one message of the event stream; api/asyncapi.yaml describes the values of Type and Payload.
type Frame struct {
	Type string `json:"type"`
	// ThreadID is the session it is about, "" for none.
	ThreadID string `json:"threadId"`
	// Payload is JSON.
	Payload json.RawMessage `json:"payload"`
	// Runtime is the runtime that sent it, "" for codex and for the server's own events.
	Runtime string `json:"runtime"`
	// Pos is the position to resume from, 0 for an early text delta and for frames about the connection itself.
	// Seq numbers the events of the session.
	Pos int64 `json:"pos"`
	Seq int64 `json:"seq"`
	// Offset of a text delta is the length of the text before it in UTF-16 code units, nil for other frames.
	Offset *int64 `json:"offset"`
	// From, To and Oldest are positions in a verdict.
	From   int64 `json:"from"`
	To     int64 `json:"to"`
	Oldest int64 `json:"oldest"`
	// Raw is the unchanged message.
	Raw json.RawMessage `json:"-"`
}

// Missed reports a notice that this client has missed events: it must reload its state over REST.
func (f *Frame) Missed() bool { return f.Type == "gap" || f.Type == "ahead" }

// FollowOptions select the events to follow.
type FollowOptions struct {
	// Session limits events to those of one session, and broadcasts. "": all sessions.
	Session string
	// After is the position to resume from: the pos of a frame or of a REST response, "0" for all kept events. "": only
	// new events.
	After string
	// Lost is called after the connection broke, before Follow reconnects; nil means no call.
	Lost func(why error)
}

// readLimit is the maximum length of a message of the stream, in bytes: a line of a runtime may have 64 MiB, and
// appears in several envelopes.
const readLimit = 128 << 20

// silence is how long a connection may be silent, without even a ping. The server sends one every 15 s; earlier servers
// sent one every 30 s.
const silence = 90 * time.Second

// Follow passes the frames of the event stream to handle, in order and one at a time. It stops when ctx ends or handle
// returns an error, and returns that error. If the connection breaks, Follow reconnects and resumes after the last
// handled frame. So it misses no event, and repeats no frame with a position; Texts handles the early text deltas,
// which have none. Each connection begins with its verdict: resumed, gap or ahead (see Frame.Missed). Follow returns an
// error if the first connection fails, *StatusError if the server refused it. It also does so if the server permanently
// refuses a later one.
func (c *Client) Follow(ctx context.Context, options FollowOptions, handle func(Frame) error) error {
	after := options.After
	if after == "" {
		after = "latest"
	}
	connected := false
	for attempt := 0; ; attempt++ {
		conn, err := c.dial(ctx, options.Session, after)
		if err == nil {
			connected, attempt = true, 0
			after, err = conn.receive(ctx, after, handle)
			var stopped *stopError
			if errors.As(err, &stopped) {
				return stopped.error
			}
		} else if !connected || !temporary(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if options.Lost != nil {
			options.Lost(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause(attempt)):
		}
	}
}

// pause returns how long to wait before reconnecting, after a number of failures. It is random, so that not all clients
// reconnect at once.
func pause(attempt int) time.Duration {
	longest := 100 * time.Millisecond << min(attempt, 6)
	return longest/2 + rand.N(longest/2)
}

// temporary reports whether a retry may succeed: after a network error, or if the server is starting, stopping or full.
func temporary(err error) bool {
	var refused *StatusError
	return !errors.As(err, &refused) || refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError
}

// stopError wraps the handler's error.
type stopError struct{ error }

// connection is one websocket; it ends if nothing, not even a ping, arrives for too long.
type connection struct {
	*websocket.Conn
	// reading is the connection's context; end ends it. quiet ends it after silence.
	reading context.Context
	end     context.CancelCauseFunc
	quiet   *time.Timer
}

func (c *Client) dial(ctx context.Context, session, after string) (*connection, error) {
	query := url.Values{"after": {after}}
	if session != "" {
		query.Set("threadId", session)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.Server, "/")+"/api/stream?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if err := c.applyEditors(ctx, request, nil); err != nil {
		return nil, err
	}
	reading, give := context.WithCancelCause(ctx)
	quiet := time.AfterFunc(silence, func() { give(errors.New("the server said nothing for " + silence.String())) })
	options := &websocket.DialOptions{HTTPHeader: request.Header, OnPingReceived: func(context.Context, []byte) bool {
		quiet.Reset(silence)
		return true
	}}
	if own, is := c.Client.(*http.Client); is {
		options.HTTPClient = own
	}
	conn, response, err := websocket.Dial(ctx, request.URL.String(), options) //nolint:bodyclose // Dial reads what there is
	if err != nil {
		quiet.Stop()
		give(nil)
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			body, readErr := io.ReadAll(response.Body)
			return nil, errors.Join(errorOf(response, body), readErr)
		}
		return nil, fmt.Errorf("connect to the event stream: %w", err)
	}
	conn.SetReadLimit(readLimit)
	return &connection{Conn: conn, reading: reading, end: give, quiet: quiet}, nil
}

// ahead is the number of messages read while one is handled. The connection stays alive during a slow handler, for
// example one that asks a person: the reader answers the server's pings.
const ahead = 64

// read passes on the messages of the connection until it ends, and returns the reason.
func (c *connection) read(messages chan<- []byte) error {
	for {
		_, message, err := c.Read(c.reading)
		if err != nil {
			return err
		}
		c.quiet.Stop() // the handler may take longer
		select {
		case messages <- message:
			c.quiet.Reset(silence)
		case <-c.reading.Done():
			return c.reading.Err()
		}
	}
}

// receive passes on the frames of the connection until it ends, and returns the position to resume from.
func (c *connection) receive(ctx context.Context, after string, handle func(Frame) error) (string, error) {
	messages, broke := make(chan []byte, ahead), make(chan error, 1)
	go func() {
		err := c.read(messages)
		if cause := context.Cause(c.reading); cause != nil && ctx.Err() == nil {
			err = cause
		}
		broke <- err
		close(messages)
	}()
	defer func() {
		c.end(nil)
		_ = c.CloseNow() // it broke, or the caller stopped reading
		for range messages {
		} // until the reader has ended
		c.quiet.Stop()
	}()
	for message := range messages {
		if ctx.Err() != nil {
			return after, ctx.Err()
		}
		frame := Frame{Raw: message}
		if err := json.Unmarshal(message, &frame); err != nil {
			return after, fmt.Errorf("the stream sent what is no frame: %w", err)
		}
		if err := handle(frame); err != nil {
			return after, &stopError{err}
		}
		switch {
		case frame.Pos > 0:
			after = strconv.FormatInt(frame.Pos, 10)
		case frame.Type == "ahead", after == "latest" && (frame.Type == "resumed" || frame.Type == "gap"):
			after = strconv.FormatInt(frame.To, 10)
		}
	}
	return after, <-broke
}
