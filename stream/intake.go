package stream

import (
	"encoding/binary"
	"errors"
	"time"
)

// The reasons for closing a peer because of its input.
var (
	errTooFast    = errors.New("too many messages")
	errUnfinished = errors.New("message not finished in time")
)

const (
	// byteCost is how many bytes cost a peer as much as a frame.
	byteCost = 4 << 10
	// fragmentCost is the cost of a further fragment of a message, in frames: small fragments are legal, and even an
	// empty one costs time.
	fragmentCost = 1.0 / 16
	frameHeader  = 14 // of a frame: two bytes, eight of length, four of mask
)

// intake measures a peer's input frame by frame without reading its content: its amount, and how long a message has
// been unfinished. The library hides both, since pings, pongs and empty fragments never become a command.
type intake struct {
	limits *intakeLimits
	tokens float64
	filled time.Time

	header  [frameHeader]byte
	have    int    // bytes of header
	left    uint64 // payload bytes still to come
	payload int64  // bytes of messages so far, without headers and control frames
	open    bool   // a fragmented message is unfinished
	started time.Time
	closed  bool // the peer's close frame arrived
}

// intakeLimits bound the input of each peer.
type intakeLimits struct {
	rate, burst float64       // frames per second, and frames at once
	largest     uint64        // maximum bytes of a message; longer ones are refused elsewhere
	patience    time.Duration // for a whole message
	closeWait   time.Duration // for the answer to a close frame
}

func newIntake(limits *intakeLimits, now time.Time) intake {
	return intake{limits: limits, tokens: limits.burst, filled: now}
}

// count measures received bytes; it fails when the peer sends too much.
func (i *intake) count(data []byte, now time.Time) error {
	var cost float64
	for len(data) > 0 && !i.closed {
		if i.left > 0 {
			n := min(i.left, uint64(len(data)))
			i.left -= n
			if i.header[0]&opcodeMask < opClose {
				i.payload += int64(n) //nolint:gosec // bounded by len(data)
			}
			data = data[n:]
			if i.left == 0 {
				i.finish()
			}
			continue
		}
		i.header[i.have] = data[0]
		i.have++
		data = data[1:]
		length, whole := i.length()
		if !whole {
			continue
		}
		cost += i.cost(length)
		i.have, i.left = 0, length
		if length == 0 {
			i.finish()
		}
	}
	switch {
	case i.have == 0 && i.left == 0 && !i.open:
		i.started = time.Time{}
	case i.started.IsZero():
		i.started = now
	}
	i.tokens = min(i.limits.burst, i.tokens+now.Sub(i.filled).Seconds()*i.limits.rate) - cost
	i.filled = now
	if i.tokens < 0 {
		return errTooFast
	}
	return nil
}

// length returns the payload's length, once the header is complete.
func (i *intake) length() (length uint64, whole bool) {
	if i.have < 2 {
		return 0, false
	}
	length, want := uint64(i.header[1]&0x7f), 2
	switch length {
	case 126:
		want += 2
	case 127:
		want += 8
	}
	if i.header[1]&0x80 != 0 {
		want += 4
	}
	if i.have < want {
		return 0, false
	}
	switch length {
	case 126:
		length = uint64(binary.BigEndian.Uint16(i.header[2:]))
	case 127:
		length = binary.BigEndian.Uint64(i.header[2:])
	}
	return length, true
}

func (i *intake) cost(length uint64) float64 {
	cost := 1.0
	if i.header[0]&opcodeMask == 0 {
		cost = fragmentCost
	}
	return cost + float64(min(length, i.limits.largest))/byteCost
}

// finish ends a frame; its first byte is still in the header.
func (i *intake) finish() {
	switch opcode := i.header[0] & opcodeMask; {
	case opcode == opClose:
		i.closed = true
	case opcode < opClose:
		if i.open = i.header[0]&0x80 == 0; !i.open {
			i.started = time.Time{}
		}
	case !i.open:
		i.started = time.Time{}
	}
}
