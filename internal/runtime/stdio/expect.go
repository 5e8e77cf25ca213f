package stdio

import (
	"context"
	"sync"
	"time"

	"harness/internal/runtime"
)

// expectLimit bounds the wait for the notification of a call, which this version of the agent may lack.
const expectLimit = 250 * time.Millisecond

// expectations are the notifications that callers wait for.
type expectations struct {
	mu   sync.Mutex
	open map[expectation]chan struct{}
}

type expectation struct{ method, thread string }

// Expect waits for a notification from now on. await returns when the sink accepted it, or after a short while; end
// cancels it. One caller at a time waits for the same notification. It is for agents that also notify of a change that a
// call made. Without it, the caller might store the change before the notification, and clients would see both in random
// order.
func (s *Supervisor) Expect(method, threadID string) (await func(context.Context), end func()) {
	e := &s.expected
	e.mu.Lock()
	defer e.mu.Unlock()
	key, news := expectation{method, threadID}, make(chan struct{})
	if e.open == nil {
		e.open = map[expectation]chan struct{}{}
	}
	e.open[key] = news
	await = func(ctx context.Context) {
		select {
		case <-news:
		case <-time.After(expectLimit):
		case <-ctx.Done():
		}
	}
	return await, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.open[key] == news {
			delete(e.open, key)
		}
	}
}

// delivered gets everything that the sink accepted.
func (e *expectations) delivered(batch runtime.Batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range batch.Signals {
		key := expectation{s.Method, s.ThreadID}
		if news, waited := e.open[key]; waited {
			delete(e.open, key)
			close(news)
		}
	}
}
