package stream

import (
	"errors"
	"io"
	"sync/atomic"
)

const (
	// smallMessage is read without a charge: a command has one or two hundred bytes.
	smallMessage = 64 << 10
	// messageBytes bounds the memory of all large messages being read.
	messageBytes = 64 << 20
)

// errBusy ends the read of a large message that exceeds the budget.
var errBusy = errors.New("too many large messages at once")

// budget is the memory for large messages of all connections. Without it, a thousand unfinished ones would take a
// gigabyte.
type budget struct{ used atomic.Int64 }

// meter charges the bytes read from a message; call release once the message is handled.
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
