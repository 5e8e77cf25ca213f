// Package door has what every protocol on a socket needs: the limits of a caller, the work that a stop waits for, and
// calls that the node of a session carries out.
//
// It owns these rules, and the forms of JSON-RPC 2.0, for all doors. It must never know a method of a protocol.
package door

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// maxInFlight limits the concurrent messages of one socket.
const maxInFlight = 64

// Refusal is why a Desk does not carry out a message.
type Refusal int

// The reasons of a Desk.
const (
	Accepted Refusal = iota
	TooOften         // the caller sends more than its rate allows
	Stopping         // the server stops
	TooMany          // too many messages of the socket are in progress
)

// Desk counts the messages of all callers of a door: it limits them, and a stop waits for them.
type Desk struct {
	limiter limiter

	mu      sync.Mutex
	running sync.WaitGroup
	stopped bool
	quit    chan struct{}
}

// NewDesk creates a Desk with a rate in messages per minute for each caller; 0 means no limit.
func NewDesk(rate int, clock func() time.Time) *Desk {
	return &Desk{limiter: limiter{rate: rate, now: clock}, quit: make(chan struct{})}
}

// Quit closes when the desk stops.
func (d *Desk) Quit() <-chan struct{} { return d.quit }

// Stop accepts no more messages and waits, within ctx, for messages in progress. Calling it twice is allowed.
func (d *Desk) Stop(ctx context.Context) error {
	d.mu.Lock()
	first := !d.stopped
	d.stopped = true
	d.mu.Unlock()
	if first {
		close(d.quit)
	}
	done := make(chan struct{})
	go func() {
		d.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("calls are still running: %w", ctx.Err())
	}
}

// Enter accepts a message of a caller. Call leave when it is done.
func (d *Desk) Enter(c *Caller) (refused Refusal, wait time.Duration, leave func()) {
	if wait := d.limiter.take(c.rateKey); wait > 0 {
		return TooOften, wait, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return Stopping, 0, nil
	}
	d.running.Add(1)
	return Accepted, 0, d.running.Done
}

// Run carries out a message of a socket in the background and sends its reply, if any; after, if not nil, runs then.
// The reply to a message that is not carried out comes from refuse.
func (d *Desk) Run(c *Caller, work func() (reply []byte, after func()), refuse func(Refusal, time.Duration) []byte) {
	refused, wait, leave := d.Enter(c)
	if refused != Accepted {
		c.Send(refuse(refused, wait))
		return
	}
	select {
	case c.places <- struct{}{}:
	default:
		leave()
		c.Send(refuse(TooMany, 0))
		return
	}
	go func() {
		defer leave()
		reply, after := work()
		<-c.places
		c.Send(reply)
		if after != nil {
			after()
		}
	}()
}

// Background runs work that no message waits for; Stop waits for it. A stopped Desk does not run it.
func (d *Desk) Background(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	d.running.Add(1)
	go func() {
		defer d.running.Done()
		fn()
	}()
}

// Later counts work that continues after the message it came from. It must begin during that message.
func (d *Desk) Later(fn func()) {
	d.running.Add(1) // the message itself is counted, so Wait has not returned yet
	go func() {
		defer d.running.Done()
		fn()
	}()
}
