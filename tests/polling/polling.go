// Package polling is how tests wait for a condition that no event announces.
package polling

import "time"

// Looks come often at first and, the longer it takes, the more seldom: what is looked at costs, and the tests beside
// this one pay for it.
const (
	soonest  = 2 * time.Millisecond
	latest   = 100 * time.Millisecond
	ofWaited = 8 // the next look is after this part of the time waited
)

// Until polls until a condition holds, and reports whether it did before patience was over.
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
