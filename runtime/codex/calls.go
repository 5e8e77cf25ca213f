package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"harness/runtime"
)

// Retries of requests codex refused because it is overloaded.
const (
	overloadTries    = 6
	overloadPauseMin = 50 * time.Millisecond
)

// call makes one request and waits for its answer, at most timeout.
func (c *conn) call(ctx context.Context, timeout time.Duration, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for try := 1; ; try++ {
		result, err := c.callOnce(ctx, method, params)
		native, refused := asNative(err)
		if !refused || native.Code != codeOverloaded || !repeatable(method) || try == overloadTries {
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

// repeatable tells the requests that may be sent again without asking what became of the first one.
func repeatable(method string) bool {
	switch method {
	case "initialize", "thread/resume", "thread/name/set", "turn/interrupt":
		return true
	}
	return strings.HasSuffix(method, "/list") || strings.HasSuffix(method, "/read")
}

func (c *conn) callOnce(ctx context.Context, method string, params any) (json.RawMessage, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, overdue(ctx, method)
	}
	p := &pending{method: method, thread: threadOf(params), answer: make(chan answer, 1)}
	c.mu.Lock()
	if c.dead != nil {
		defer c.mu.Unlock()
		return nil, c.dead
	}
	c.nextID++
	id := c.nextID
	key := strconv.FormatInt(id, 10)
	p.label = labelOf(id, method, p.thread)
	c.pending[key] = p
	c.mu.Unlock()

	forget := func() {
		c.mu.Lock()
		delete(c.pending, key)
		c.mu.Unlock()
		c.settle(p)
	}
	if err := c.sendCall(ctx, p.label, outgoing{ID: id, Method: method, Params: params}); err != nil {
		forget()
		if ctx.Err() != nil && !errors.Is(err, runtime.ErrUnavailable) {
			return nil, overdue(ctx, method)
		}
		return nil, err
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
		forget()
		return nil, overdue(ctx, method)
	}
}

// overdue tells a deadline, which is the runtime's failure, from a caller that went away.
func overdue(ctx context.Context, method string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: codex did not answer %s", runtime.ErrTimeout, method)
	}
	return ctx.Err()
}

// threadOf is the thread a request names, for the state that follows from its answer.
func threadOf(params any) string {
	switch p := params.(type) {
	case object:
		id, _ := p["threadId"].(string)
		return id
	case json.RawMessage:
		var named ids
		_ = json.Unmarshal(p, &named)
		return runtime.KnownID(named.ThreadID)
	}
	return ""
}

// object is the params of a request under construction.
type object map[string]any

// with sets a member when the value is not empty.
func (o object) with(key, value string) object {
	if value != "" {
		o[key] = value
	}
	return o
}

func (o object) withRaw(key string, value json.RawMessage) object {
	if len(value) > 0 {
		o[key] = value
	}
	return o
}
