package live

import (
	"context"
	"sync"

	"harness/internal/lib/wake"
	"harness/internal/services/session"
)

// Limits count and limit the turns and messages of each runtime. Index reports the turns.
type Limits struct {
	of func(runtime string) session.RuntimeLimits

	mu       sync.Mutex
	sessions map[string]int // messages being sent
	runtimes map[string]*busy
}

// busy is the load of one runtime.
type busy struct {
	limits          session.RuntimeLimits
	turns, messages int
	// slots counts slots held by messages whose turn the runtime has not named yet. waiting lists the messages without
	// a slot, in order.
	slots   int
	waiting []wake.Signal
}

// NewLimits returns Limits; of returns the limits of each runtime.
func NewLimits(of func(runtime string) session.RuntimeLimits) *Limits {
	return &Limits{of: of, sessions: map[string]int{}, runtimes: map[string]*busy{}}
}

// busy requires mu.
func (l *Limits) busy(runtimeName string) *busy {
	b := l.runtimes[runtimeName]
	if b == nil {
		b = &busy{}
		if l.of != nil {
			b.limits = l.of(runtimeName)
		}
		l.runtimes[runtimeName] = b
	}
	return b
}

// Load returns the load of a runtime.
func (l *Limits) Load(runtimeName string) session.Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy(runtimeName)
	return session.Load{Limits: b.limits, Turns: b.turns, Messages: b.messages, Waiting: len(b.waiting)}
}

// limitsSetting is the setting that an operator changes.
const limitsSetting = "HARNESS_RUNTIME_LIMITS"

// Reserve counts a message to a session, or a new session (""), until leave is called. Its error is *LimitError.
func (l *Limits) Reserve(runtimeName, sessionID string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy(runtimeName)
	switch {
	case sessionID != "" && b.limits.SessionMessages > 0 && l.sessions[sessionID] >= b.limits.SessionMessages:
		return nil, &session.LimitError{Runtime: runtimeName, SessionID: sessionID, Limit: b.limits.SessionMessages,
			Setting: limitsSetting}
	case b.limits.Messages > 0 && b.messages >= b.limits.Messages:
		return nil, &session.LimitError{Runtime: runtimeName, Limit: b.limits.Messages, Setting: limitsSetting}
	}
	b.messages++
	if sessionID != "" {
		l.sessions[sessionID]++
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.messages--
		if sessionID == "" {
			return
		}
		if l.sessions[sessionID]--; l.sessions[sessionID] == 0 {
			delete(l.sessions, sessionID)
		}
	}, nil
}

// AwaitSlot waits until a runtime may run one more turn. The caller releases the slot once the turn is in the index,
// or if no turn starts.
func (l *Limits) AwaitSlot(ctx context.Context, runtimeName string) (release func(), err error) {
	granted := wake.New()
	l.mu.Lock()
	b := l.busy(runtimeName)
	b.waiting = append(b.waiting, granted)
	b.grant()
	l.mu.Unlock()
	release = sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.slots--
		b.grant()
	})
	select {
	case <-granted:
		return release, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	for i, one := range b.waiting {
		if one == granted {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			l.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	l.mu.Unlock()
	release() // a slot was granted just now
	return nil, ctx.Err()
}

// BoundsTurns reports whether a runtime's turns are limited.
func (l *Limits) BoundsTurns(runtimeName string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy(runtimeName).limits.Turns > 0
}

// turn counts a turn that started (1) or ended (-1).
func (l *Limits) turn(runtimeName string, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy(runtimeName)
	b.turns += by
	b.grant()
}

// grant gives free slots to waiting messages, in order. Limits.mu is held.
func (b *busy) grant() {
	for len(b.waiting) > 0 && (b.limits.Turns == 0 || b.turns+b.slots < b.limits.Turns) {
		b.slots++
		b.waiting[0].Set()
		b.waiting = b.waiting[1:]
	}
}
