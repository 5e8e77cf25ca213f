package cluster

import (
	"testing"
	"time"

	"harness/internal/lib/boottime"
)

// The clock stays unchanged while an answer allows it, and follows the store's clock when that is another one.
func TestTheStoresClockGoesEvenly(t *testing.T) {
	t.Parallel()
	c, reading := &storeClock{}, time.Duration(time.Now().Add(-time.Hour).UnixMilli())*time.Millisecond
	ahead := func() time.Duration { return time.Duration(c.ahead.Load()) }
	c.note(reading, 10*time.Second, 10*time.Second+20*time.Millisecond)
	first := ahead()
	if at := first + 10*time.Second + 20*time.Millisecond; at < reading || at > reading+21*time.Millisecond {
		t.Errorf("at the answer it is %s, the store said %s", at, reading)
	}
	c.note(reading+5*time.Second, 14*time.Second, 17*time.Second) // a slow answer
	if ahead() != first {
		t.Errorf("it was moved by %s", ahead()-first)
	}
	c.note(reading+10*time.Second, 20*time.Second, 20*time.Second+10*time.Millisecond)
	if moved := (ahead() - first).Abs(); moved > 11*time.Millisecond {
		t.Errorf("it was moved by %s", moved)
	}
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		c.note(reading+12*time.Second+by, 22*time.Second, 22*time.Second+10*time.Millisecond)
		if moved := ahead() - first; (moved - by).Abs() > 22*time.Millisecond {
			t.Errorf("another clock is %s off, it was moved by %s", by, moved)
		}
	}
	c.note(time.Duration(time.Now().UnixMilli())*time.Millisecond, boottime.Now(), boottime.Now())
	if off := time.Since(c.now()).Abs(); off > 5*time.Second {
		t.Errorf("it is off by %s", off)
	}
}
