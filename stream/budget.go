package stream

import (
	"errors"
	"io"
	"sync/atomic"
)

const (
	// smallMessage is read without asking: a command has a hundred bytes or two.
	smallMessage = 64 << 10
	// messageBytes bounds what large messages of all connections may have come to while they are read.
	messageBytes = 64 << 20
)

// errBusy ends the reading of a large message for which there is no memory.
var errBusy = errors.New("too many large messages at once")

// budget is the memory for large messages, shared by all connections: a thousand of them, each a byte short, would be a
// gigabyte.
type budget struct{ used atomic.Int64 }

// meter charges what is read from a message; call release when the message is dealt with.
func (b *budget) meter(message io.Reader) *metered { return &metered{from: message, budget: b} }

type metered struct {
	from    io.Reader
	budget  *budget
	read    int64
	charged int64
}

// Read implements io.Reader.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.read += int64(n)
	if due := m.read - m.charged; m.read > smallMessage && due > 0 {
		m.charged += due
		if m.budget.used.Add(due) > messageBytes {
			return 0, errBusy
		}
	}
	return n, err //nolint:wrapcheck // callers match the library's errors
}

func (m *metered) release() {
	m.budget.used.Add(-m.charged)
	m.charged = 0
}
