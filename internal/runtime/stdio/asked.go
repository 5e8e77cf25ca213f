package stdio

import (
	"context"
	"encoding/json"
	"time"

	"harness/internal/runtime"
)

// openRequest is a request of the agent that waits for a person.
type openRequest struct{ thread, turn string }

// notice tracks the agent's requests. A request that cannot be decided is refused; the channel is closed once
// that is sent. It must not be stored before: if this server died in between, no other server would see the
// request, and the agent would wait forever.
func (c *Conn) notice(signals []runtime.Signal) (refused <-chan struct{}) {
	for _, s := range signals {
		switch change := s.Change.(type) {
		case nil:
			if s.Kind == runtime.SignalRequest {
				refused = c.refuse(s, refused)
			}
		case runtime.RequestResolved:
			c.mu.Lock()
			delete(c.requests, string(change.RequestID))
			c.mu.Unlock()
		case runtime.TurnCompleted:
			// A turn that is over asks nothing any more. Not every agent says so.
			c.mu.Lock()
			for id, open := range c.requests {
				if open.thread == s.ThreadID && open.turn == change.TurnID {
					delete(c.requests, id)
				}
			}
			c.mu.Unlock()
		default:
			if s.Kind == runtime.SignalRequest {
				c.mu.Lock()
				c.requests[string(s.RequestID)] = openRequest{thread: s.ThreadID, turn: s.TurnID}
				c.mu.Unlock()
			}
		}
	}
	return refused
}

// refuse refuses a request that cannot be decided, after what comes before it.
func (c *Conn) refuse(s runtime.Signal, before <-chan struct{}) (refused <-chan struct{}) {
	return c.reply(s.Method, func() error { return c.sendRefusal(context.Background(), s) }, before)
}

// reply answers a request without a person, after what comes before it. The channel is closed when that is
// done, nil when no caller has to wait.
func (c *Conn) reply(method string, send func() error, before <-chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	c.refusing.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		if err := send(); err != nil {
			c.log.Warn().Err(err).Str("method", method).
				Msg("a request of " + c.name + " that needs no person could not be answered")
		}
	})
	if c.pipes.ack == nil {
		return nil // a child of ours dies with us
	}
	return done
}

// sendRefusal implements runtime.Batch.Refuse.
func (c *Conn) sendRefusal(ctx context.Context, request runtime.Signal) error {
	c.Claim(request.RequestID)
	line, err := c.protocol.Refuse(request)
	if err != nil {
		return err
	}
	return c.SendOnce(ctx, request.RequestID, line)
}

// SendOnce is Send for the answer to a request of the agent: however many servers send one, only the first reaches the
// process.
func (c *Conn) SendOnce(ctx context.Context, requestID json.RawMessage, line []byte) error {
	if c.pipes.once == nil {
		return c.Send(ctx, line)
	}
	return c.write(ctx, line, func(line []byte) (int, error) { return c.pipes.once(answerKey(requestID), line) })
}

// answerKey is what the answer to a request is known by: it must reach the agent once, whichever server sends it.
func answerKey(requestID json.RawMessage) string {
	return "answer:" + runtime.KnownID(string(requestID))
}

// Claim takes a request of the agent out of the open ones; true for exactly one caller.
func (c *Conn) Claim(requestID json.RawMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.requests[string(requestID)]
	delete(c.requests, string(requestID))
	return open
}

// AsksIn reports whether the agent waits for a person in a conversation.
func (c *Conn) AsksIn(threadID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range c.requests {
		if open.thread == threadID {
			return true
		}
	}
	return false
}

// Quiet reports whether the agent has no open request, has sent nothing since a time, and all it sent is
// stored.
func (c *Conn) Quiet(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) == 0 && len(c.orphaned) == 0 && c.made.Add(time.Duration(c.spoke.Load())).Before(since) &&
		c.stored.Load() >= c.lastBatch.Load()
}
