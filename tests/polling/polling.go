// Package polling lets tests wait for a condition that no event announces.
package polling

import "time"

// Polls are frequent at first and then less so, because each one slows down concurrent tests.
const (
	soonest  = 2 * time.Millisecond
	latest   = 100 * time.Millisecond
	ofWaited = 8 // the next poll is after this fraction of the time waited
)

// Until polls until a condition holds, and reports whether it did within patience.
func Until(patience time.Duration, condition func() bool) bool {
	begun := time.Now()
	for !condition() {
		waited := time.Since(begun)
		if waited >= patience {
			return false
		}
		<-time.After(min(max(waited/ofWaited, soonest), latest, patience-waited))
	}
	return true
}
