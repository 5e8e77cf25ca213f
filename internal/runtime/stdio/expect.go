package stdio

import (
	"context"
	"sync"
	"time"

	"harness/internal/runtime"
)

// expectLimit is how long a call waits for the news it caused, should this version of the agent have none.
const expectLimit = 250 * time.Millisecond

// expectations are notifications that callers wait for.
type expectations struct {
	mu   sync.Mutex
	open map[expectation]chan struct{}
}

type expectation struct{ method, thread string }

// Expect waits for a notification from now on: await returns when the sink accepted it, or at last after a
// short while; end cancels it. One caller at a time waits for the same. It is for agents that send a change
// besides answering the call that made it. A caller that stores the change at once would be ahead of the
// notification, and clients would see the two in random order.
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

// delivered gets everything the sink has accepted.
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
