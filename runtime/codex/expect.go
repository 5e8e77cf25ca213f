package codex

import (
	"context"
	"sync"
	"time"

	"harness/runtime"
)

// expectLimit is how long a call waits for the news it caused, should a version of codex have none.
const expectLimit = 250 * time.Millisecond

// expectations are notifications somebody waits for. codex tells of some changes beside answering the call that made them; a caller who
// stores the change at once would be ahead of the news, and clients would see the two in an order that depends on luck.
type expectations struct {
	mu   sync.Mutex
	open map[expectation]chan struct{}
}

type expectation struct{ method, thread string }

// begin waits for a notification from now on; end gives it up. One caller at a time waits for the same.
func (e *expectations) begin(method, thread string) (came <-chan struct{}, end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key, news := expectation{method, thread}, make(chan struct{})
	if e.open == nil {
		e.open = map[expectation]chan struct{}{}
	}
	e.open[key] = news
	return news, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.open[key] == news {
			delete(e.open, key)
		}
	}
}

// delivered is told of every signal the sink has taken.
func (e *expectations) delivered(s runtime.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := expectation{s.Method, s.ThreadID}
	if news, waited := e.open[key]; waited {
		delete(e.open, key)
		close(news)
	}
}

// await waits for the news, within bounds.
func await(ctx context.Context, came <-chan struct{}) {
	limit := time.NewTimer(expectLimit)
	defer limit.Stop()
	select {
	case <-came:
	case <-limit.C:
	case <-ctx.Done():
	}
}
