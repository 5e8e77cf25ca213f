package stdio

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"harness/internal/runtime"
)

// Emit passes on signals that did not come from the agent, after all it has sent so far; the signals get their
// process and time here. They are never repeated: a server that dies at once may leave them unstored. stored is
// closed when they are. native is stored among the agent's lines, nil for nothing. It returns
// runtime.ErrUnavailable when the process is gone, whose end is always the last signal.
func (c *Conn) Emit(native json.RawMessage, signals ...runtime.Signal) (stored <-chan struct{}, err error) {
	now, done := time.Now(), make(chan struct{})
	for i := range signals {
		signals[i].Generation, signals[i].ReceivedAt = c.generation, now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return nil, c.dead
	}
	c.out.push(runtime.Batch{Generation: c.generation, Native: native, Signals: signals, Stored: func() { close(done) }})
	return done, nil
}

// SendOpen is Send for a line that asks for an answer with an id of the Protocol's own. A process that outlives its
// servers remembers the label (JSON) from the moment it has the line until Settle, for the next server's Labels.
func (c *Conn) SendOpen(ctx context.Context, label string, line []byte) error {
	return c.sendCall(ctx, label, line)
}

// Settle says that the answer to a line that SendOpen sent is stored.
func (c *Conn) Settle(label string) { c.settle(&pending{label: label}) }

// Labels are those that servers before this one gave to SendOpen, and did not settle.
func (c *Conn) Labels() []string { return slices.Clone(c.labels) }

// Note replaces what the next servers are given as Hello.
func (c *Conn) Note(hello json.RawMessage) {
	c.mu.Lock()
	c.hello = hello
	c.mu.Unlock()
	if c.pipes.note != nil {
		c.pipes.note(hello)
	}
}

// ClaimIn takes the requests of the agent in a conversation out of the open ones, as Claim does.
func (c *Conn) ClaimIn(threadID string) (claimed []json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, open := range c.requests {
		if open.thread == threadID {
			claimed = append(claimed, json.RawMessage(id))
			delete(c.requests, id)
		}
	}
	return claimed
}
