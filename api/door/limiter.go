package door

import (
	"sync"
	"time"
)

// limiter limits the messages of each caller: a burst of one minute's messages, then a steady rate.
type limiter struct {
	rate int // messages per minute; 0 means no limit
	now  func() time.Time

	mu      sync.Mutex
	callers map[string]*tokens
}

type tokens struct {
	left float64
	at   time.Time
}

// maxCallers is the number of remembered callers; idle ones are removed first.
const maxCallers = 10_000

// take counts a message. If the caller sent too many, it returns how long to wait.
func (l *limiter) take(caller string) (wait time.Duration) {
	if l.rate <= 0 {
		return 0
	}
	now, each := l.now(), time.Minute/time.Duration(l.rate)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.callers == nil || len(l.callers) >= maxCallers {
		l.forget(now)
	}
	t := l.callers[caller]
	if t == nil {
		t = &tokens{left: float64(l.rate), at: now}
		l.callers[caller] = t
	}
	t.left = min(float64(l.rate), t.left+float64(now.Sub(t.at))/float64(each))
	t.at = now
	if t.left < 1 {
		return time.Duration((1 - t.left) * float64(each))
	}
	t.left--
	return 0
}

// forget removes callers that were idle for a minute. It requires mu.
func (l *limiter) forget(now time.Time) {
	kept := map[string]*tokens{}
	for caller, t := range l.callers {
		if now.Sub(t.at) < time.Minute {
			kept[caller] = t
		}
	}
	l.callers = kept
}
