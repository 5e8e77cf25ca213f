package journal

import "testing"

// Events of others that the writer has passed on with its own meanwhile are not read once more, nor are those behind
// them: a writer that is busy does so with each batch. After anything new there may be more.
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
