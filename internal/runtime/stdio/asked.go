package stdio

import (
	"context"
	"encoding/json"
	"time"

	"harness/internal/runtime"
)

// openRequest is an open request of the agent.
type openRequest struct{ thread, turn string }

// notice tracks the agent's requests. It refuses one that the server cannot decide, and closes the channel after it
// sent the refusal. The server must not store the request before: if it died in between, the next server would not
// see the request, and the agent would wait forever.
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
			// An ended turn has no open requests. Not every agent closes them itself.
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

// refuse refuses a request that the server cannot decide, after everything before it.
func (c *Conn) refuse(s runtime.Signal, before <-chan struct{}) (refused <-chan struct{}) {
	return c.reply(s.Method, func() error { return c.sendRefusal(context.Background(), s) }, before)
}

// reply answers a request without a user, after everything before it. It closes the channel after the answer. The
// channel is nil when no caller has to wait.
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
		return nil // a child of this server dies with it
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

// SendOnce is Send for an answer to the agent: if several servers send one, only the first reaches the process.
func (c *Conn) SendOnce(ctx context.Context, requestID json.RawMessage, line []byte) error {
	if c.pipes.once == nil {
		return c.Send(ctx, line)
	}
	return c.write(ctx, line, func(line []byte) (int, error) { return c.pipes.once(answerKey(requestID), line) })
}

// answerKey identifies the answer to a request. The agent must get it only once, from any server.
func answerKey(requestID json.RawMessage) string {
	return "answer:" + runtime.KnownID(string(requestID))
}

// Claim removes a request of the agent from the open ones. It returns true to exactly one caller.
func (c *Conn) Claim(requestID json.RawMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.requests[string(requestID)]
	delete(c.requests, string(requestID))
	return open
}

// AsksIn reports whether the agent has an open request in a conversation.
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

// Quiet reports whether the agent has no open request, no output since a time, and no output left to store.
func (c *Conn) Quiet(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) == 0 && len(c.orphaned) == 0 && c.made.Add(time.Duration(c.spoke.Load())).Before(since) &&
		c.stored.Load() >= c.lastBatch.Load()
}
