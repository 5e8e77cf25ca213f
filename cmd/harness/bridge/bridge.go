// Package bridge connects a program's standard input and output to a websocket of a server: one message for each line.
//
// It owns the pipe and what a new connection needs after a lost one. It must never know what a message means beyond
// that.
package bridge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Protocol says what a new connection needs.
type Protocol interface {
	// Sent notes a message of the program, and returns what is sent.
	Sent(message []byte) []byte
	// Received notes a message of the server, and reports whether the program gets it.
	Received(message []byte) bool
	// Again returns the messages that a new connection begins with.
	Again() [][]byte
	// Lost returns what the program gets for messages whose connection was lost.
	Lost() [][]byte
}

// maxMessage is the maximum length of a message in bytes.
const maxMessage = 64 << 20

// longestPause is the longest time between attempts to connect.
const longestPause = 8 * time.Second

// Bridge is a pipe between a program and a server.
type Bridge struct {
	URL      string
	Header   http.Header
	Protocol Protocol

	mu  sync.Mutex
	out io.Writer
}

// maxWaiting is how many messages of a program wait for a connection. Beyond that, the program's end is seen late.
const maxWaiting = 256

// closing limits how long the end of a program waits until the server has read everything.
const closing = time.Second

// Run copies messages until in ends. The first connection is tried once; a lost one is tried again until in ends.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	b.out = out
	conn, err := b.dial(ctx)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", b.URL, err)
	}
	program, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines := make(chan []byte, maxWaiting)
	go func() { end(cmp.Or(read(program, in, lines), io.EOF)) }() // in may never end
	for b.serve(ctx, program, conn, lines) {
		if conn, err = b.reconnect(program); err != nil {
			break
		}
	}
	if cause := context.Cause(program); err == nil || errors.Is(cause, io.EOF) {
		err = cause
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// read passes on the lines of a program.
func read(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxMessage)
	for scan.Scan() {
		if line := bytes.TrimSpace(scan.Bytes()); len(line) > 0 {
			select {
			case lines <- bytes.Clone(line):
			case <-ctx.Done():
				return nil
			}
		}
	}
	return scan.Err()
}

// serve copies messages until the program or the connection ends, and closes the connection. It reports whether the
// program goes on.
func (b *Bridge) serve(ctx, program context.Context, conn *websocket.Conn, lines <-chan []byte) (goesOn bool) {
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for {
			_, message, err := conn.Read(ctx)
			if err != nil || b.Protocol.Received(message) && b.write(message) != nil {
				return
			}
		}
	}()
	defer func() { <-lost }()
	for {
		select {
		case line := <-lines:
			if !send(ctx, conn, b.Protocol.Sent(line)) {
				_ = conn.CloseNow() // it is lost
				return true
			}
		case <-lost:
			_ = conn.CloseNow()
			return true
		case <-program.Done():
			for len(lines) > 0 && send(ctx, conn, b.Protocol.Sent(<-lines)) {
			}
			hangUp(ctx, conn)
			return false
		}
	}
}

// hangUp closes a connection once its server has read everything, or does not answer.
func hangUp(ctx context.Context, conn *websocket.Conn) {
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	_ = conn.Ping(ctx) // the server may be gone
	_ = conn.CloseNow()
}

// send reports whether a connection took the messages; otherwise it is lost.
func send(ctx context.Context, conn *websocket.Conn, messages ...[]byte) bool {
	for _, message := range messages {
		if err := conn.Write(ctx, websocket.MessageText, message); err != nil {
			return false
		}
	}
	return true
}

func (b *Bridge) write(message []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.out.Write(append(bytes.Clone(message), '\n'))
	return err
}

func (b *Bridge) dial(ctx context.Context) (*websocket.Conn, error) {
	conn, answer, err := websocket.Dial(ctx, b.URL, &websocket.DialOptions{HTTPHeader: b.Header}) //nolint:bodyclose // the library closes it
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			return nil, fmt.Errorf("the server answers %s: check its URL and your token (harness login)", answer.Status)
		}
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	return conn, nil
}

// reconnect connects again, and begins as the protocol needs it.
func (b *Bridge) reconnect(ctx context.Context) (*websocket.Conn, error) {
	for _, message := range b.Protocol.Lost() {
		if err := b.write(message); err != nil {
			return nil, err
		}
	}
	for pause := time.Duration(0); ; pause = min(max(time.Second, 2*pause), longestPause) {
		if err := wait(ctx, pause); err != nil {
			return nil, err
		}
		conn, err := b.dial(ctx)
		if err != nil {
			continue
		}
		if send(ctx, conn, b.Protocol.Again()...) {
			return conn, nil
		}
		_ = conn.CloseNow()
	}
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
