package door

import (
	"sync"

	"harness/stream"
)

// The limits of an Outbox. A reader that is further behind is closed: it reconnects and reads what is stored.
const (
	maxOutbox      = 8192
	maxOutboxBytes = 64 << 20
	closeSlow      = 4008
)

// Outbox is the one order of everything that a socket sends: answers, and events of the sessions it follows. Put never
// blocks.
type Outbox struct {
	socket *stream.Socket

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	sending bool
	closed  bool
}

// NewOutbox creates the Outbox of a socket.
func NewOutbox(socket *stream.Socket) *Outbox { return &Outbox{socket: socket} }

// Put queues a text message after those before it.
func (o *Outbox) Put(text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(text) == 0 {
		return
	}
	if o.bytes += len(text); len(o.queue) >= maxOutbox || o.bytes > maxOutboxBytes && len(o.queue) > 0 {
		o.closed, o.queue = true, nil
		o.socket.Close(closeSlow, "slow reader")
		return
	}
	o.queue = append(o.queue, text)
	if !o.sending {
		o.sending = true
		go o.send()
	}
}

// send sends until nothing is queued, or the socket has ended.
func (o *Outbox) send() {
	for {
		o.mu.Lock()
		if len(o.queue) == 0 {
			o.sending = false
			o.mu.Unlock()
			return
		}
		text := o.queue[0]
		o.queue[0] = nil
		o.queue = o.queue[1:]
		o.bytes -= len(text)
		o.mu.Unlock()
		if !o.socket.Send(stream.NewMessage(len(text), func(dst []byte) []byte { return append(dst, text...) })) {
			o.mu.Lock()
			o.closed, o.queue, o.sending = true, nil, false
			o.mu.Unlock()
			return
		}
	}
}
