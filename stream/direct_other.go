//go:build !linux

package stream

import "net"

// direct does not exist on other systems. There, a goroutine that may block writes the joined batch.
type direct struct{}

type vectors struct{}

func newVectors() *vectors { return nil }

func newDirect(net.Conn, *vectors) *direct { return nil }

func (*direct) write([]*Message) (sent int, rest []byte, err error) {
	panic("stream: no direct writes here")
}
