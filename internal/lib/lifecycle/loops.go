package lifecycle

import (
	"context"
	"fmt"
	"sync"
)

// Loops runs a part's goroutines from its start to its stop. The zero value is ready to start.
type Loops struct {
	mu      sync.Mutex
	ctx     context.Context    //nolint:containedctx // it spans the part's life, not a call's
	cancel  context.CancelFunc // nil unless started
	running sync.WaitGroup
}

// Start makes the goroutines' context, which outlives ctx and ends with Stop, and calls begin, which starts them with
// Go. If already started, it does nothing. If begin fails, Start stops them and may be called again.
func (l *Loops) Start(ctx context.Context, begin func(running context.Context) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		return nil
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.ctx = running
	if err := begin(running); err != nil {
		cancel()
		l.running.Wait()
		return err
	}
	l.cancel = cancel
	return nil
}

// Go runs a goroutine that Stop waits for. Call it in begin, or between Start and Stop.
func (l *Loops) Go(loop func(running context.Context)) {
	l.running.Go(func() { loop(l.ctx) })
}

// Stop ends the goroutines' context and waits for them until ctx ends; its error then names what as still running. It
// reports whether this call stopped them: false if they were not started or already stopped.
func (l *Loops) Stop(ctx context.Context, what string) (ended bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel == nil {
		return false, nil
	}
	l.cancel()
	left := make(chan struct{})
	go func() { // runs until the goroutines end
		defer close(left)
		l.running.Wait()
	}()
	select {
	case <-left:
		l.cancel = nil
		return true, nil
	case <-ctx.Done():
		return false, fmt.Errorf("%s did not stop: %w", what, ctx.Err())
	}
}
