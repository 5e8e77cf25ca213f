//go:build !linux

package stream

import "net"

// direct is what other systems do without: there a batch is joined, and written by a goroutine that may wait.
type direct struct{}

type vectors struct{}

func newVectors() *vectors { return nil }

func newDirect(net.Conn, *vectors) *direct { return nil }

func (*direct) write([]*Message) (sent int, rest []byte, err error) {
	panic("stream: no direct writes here")
}
