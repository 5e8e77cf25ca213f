package queue

import (
	"maps"
	"testing"
	"time"
)

// A lease is over when no renewal was observed here for its whole length, whatever the stored time says.
func TestALeaseExpiresWithoutRenewal(t *testing.T) {
	t.Parallel()
	const lease, hour = 15 * time.Second, int64(time.Hour / time.Millisecond)
	began := time.Now()
	now := began.UnixMilli()
	type look struct {
		after  time.Duration
		until  int64 // what the lease says, 0 when the job does not run
		silent bool
	}
	for name, looks := range map[string][]look{
		"its node's clock is behind": {{0, now - hour, false}, {5 * time.Second, now - hour + 1, false}, {12 * time.Second, now - hour + 2, false}, {18 * time.Second, now - hour + 3, false}},
		"it is silent, and ahead":    {{0, now + hour, false}, {7 * time.Second, now + hour, false}, {14 * time.Second, now + hour, false}, {15 * time.Second, now + hour, true}},
		"it is silent since a moment": {{0, now, false}, {7 * time.Second, now + 1, false}, {14 * time.Second, now + 1, false},
			{21 * time.Second, now + 1, false}, {22 * time.Second, now + 1, true}},
		"polls failed": {{0, now, false}, {20 * time.Second, now, false}, {27 * time.Second, now, false},
			{34 * time.Second, now, false}, {35 * time.Second, now, true}},
		"it ran again": {{0, now, false}, {7 * time.Second, 0, false}, {14 * time.Second, now, false}, {16 * time.Second, now, false}},
	} {
		l := leases{lease: lease, seen: map[string]sighting{}}
		for _, look := range looks {
			var running []Job
			want := map[string]int64{}
			if look.until != 0 {
				running = []Job{{ID: "job", leaseUntil: look.until}}
			}
			if look.silent {
				want["job"] = look.until
			}
			if got := l.expired(running, began.Add(look.after)); !maps.Equal(got, want) {
				t.Errorf("%s: after %s silent are %v, want %v", name, look.after, got, want)
			}
		}
	}
}
