package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"harness/internal/runtime"
)

// Retries of requests that an overloaded agent refused.
const (
	overloadTries    = 6
	overloadPauseMin = 50 * time.Millisecond
)

// pending is a request that waits for its answer.
type pending struct {
	method string
	thread string
	label  string
	// announces is Call.Announces.
	announces string
	answer    chan answer
}

type answer struct {
	result json.RawMessage
	err    error
}

// Call makes one request and waits at most timeout for its answer. If many are open, it first waits for a free slot.
// The Protocol makes the error of a refusal. Other errors are runtime.ErrTimeout and runtime.ErrUnavailable.
func (c *Conn) Call(ctx context.Context, timeout time.Duration, method string, params any) (result json.RawMessage,
	err error) {
	if c.called != nil {
		began := time.Now()
		defer func() { c.called(ctx, method, time.Since(began), err) }()
	}
	return c.call(ctx, timeout, method, params)
}

func (c *Conn) call(ctx context.Context, timeout time.Duration, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	about := c.protocol.Describe(method, params)
	for try := 1; ; try++ {
		result, err := c.callOnce(ctx, method, params, about)
		if err == nil || about.Overloaded == nil || try == overloadTries || !about.Overloaded(err) {
			return result, err
		}
		pause := overloadPauseMin << try
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}

func (c *Conn) callOnce(ctx context.Context, method string, params any, about Call) (json.RawMessage, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, c.Overdue(ctx, method)
	}
	p := &pending{method: method, thread: about.ThreadID, announces: about.Announces, answer: make(chan answer, 1)}
	c.mu.Lock()
	if c.dead != nil {
		defer c.mu.Unlock()
		return nil, c.dead
	}
	c.nextID++
	id := c.nextID
	key := strconv.FormatInt(id, 10)
	if !about.Harmless {
		p.label = labelOf(orphanedCall{ID: id, Method: method, Thread: p.thread, Announces: p.announces})
	}
	c.pending[key] = p
	c.mu.Unlock()

	forget := func() {
		c.mu.Lock()
		delete(c.pending, key)
		c.mu.Unlock()
		c.settle(p)
	}
	line, err := c.protocol.Frame(id, method, params)
	if err != nil {
		forget()
		return nil, fmt.Errorf("encode %s for %s: %w", method, c.name, err)
	}
	if err := c.sendCall(ctx, p.label, line); err != nil {
		forget()
		if ctx.Err() != nil && !errors.Is(err, runtime.ErrUnavailable) {
			return nil, c.Overdue(ctx, method)
		}
		return nil, err
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
		if p.announces == "" || !c.abandon(key, p) {
			forget()
		}
		return nil, c.Overdue(ctx, method)
	}
}

// abandon keeps a canceled request if its answer still matters. It returns false if the request is already answered.
func (c *Conn) abandon(key string, p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, waits := c.pending[key]; !waits {
		return false
	}
	delete(c.pending, key)
	if c.orphaned == nil {
		c.orphaned = map[string]orphanedCall{}
	}
	c.orphaned[key] = orphanedCall{Method: p.method, Thread: p.thread, Announces: p.announces, label: p.label, gaveUp: true}
	return true
}

// Announcing reports whether a request with this Call.Announces is open, including requests of earlier servers.
func (c *Conn) Announcing(as string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pending {
		if p.announces == as {
			return true
		}
	}
	for _, call := range c.orphaned {
		if call.Announces == as {
			return true
		}
	}
	return false
}

// Overdue distinguishes a deadline, which is a failure of the runtime, from a canceled call.
func (c *Conn) Overdue(ctx context.Context, method string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %s did not answer %s", runtime.ErrTimeout, c.name, method)
	}
	return ctx.Err()
}

// settle marks a call as finished.
func (c *Conn) settle(p *pending) {
	if c.pipes.settled != nil && p.label != "" {
		c.pipes.settled(p.label)
	}
}
