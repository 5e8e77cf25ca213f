// Package lifecycle starts the parts of the process in order (Group) and stops them in reverse order, each within a
// bound and all within a total bound. It also runs the background goroutines of a part (Loops).
//
// It must never know what a part does. A part that hangs is abandoned and named in the error; it cannot keep the parts
// after it from being stopped.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// ErrStopped is the error of Start after Stop was called.
var ErrStopped = errors.New("lifecycle: already stopped")

// ErrAbandoned marks a part that did not return within its bound; its goroutine keeps running.
var ErrAbandoned = errors.New("did not return within its bound and was abandoned")

// reserve is the time reserved for each part that is not stopped yet, so that a hanging part cannot use up the total
// bound.
const reserve = 100 * time.Millisecond

// Part is a component that starts and stops. Start returns when the part works; Stop waits until it has stopped. Either
// may be nil.
type Part struct {
	Name  string
	Start func(ctx context.Context) error
	Stop  func(ctx context.Context) error
	Bound time.Duration // maximum time of Stop; 0 means the group's total
}

// Group owns the parts of one process. Use New; methods are safe for
// concurrent use.
type Group struct {
	log   zerolog.Logger
	total time.Duration
	parts []Part

	mu        sync.Mutex
	starting  chan struct{}      // closed when Start has finished; nil before Start
	cancel    context.CancelFunc // cancels a Start in progress
	startErr  error
	started   []Part // parts for Stop to stop, in start order
	stopping  chan struct{}
	stopErr   error
	stopBegun bool
}

// New makes a group that stops within total. Parts start in the given order.
func New(log zerolog.Logger, total time.Duration, parts ...Part) *Group {
	return &Group{log: log, total: total, parts: parts, stopping: make(chan struct{})}
}

// Start starts the parts in order. If one fails, Start stops those already started and returns the error. A second call
// waits for the first and returns the same; after Stop it returns ErrStopped.
func (g *Group) Start(ctx context.Context) error {
	g.mu.Lock()
	if g.stopBegun {
		g.mu.Unlock()
		return ErrStopped
	}
	if g.starting != nil {
		first := g.starting
		g.mu.Unlock()
		<-first
		return g.startErr
	}
	g.starting = make(chan struct{})
	ctx, g.cancel = context.WithCancel(ctx)
	g.mu.Unlock()

	err := g.startParts(ctx)
	if err != nil {
		err = errors.Join(err, g.stopParts())
	}
	g.startErr = err
	g.cancel()
	close(g.starting)
	return err
}

func (g *Group) startParts(ctx context.Context) error {
	for _, p := range g.parts {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("start of the %s canceled: %w", p.Name, err)
		}
		begin := time.Now()
		if p.Start != nil {
			if err := guarded(ctx, p.Start); err != nil {
				return fmt.Errorf("start the %s: %w", p.Name, err)
			}
		}
		g.started = append(g.started, p)
		g.log.Debug().Str("part", p.Name).Int64("ms", time.Since(begin).Milliseconds()).Msg("started")
	}
	return nil
}

// Stop stops the started parts, last one first, and returns their errors, joined. It cancels a Start in progress and
// waits for it. Every call after the first waits for the first and returns the same.
func (g *Group) Stop() error {
	g.mu.Lock()
	if g.stopBegun {
		g.mu.Unlock()
		<-g.stopping
		return g.stopErr
	}
	g.stopBegun = true
	starting, cancel := g.starting, g.cancel
	g.mu.Unlock()

	if starting != nil {
		cancel()
		<-starting
	}
	g.stopErr = g.stopParts()
	close(g.stopping)
	return g.stopErr
}

// stopParts is called by Start or by Stop, never by both at the same time.
func (g *Group) stopParts() error {
	deadline := time.Now().Add(g.total)
	var errs []error
	for len(g.started) > 0 {
		last := len(g.started) - 1
		p := g.started[last]
		g.started = g.started[:last]
		left := time.Until(deadline) - time.Duration(last)*reserve
		if p.Bound > 0 {
			left = min(left, p.Bound)
		}
		if err := g.stopPart(p, max(left, reserve)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (g *Group) stopPart(p Part, bound time.Duration) error {
	if p.Stop == nil {
		return nil
	}
	begin := time.Now()
	err := bounded(p.Stop, bound)
	took := time.Since(begin).Milliseconds()
	if err != nil {
		g.log.Error().Err(err).Str("part", p.Name).Int64("ms", took).Int64("bound_ms", bound.Milliseconds()).
			Msg("not stopped cleanly")
		return fmt.Errorf("lifecycle: stop %s: %w", p.Name, err)
	}
	g.log.Info().Str("part", p.Name).Int64("ms", took).Msg("stopped")
	return nil
}

// bounded runs stop and abandons it at the bound. The context of stop ends at the bound, too, so that a well-behaved
// part returns.
func bounded(stop func(context.Context) error, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	done := make(chan error, 1) // buffered, so that an abandoned step can return
	go func() { done <- guarded(ctx, stop) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	default:
		return ErrAbandoned
	}
}

// guarded turns a panic into an error, so that one part's bug does not prevent the others from stopping.
func guarded(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f(ctx)
}
