package hosting

import "time"

// The delays before an extension that broke its worker gets another one. The first restarts within the span are
// immediate, because a worker costs milliseconds; the delay then doubles with each restart.
const (
	Free    = 5
	Span    = time.Minute
	First   = 200 * time.Millisecond
	Longest = 30 * time.Second
)

// History records one extension's restarts. The zero value is empty; only one goroutine may use it.
type History struct{ times []time.Time }

// Next records a restart at the given time. It returns the number of restarts within the span and the delay of this
// one.
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
