package stdio

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"harness/internal/runtime"
)

// Emit passes on signals of the server itself, after all output so far, and sets their process and time. It never
// repeats them: if the server dies at once, they may not be stored. stored is closed when they are durable. native is
// stored among the agent's lines, nil for nothing. Emit returns runtime.ErrUnavailable when the process is gone: its
// end is always the last signal.
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

// SendOpen is Send for a request with an id of the Protocol. A process that outlives its servers keeps the label
// (JSON), from the arrival of the line until Settle, for the next server's Labels.
func (c *Conn) SendOpen(ctx context.Context, label string, line []byte) error {
	return c.sendCall(ctx, label, line)
}

// Settle marks the answer to a line of SendOpen as stored.
func (c *Conn) Settle(label string) { c.settle(&pending{label: label}) }

// Labels returns the labels that earlier servers passed to SendOpen and did not settle.
func (c *Conn) Labels() []string { return slices.Clone(c.labels) }

// Note replaces the Hello for the next servers.
func (c *Conn) Note(hello json.RawMessage) {
	c.mu.Lock()
	c.hello = hello
	c.mu.Unlock()
	if c.pipes.note != nil {
		c.pipes.note(hello)
	}
}

// ClaimIn claims the open requests of the agent in a conversation, as Claim does.
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
