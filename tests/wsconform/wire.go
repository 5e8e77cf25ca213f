// Package wsconform tests a websocket server against RFC 6455, case by case, over raw TCP.
//
// It owns the wire format of a conforming client, its violations, and the table of cases. It must never use a
// websocket library, because a library may tolerate violations. The server under test must answer the text message
// {"type":"ping"} with {"type":"pong"} and greet with one text message. The package assumes nothing else.
package wsconform

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 section 4.2.2 names it
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Opcode is the kind of a frame (RFC 6455 section 5.2).
type Opcode byte

// The opcodes in use; all others are reserved.
const (
	Continuation Opcode = 0x0
	Text         Opcode = 0x1
	Binary       Opcode = 0x2
	CloseFrame   Opcode = 0x8
	Ping         Opcode = 0x9
	Pong         Opcode = 0xA
)

// acceptGUID is the constant of section 1.3.
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// maxReadFrame limits the size of a frame that a test reads into memory.
const maxReadFrame = 64 << 20

// Frame is one frame in its wire format. RSV holds the three reserved bits, from 4 for RSV1 to 1 for RSV3.
type Frame struct {
	Final   bool
	RSV     byte
	Opcode  Opcode
	Payload []byte
}

// Conn is a client connection that validates nothing and tolerates nothing.
type Conn struct {
	net    net.Conn
	reader *bufio.Reader
}

// Request is a handshake to send. Zero values give a correct one.
type Request struct {
	// Address is host:port. Target is the request target. Headers are additional headers.
	Address, Target string
	Headers         [][2]string
	Protocols       []string
}

// NewConn returns a Conn that reads recorded frames. It cannot send.
func NewConn(recorded io.Reader) *Conn { return &Conn{reader: bufio.NewReader(recorded)} }

// Response is the server's response to a handshake.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Dial opens a connection. For a response other than 101 it returns no connection and no error.
func Dial(r Request, timeout time.Duration) (*Conn, Response, error) {
	raw, err := net.DialTimeout("tcp", r.Address, timeout)
	if err != nil {
		return nil, Response{}, fmt.Errorf("dial %s: %w", r.Address, err)
	}
	c := &Conn{net: raw, reader: bufio.NewReader(raw)}
	response, err := c.handshake(r, timeout)
	if err != nil || response.Status != http.StatusSwitchingProtocols {
		return nil, response, errors.Join(err, raw.Close())
	}
	return c, response, nil
}

func (c *Conn) handshake(r Request, timeout time.Duration) (answer Response, err error) {
	if err := c.net.SetDeadline(time.Now().Add(timeout)); err != nil {
		return answer, err
	}
	var nonce [16]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return answer, err
	}
	key := base64.StdEncoding.EncodeToString(nonce[:])
	var head strings.Builder
	fmt.Fprintf(&head, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: "+
		"Upgrade\r\nSec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n",
		r.Target, r.Address, key)
	if len(r.Protocols) > 0 {
		fmt.Fprintf(&head, "Sec-WebSocket-Protocol: %s\r\n", strings.Join(r.Protocols, ", "))
	}
	for _, h := range r.Headers {
		fmt.Fprintf(&head, "%s: %s\r\n", h[0], h[1])
	}
	head.WriteString("\r\n")
	if _, err := io.WriteString(c.net, head.String()); err != nil {
		return answer, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return answer, fmt.Errorf("read the handshake's response: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	answer = Response{Status: response.StatusCode, Header: response.Header}
	if answer.Status != http.StatusSwitchingProtocols {
		body, err := io.ReadAll(response.Body)
		answer.Body = string(body)
		return answer, err
	}
	if got := answer.Header.Get("Sec-WebSocket-Accept"); got != Accept(key) {
		return answer, fmt.Errorf("Sec-WebSocket-Accept is %q, want %q", got, Accept(key))
	}
	return answer, c.net.SetDeadline(time.Time{})
}

// Accept returns the Sec-WebSocket-Accept for a key.
func Accept(key string) string {
	sum := sha1.Sum([]byte(key + acceptGUID)) //nolint:gosec // see the import
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Encode encodes a frame as a client must: masked, with the shortest length.
func Encode(f Frame) []byte { return encode(f, true) }

// EncodeUnmasked encodes a frame without a mask, which a client must not do.
func EncodeUnmasked(f Frame) []byte { return encode(f, false) }

func encode(f Frame, masked bool) []byte {
	first := byte(f.Opcode)&0x0f | f.RSV<<4
	if f.Final {
		first |= 0x80
	}
	var flag byte
	if masked {
		flag = 0x80
	}
	out := []byte{first}
	switch n := len(f.Payload); {
	case n < 126:
		out = append(out, flag|byte(n))
	case n < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, flag|126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, flag|127), uint64(n))
	}
	if !masked {
		return append(out, f.Payload...)
	}
	mask := [4]byte{0x37, 0xfa, 0x21, 0x3d} // the RFC's own example; it need not be secret here
	out = append(out, mask[:]...)
	for i, b := range f.Payload {
		out = append(out, b^mask[i%4])
	}
	return out
}

// Send sends bytes unchanged.
func (c *Conn) Send(raw []byte) error {
	_, err := c.net.Write(raw)
	return err
}

// Write sends one final, masked frame.
func (c *Conn) Write(opcode Opcode, payload []byte) error {
	return c.Send(Encode(Frame{Final: true, Opcode: opcode, Payload: payload}))
}

// Read returns the next frame. Frames from a server must not be masked (section 5.1).
func (c *Conn) Read() (Frame, error) {
	var head [2]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Final: head[0]&0x80 != 0, RSV: head[0] >> 4 & 7, Opcode: Opcode(head[0] & 0x0f)}
	if head[1]&0x80 != 0 {
		return f, errors.New("the server masked a frame")
	}
	n := uint64(head[1] & 0x7f)
	switch n {
	case 126:
		var wide [2]byte
		if _, err := io.ReadFull(c.reader, wide[:]); err != nil {
			return f, err
		}
		if n = uint64(binary.BigEndian.Uint16(wide[:])); n < 126 {
			return f, errors.New("the server used a longer length than needed")
		}
	case 127:
		var wide [8]byte
		if _, err := io.ReadFull(c.reader, wide[:]); err != nil {
			return f, err
		}
		if n = binary.BigEndian.Uint64(wide[:]); n < 1<<16 {
			return f, errors.New("the server used a longer length than needed")
		}
	}
	if n > maxReadFrame {
		return f, fmt.Errorf("the server sent a frame of %d bytes", n)
	}
	f.Payload = make([]byte, n)
	_, err := io.ReadFull(c.reader, f.Payload)
	return f, err
}

// Deadline limits all later reads and writes.
func (c *Conn) Deadline(after time.Duration) error { return c.net.SetDeadline(time.Now().Add(after)) }

// Close closes the TCP connection without a close frame.
func (c *Conn) Close() error { return c.net.Close() }

// ClosePayload returns the body of a close frame.
func ClosePayload(code int, reason string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...) //nolint:gosec // tests pass what fits
}

// CloseCode returns the code in a close frame's body, 1005 if it has none.
func CloseCode(payload []byte) (code int, reason string) {
	if len(payload) < 2 {
		return 1005, ""
	}
	return int(binary.BigEndian.Uint16(payload)), string(payload[2:])
}
