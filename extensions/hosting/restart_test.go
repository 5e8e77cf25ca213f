package hosting_test

import (
	"testing"
	"time"

	"harness/extensions/hosting"
)

func TestPausesGrowAndAreForgotten(t *testing.T) {
	t.Parallel()
	var history hosting.History
	now := time.Unix(1_000_000, 0)
	var waits []time.Duration
	for range 20 {
		_, wait := history.Next(now)
		waits = append(waits, wait)
	}
	for i, wait := range waits {
		switch {
		case i < hosting.Free && wait != 0,
			i == hosting.Free && wait != hosting.First,
			i > hosting.Free && wait != min(2*waits[i-1], hosting.Longest):
			t.Errorf("restart %d waits %s", i, wait)
		}
	}
	if count, wait := history.Next(now.Add(hosting.Span + time.Second)); count != 1 || wait != 0 {
		t.Errorf("after a quiet minute: %d, %s", count, wait)
	}
}
