package stdio

import (
	"context"
	"sync"
	"time"

	"harness/internal/runtime"
)

// expectLimit bounds the wait for the notification of a call. This version of the agent may not send it.
const expectLimit = 250 * time.Millisecond

// expectations are the notifications with a waiting caller.
type expectations struct {
	mu   sync.Mutex
	open map[expectation]chan struct{}
}

type expectation struct{ method, thread string }

// Expect starts to wait for a notification. await returns when the sink accepted it, or after a short time; end
// cancels the wait. Only one caller at a time can wait for a notification. It is for agents that send a notification
// even for a change by a call. Without it, the caller might store the change before the notification, and clients
// would get both in random order.
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

// delivered gets every batch that the sink accepted.
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
