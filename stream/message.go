package stream

import (
	"encoding/binary"
	"sync"

	"harness/internal/platform/journal"
)

// Message is one complete text message, encoded once for all its receivers: as plain text, and after a websocket
// frame header. A server's frames are not masked, so these bytes are the same for every socket.
type Message struct {
	wire   []byte
	header int
}

// maxHeader is the longest header of a server's websocket frame (RFC 6455, 5.2).
const maxHeader = 10

// newMessage makes a message of the text that fill appends; capacity is an estimate of its length.
func newMessage(capacity int, fill func(dst []byte) []byte) *Message {
	buf := fill(make([]byte, maxHeader, maxHeader+capacity))
	length := len(buf) - maxHeader
	var header [maxHeader]byte
	header[0] = 0x81 // final fragment, text
	var n int
	switch {
	case length < 126:
		header[1], n = byte(length), 2
	case length <= 0xffff:
		header[1], n = 126, 4
		binary.BigEndian.PutUint16(header[2:], uint16(length)) //nolint:gosec // bounded by the case
	default:
		header[1], n = 127, 10
		binary.BigEndian.PutUint64(header[2:], uint64(length)) //nolint:gosec // a length is never negative
	}
	start := maxHeader - n
	copy(buf[start:], header[:n])
	return &Message{wire: buf[start:], header: n}
}

// textMessage makes a message of a control frame's text.
func textMessage(text string) *Message {
	return newMessage(len(text), func(dst []byte) []byte { return append(dst, text...) })
}

// Text returns the message without framing.
func (m *Message) Text() []byte { return m.wire[m.header:] }

// Websocket returns the message as one websocket frame.
func (m *Message) Websocket() []byte { return m.wire }

// shared is a frame to send to many receivers. Each of its two variants is encoded once, when the first receiver needs
// it.
type shared struct {
	Frame
	channel *channel // nil for a reply
	reply   *Message // sent in place of the frame
	// For frames that add to a text: their record, and whether this is its last frame.
	record                    *journal.Record
	last                      bool
	plain, positioned         *Message
	plainOnce, positionedOnce sync.Once
}

// size estimates the encoded length.
func (s *shared) size() int {
	if s.reply != nil {
		return len(s.reply.wire)
	}
	return s.Frame.size()
}

func (s *shared) message(positions bool) *Message {
	if s.reply != nil {
		return s.reply
	}
	if positions {
		s.positionedOnce.Do(func() { s.positioned = s.encode(true) })
		return s.positioned
	}
	s.plainOnce.Do(func() { s.plain = s.encode(false) })
	return s.plain
}

func (s *shared) encode(positions bool) *Message {
	return newMessage(s.size(), func(dst []byte) []byte { return s.channel.feed.AppendFrame(dst, &s.Frame, positions) })
}
