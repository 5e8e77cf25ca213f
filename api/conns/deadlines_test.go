package conns

import (
	"net"
	"slices"
	"testing"
	"time"
)

// deadlineRecorder is a connection that records its deadlines.
type deadlineRecorder struct {
	net.Conn
	reading, writing, both []time.Time
	during                 func() // a read
}

func (r *deadlineRecorder) SetReadDeadline(at time.Time) error {
	r.reading = append(r.reading, at)
	return nil
}

func (r *deadlineRecorder) SetWriteDeadline(at time.Time) error {
	r.writing = append(r.writing, at)
	return nil
}

func (r *deadlineRecorder) SetDeadline(at time.Time) error {
	r.both = append(r.both, at)
	return nil
}

func (r *deadlineRecorder) Read([]byte) (int, error) {
	r.during()
	return 0, nil
}

func (r *deadlineRecorder) Write(p []byte) (int, error) { return len(p), nil }

// The deadline of a waiting read applies to the connection, and each write has time.
func TestDeadlinesApplyToCurrentReadAndWrites(t *testing.T) {
	t.Parallel()
	inner := &deadlineRecorder{during: func() {}}
	c := &Conn{Conn: inner, limiter: NewLimiter(Options{AnswerTimeout: time.Hour})}
	began := time.Now()
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
	set := func(deadline time.Time) {
		if err := c.SetReadDeadline(deadline); err != nil {
			t.Fatal(err)
		}
	}
	read := func() {
		if _, err := c.Read(nil); err != nil {
			t.Fatal(err)
		}
	}
	set(at(1))
	set(at(2))
	if len(inner.reading) != 0 {
		t.Errorf("%v are set while nothing reads", inner.reading)
	}
	read()
	read()
	inner.during = func() { set(at(3)) }
	read()
	inner.during = func() {}
	set(time.Time{})
	read()
	if want := []time.Time{at(2), at(3), {}}; !slices.Equal(inner.reading, want) {
		t.Errorf("set for reading: %v, want %v", inner.reading, want)
	}
	for range 3 {
		if _, err := c.Write([]byte("answer")); err != nil {
			t.Fatal(err)
		}
		if err := c.SetWriteDeadline(time.Time{}); err != nil { // like net/http after each response
			t.Fatal(err)
		}
	}
	if len(inner.writing) != 1 || inner.writing[0].Before(began.Add(time.Hour)) {
		t.Errorf("set for writing: %v", inner.writing)
	}
	// A handler that takes over the connection gets it without deadlines.
	set(at(4))
	if err := c.SetDeadline(time.Time{}); err != nil || len(inner.both) != 1 {
		t.Errorf("set for both: %v, %v", inner.both, err)
	}
	read()
	if _, err := c.Write([]byte("more")); err != nil || len(inner.reading) != 3 || len(inner.writing) != 2 {
		t.Errorf("afterwards %v and %v, %v", inner.reading, inner.writing, err)
	}
}

// A peer has less time for the next part of a long response than for a short one, whatever its previous timeout.
func TestLongAnswerHasShorterWriteTimeout(t *testing.T) {
	t.Parallel()
	recorder := &deadlineRecorder{}
	c := &Conn{Conn: recorder, limiter: NewLimiter(Options{})}
	for _, answer := range []struct {
		long bool
		time time.Duration
	}{{false, 30 * time.Second}, {true, 10 * time.Second}, {false, 30 * time.Second}} {
		c.long.Store(answer.long)
		before := time.Now()
		if _, err := c.Write([]byte("answer")); err != nil {
			t.Fatal(err)
		}
		if at := recorder.writing[len(recorder.writing)-1]; at.Before(before.Add(answer.time)) || at.After(time.Now().Add(answer.time)) {
			t.Errorf("long: %t, it has %v", answer.long, at.Sub(before))
		}
	}
}
