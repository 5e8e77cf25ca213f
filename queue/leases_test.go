package queue

import (
	"maps"
	"testing"
	"time"
)

// A lease ends when this process observed no renewal for the length of a lease, whatever the stored time is.
func TestALeaseExpiresWithoutRenewal(t *testing.T) {
	t.Parallel()
	const lease, hour = 15 * time.Second, int64(time.Hour / time.Millisecond)
	began := time.Now()
	now := began.UnixMilli()
	type poll struct {
		after   time.Duration
		until   int64 // the stored end of the lease, 0 when the job does not run
		expired bool
	}
	for name, polls := range map[string][]poll{
		"its node's clock is behind": {{0, now - hour, false}, {5 * time.Second, now - hour + 1, false}, {12 * time.Second, now - hour + 2, false}, {18 * time.Second, now - hour + 3, false}},
		"it is silent, and ahead":    {{0, now + hour, false}, {7 * time.Second, now + hour, false}, {14 * time.Second, now + hour, false}, {15 * time.Second, now + hour, true}},
		"it is silent since a moment": {{0, now, false}, {7 * time.Second, now + 1, false}, {14 * time.Second, now + 1, false},
			{21 * time.Second, now + 1, false}, {22 * time.Second, now + 1, true}},
		"polls failed": {{0, now, false}, {20 * time.Second, now, false}, {27 * time.Second, now, false},
			{34 * time.Second, now, false}, {35 * time.Second, now, true}},
		"it ran again": {{0, now, false}, {7 * time.Second, 0, false}, {14 * time.Second, now, false}, {16 * time.Second, now, false}},
	} {
		l := leases{lease: lease, seen: map[string]observation{}}
		for _, poll := range polls {
			var running []Job
			want := map[string]int64{}
			if poll.until != 0 {
				running = []Job{{ID: "job", leaseUntil: poll.until}}
			}
			if poll.expired {
				want["job"] = poll.until
			}
			if got := l.expired(running, began.Add(poll.after)); !maps.Equal(got, want) {
				t.Errorf("%s: after %s silent are %v, want %v", name, poll.after, got, want)
			}
		}
	}
}
