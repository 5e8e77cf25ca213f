package stdio

import (
	"sync"
	"time"

	"harness/internal/runtime"
)

// Bounds of output that the sink has not accepted. Above them the reader stops, and the agent blocks when its pipe is
// full. So no data is lost and memory stays bounded.
const (
	maxQueued      = 4096
	maxQueuedBytes = 64 << 20
	// standstill is how long a queue may make no progress before its output counts as refused.
	standstill = time.Second
)

// queued is a batch to deliver after first is closed (nil: at once). With answered set, it is the place of an answer
// among the batches.
type queued struct {
	runtime.Batch
	first    <-chan struct{}
	answered func()
}

// queue keeps the total order of the runtime's output between its reader and the sink.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond
	batches []queued
	bytes   int
	busy    bool      // the sink is still processing the last one
	moved   time.Time // of the last removal, or of the first addition to an empty queue
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(batch runtime.Batch) { q.pushAfter(nil, batch) }

// pushAfter passes on a batch after first is closed.
func (q *queue) pushAfter(first <-chan struct{}, batch runtime.Batch) {
	q.add(queued{Batch: batch, first: first})
}

// pushAnswer delivers an answer after the sink accepted everything before it. The sink has then stored that output,
// or is about to.
func (q *queue) pushAnswer(answered func()) {
	if !q.add(queued{answered: answered}) {
		answered()
	}
}

// add waits for space. One batch of any size always fits. After close it drops the batch and returns false.
func (q *queue) add(b queued) bool {
	size := b.Size()
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && len(q.batches) > 0 && (len(q.batches) >= maxQueued || q.bytes+size > maxQueuedBytes) {
		q.changed.Wait()
	}
	if q.closed {
		return false
	}
	if len(q.batches) == 0 && !q.busy {
		q.moved = time.Now()
	}
	q.batches = append(q.batches, b)
	q.bytes += size
	q.changed.Broadcast()
	return true
}

// pop waits for the next batch and for its precondition; false when the queue is closed and empty. It delivers
// answers itself.
func (q *queue) pop() (runtime.Batch, bool) {
	for {
		b, ok := q.next()
		if b.answered != nil {
			b.answered()
			continue
		}
		if b.first != nil {
			<-b.first
		}
		return b.Batch, ok
	}
}

func (q *queue) next() (queued, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	q.changed.Broadcast()
	for len(q.batches) == 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.batches) == 0 {
		return queued{}, false
	}
	q.busy, q.moved = true, time.Now()
	b := q.batches[0]
	q.batches[0] = queued{}
	q.batches = q.batches[1:]
	q.bytes -= b.Size()
	q.changed.Broadcast()
	return b, true
}

// drain waits until the sink processed or abandoned all batches.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && (len(q.batches) > 0 || q.busy) {
		q.changed.Wait()
	}
}

// empty reports whether the sink accepted and processed all batches.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.batches) == 0 && !q.busy
}

// standing returns the time without progress while the queue is not empty or the sink processes the last batch.
func (q *queue) standing() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 && !q.busy {
		return 0
	}
	return time.Since(q.moved)
}

// close lets pop drain the queue and then end.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
