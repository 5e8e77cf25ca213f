package codex

import (
	"sync"

	"harness/runtime"
)

// Bounds of what is read from the runtime but not yet taken by the sink. Above them the reader stops, and with it, when its pipe is full,
// codex: nothing is dropped and memory stays bounded.
const (
	maxQueued      = 4096
	maxQueuedBytes = 64 << 20
)

// queued is a signal that is not to be delivered before something was done (first; nil when there is nothing to do), or, with answered set,
// the place of an answer among the signals.
type queued struct {
	runtime.Signal
	first    <-chan struct{}
	answered func()
}

// queue keeps the total order of what the runtime said between its reader and the sink.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond
	signals []queued
	bytes   int
	busy    bool // the last one that was taken is not done with
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(s runtime.Signal) { q.pushAfter(nil, s) }

// pushAfter passes on a signal that waits for something.
func (q *queue) pushAfter(first <-chan struct{}, s runtime.Signal) {
	q.add(queued{Signal: s, first: first})
}

// pushAnswer hands out an answer when the sink has taken all that was said before it: whoever asked then sees it stored, or about to be.
func (q *queue) pushAnswer(answered func()) {
	if !q.add(queued{answered: answered}) {
		answered()
	}
}

// add waits for room. One signal always fits, however large. After close it drops, and returns false.
func (q *queue) add(s queued) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && len(q.signals) > 0 && (len(q.signals) >= maxQueued || q.bytes+len(s.Raw) > maxQueuedBytes) {
		q.changed.Wait()
	}
	if q.closed {
		return false
	}
	q.signals = append(q.signals, s)
	q.bytes += len(s.Raw)
	q.changed.Broadcast()
	return true
}

// pop waits for the next signal and for what comes before it; false when the queue is closed and empty. Answers it hands out.
func (q *queue) pop() (runtime.Signal, bool) {
	for {
		s, ok := q.next()
		if s.answered != nil {
			s.answered()
			continue
		}
		if s.first != nil {
			<-s.first
		}
		return s.Signal, ok
	}
}

func (q *queue) next() (queued, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	q.changed.Broadcast()
	for len(q.signals) == 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.signals) == 0 {
		return queued{}, false
	}
	q.busy = true
	s := q.signals[0]
	q.signals[0] = queued{}
	q.signals = q.signals[1:]
	q.bytes -= len(s.Raw)
	q.changed.Broadcast()
	return s, true
}

// drain waits until everything was taken and done with, or is not going to be.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && (len(q.signals) > 0 || q.busy) {
		q.changed.Wait()
	}
}

// empty tells that everything was taken and done with.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.signals) == 0 && !q.busy
}

// close lets pop drain what is there and then end.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
