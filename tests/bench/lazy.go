package main

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lazyReader is a socket with a tiny receive buffer that reads nothing before a call of fate. It follows everything,
// so a flood in another session fills its buffers and stalls it early.
type lazyReader struct{ socket *socket }

func newLazyReader(s *server) (*lazyReader, error) {
	target, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(target.Port())
	if err != nil {
		return nil, err
	}
	opened, err := openSocket(port, "", 2048)
	if err != nil {
		return nil, err
	}
	return &lazyReader{opened}, nil
}

// fate reads the rest and reports how the server ended the connection.
func (l *lazyReader) fate() string {
	defer func() { _ = unix.Close(l.socket.fd) }()
	_ = unix.SetsockoptTimeval(l.socket.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3})
	counted := &clientGroup{}
	chunk := make([]byte, 64<<10)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		n, err := unix.Read(l.socket.fd, chunk)
		if n > 0 {
			counted.feed(l.socket, chunk[:n])
			if l.socket.opcode == 8 && l.socket.left == 0 && len(l.socket.body) >= 2 {
				return fmt.Sprintf("closed with %d after %d frames", binary.BigEndian.Uint16(l.socket.body), counted.frames.Load())
			}
			continue
		}
		if err != nil {
			return fmt.Sprintf("%v after %d frames", err, counted.frames.Load())
		}
		return fmt.Sprintf("connection ended after %d frames", counted.frames.Load())
	}
	return "still open"
}
