package manager

import (
	"context"
	"errors"
	"sync"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// limits count what the runtimes have to do. The view tells it of turns.
type limits struct {
	of func(runtime string) session.RuntimeLimits

	mu       sync.Mutex
	sessions map[string]int // messages on their way
	runtimes map[string]*busy
}

// busy is what one runtime has to do.
type busy struct {
	limits          session.RuntimeLimits
	turns, messages int
	// places were given to messages whose turn the runtime has not named yet; waiting are those without one, in order.
	places  int
	waiting []chan struct{}
}

func newLimits(of func(runtime string) session.RuntimeLimits) *limits {
	return &limits{of: of, sessions: map[string]int{}, runtimes: map[string]*busy{}}
}

// busy is asked under mu.
func (l *limits) busy(runtimeName string) *busy {
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

// load is what a runtime has to do.
func (l *limits) load(runtimeName string) session.Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy(runtimeName)
	return session.Load{Limits: b.limits, Turns: b.turns, Messages: b.messages, Waiting: len(b.waiting)}
}

// enter takes in a message to a session, or a new session (""), until left. *LimitError.
func (l *limits) enter(runtimeName, sessionID string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy(runtimeName)
	switch {
	case sessionID != "" && b.limits.SessionMessages > 0 && l.sessions[sessionID] >= b.limits.SessionMessages:
		return nil, &session.LimitError{Runtime: runtimeName, SessionID: sessionID, Limit: b.limits.SessionMessages,
			Setting: "HARNESS_SESSION_MAX_MESSAGES"}
	case b.limits.Messages > 0 && b.messages >= b.limits.Messages:
		return nil, &session.LimitError{Runtime: runtimeName, Limit: b.limits.Messages, Setting: "HARNESS_RUNTIME_MAX_MESSAGES"}
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

// place waits until a runtime may have one more turn. It is given back once the turn is known to the view, or there is
// none.
func (l *limits) place(ctx context.Context, runtimeName string) (giveBack func(), err error) {
	granted := make(chan struct{}, 1)
	l.mu.Lock()
	b := l.busy(runtimeName)
	b.waiting = append(b.waiting, granted)
	b.grant()
	l.mu.Unlock()
	giveBack = sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.places--
		b.grant()
	})
	select {
	case <-granted:
		return giveBack, nil
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
	giveBack() // it was granted just now
	return nil, ctx.Err()
}

// bounded tells whether a runtime's turns are.
func (l *limits) bounded(runtimeName string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy(runtimeName).limits.Turns > 0
}

// turn counts a turn that began (1) or ended (-1).
func (l *limits) turn(runtimeName string, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.busy(runtimeName)
	b.turns += by
	b.grant()
}

// grant gives the places there are to those who wait, in order. limits.mu is held.
func (b *busy) grant() {
	for len(b.waiting) > 0 && (b.limits.Turns == 0 || b.turns+b.places < b.limits.Turns) {
		b.places++
		b.waiting[0] <- struct{}{}
		b.waiting = b.waiting[1:]
	}
}

// Load is what a runtime of this server has to do now.
func (s *Service) Load(runtimeName string) session.Load { return s.view.limits.load(runtimeName) }

// countTurns makes the turns known that run in processes an earlier server left: they count as any other.
func (s *Service) countTurns(ctx context.Context) error {
	turns, err := openTurns(ctx, s.db.Read(), s.opts.NodeID)
	if err != nil {
		return err
	}
	for _, turn := range turns {
		if err := s.tryLoad("", turn.sessionID); err != nil && !errors.Is(err, session.ErrNotFound) && !database.Transient(err) {
			return err
		}
	}
	return nil
}

// comeIn takes in a message until it left: *LimitError when too many are on their way. What is wrong with the session
// is told by who looks at it.
func (s *Service) comeIn(ctx context.Context, sessionID string) (leave func(), err error) {
	t, inView := s.view.peek(sessionID)
	if !inView || !t.known {
		sess, err := s.stored(ctx, sessionID)
		if session.Absent(err) {
			return func() {}, nil
		}
		if err != nil {
			return nil, err
		}
		t.runtime = sess.Runtime
	}
	return s.view.limits.enter(t.runtime, sessionID)
}

// needsPlace tells whether a message to a session begins a turn that has to wait for a place.
func (s *Service) needsPlace(session session.Session) bool {
	return s.view.limits.bounded(session.Runtime) && s.view.active(session.ID) == ""
}
