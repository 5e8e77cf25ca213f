// Package wake wakes a goroutine when it has work.
//
// It owns the signal and the loop that waits for it. It must never know what the work is.
package wake

import (
	"context"
	"time"
)

// Signal is a wake-up that stays set until it is received. Receive from it in a select; several Sets are one wake-up.
type Signal chan struct{}

// New returns a signal that is not set.
func New() Signal { return make(Signal, 1) }

// Set wakes the receiving goroutine, at once or when it next waits. It never blocks.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default: // already set
	}
}

// Loop calls round after each Set until ctx ends. If a round returns more than zero, Loop repeats it after that pause.
func (s Signal) Loop(ctx context.Context, round func(context.Context) (again time.Duration)) {
	timer := time.NewTimer(0)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-s:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		timer.Stop()
		if again := round(ctx); again > 0 {
			timer.Reset(again)
		}
	}
}
