package journal

import "testing"

// The writer may deliver other processes' events along with its own. Those events are not read a second time, nor are
// the events after them: a busy writer delivers such events with each batch. After a page with new events there may be
// more to read.
func TestWhatTheWriterPassesOnIsNotReadTwice(t *testing.T) {
	t.Parallel()
	j := New(nil, Options{})
	others := &follower{wanted: make(chan struct{}, 1)}
	page := []Record{{Pos: 1}, {Pos: 2}}
	j.head.Store(2)
	j.deliverNew(page, others)
	if len(others.wanted) != 0 {
		t.Error("more is read although nothing was new")
	}
	j.head.Store(1)
	j.deliverNew(page, others)
	if len(others.wanted) != 1 || j.Head() != 2 {
		t.Errorf("nothing more is read after something new; the head is at %d", j.Head())
	}
}
