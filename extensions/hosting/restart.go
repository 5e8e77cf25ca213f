package hosting

import "time"

// How long an extension that broke its worker waits before it gets another one: the first restarts within the span come
// at once, because a worker costs milliseconds; each further one waits twice as long as the one before.
const (
	Free    = 5
	Span    = time.Minute
	First   = 200 * time.Millisecond
	Longest = 30 * time.Second
)

// History remembers one extension's restarts. The zero value has none; it belongs to one goroutine.
type History struct{ times []time.Time }

// Next notes a restart at the given time and returns how many there were within the span and how long this one has to
// wait.
func (h *History) Next(now time.Time) (count int, wait time.Duration) {
	for len(h.times) > 0 && now.Sub(h.times[0]) > Span {
		h.times = h.times[1:]
	}
	h.times = append(h.times, now)
	count = len(h.times)
	if count <= Free {
		return count, 0
	}
	return count, min(First<<min(count-Free-1, 16), Longest)
}
