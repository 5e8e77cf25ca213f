package wsconform

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// Case is one conversation with the server under test. Its ID is that of the matching case in the well-known Autobahn
// suite, if any.
type Case struct {
	ID, Name string
	Steps    []Step
	// Failed means that the last step ends with the server failing the connection. The server must then also close it.
	Failed bool
	// Rest is the rest of the client's last frame. The client must finish it before it can answer the close.
	Rest []byte
}

// Step sends bytes and then expects exactly these frames, in this order.
type Step struct {
	Send []byte
	// Chop sends the bytes in chunks of this size, each in a separate TCP segment. 0 sends them at once.
	Chop int
	Want []Want
}

// Want is an expected frame from the server.
type Want struct {
	Opcode Opcode
	// Payload is compared unless it is nil.
	Payload []byte
	// Code is the code of a close frame. 1005 means none.
	Code int
	// Optional frames may be missing.
	Optional bool
}

// The commands that the server under test understands, and its responses.
const (
	pingCommand = `{"type":"ping"}`
	pongAnswer  = `{"type":"pong"}`
)

// patience limits every read of a case. Only a failure uses it up.
const patience = 30 * time.Second

// Run runs a case against the server. The error describes the violation.
func Run(address, target string, c Case) (err error) {
	conn, response, err := Dial(Request{Address: address, Target: target}, patience)
	if err != nil {
		return err
	}
	if conn == nil {
		return fmt.Errorf("the handshake was refused: %d %s", response.Status, response.Body)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.Deadline(patience); err != nil {
		return err
	}
	if greeting, err := conn.Read(); err != nil || greeting.Opcode != Text {
		return fmt.Errorf("no greeting: opcode %d, %w", greeting.Opcode, err)
	}
	closed := false
	for i, step := range c.Steps {
		if err := conn.step(step); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		for _, want := range step.Want {
			closed = closed || want.Opcode == CloseFrame
		}
	}
	if closed {
		return conn.gone(c.Failed, c.Rest)
	}
	// Whatever came before, the connection must still work and close properly.
	if err := conn.step(Step{Send: text(pingCommand), Want: wantText(pongAnswer)}); err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	if err := conn.step(Step{Send: closing(1000, ""), Want: wantClose(1000)}); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	return conn.gone(false, nil)
}

func (c *Conn) step(step Step) error {
	if err := c.Deadline(patience); err != nil {
		return err
	}
	rest := step.Send
	for len(rest) > 0 {
		n := len(rest)
		if step.Chop > 0 {
			n = min(n, step.Chop)
		}
		if err := c.Send(rest[:n]); err != nil {
			if len(step.Want) > 0 && step.Want[len(step.Want)-1].Opcode == CloseFrame {
				break // the server may fail the connection before it has read everything
			}
			return err
		}
		rest = rest[n:]
	}
	for i := 0; i < len(step.Want); i++ {
		f, err := c.Read()
		if err != nil {
			return fmt.Errorf("want opcode %d, got %w", step.Want[i].Opcode, err)
		}
		if step.Want[i].Optional && f.Opcode != step.Want[i].Opcode {
			i++
		}
		if err := f.check(step.Want[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f Frame) check(want Want) error {
	if !f.Final || f.RSV != 0 {
		return fmt.Errorf("the server sent a frame with fin %v and rsv %d", f.Final, f.RSV)
	}
	if f.Opcode != want.Opcode {
		return fmt.Errorf("want opcode %d, got %d %.80q", want.Opcode, f.Opcode, f.Payload)
	}
	if want.Payload != nil && !bytes.Equal(f.Payload, want.Payload) {
		return fmt.Errorf("want %.80q, got %.80q", want.Payload, f.Payload)
	}
	if f.Opcode == CloseFrame {
		if code, _ := CloseCode(f.Payload); code != want.Code {
			return fmt.Errorf("want close %d, got %d %.80q", want.Code, code, f.Payload)
		}
		if len(f.Payload) == 1 || len(f.Payload) > 125 {
			return fmt.Errorf("the close frame has %d bytes", len(f.Payload))
		}
	}
	return nil
}

// gone expects the server to close the TCP connection without another frame. If the server failed the connection, the
// client first answers its close.
func (c *Conn) gone(failed bool, rest []byte) error {
	if failed {
		_ = c.Send(rest)
		_ = c.Write(CloseFrame, ClosePayload(1000, "")) // it may have closed already
	}
	f, err := c.Read()
	switch {
	case err == nil:
		return fmt.Errorf("after its close frame the server sent opcode %d %.80q", f.Opcode, f.Payload)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return nil
	}
	return fmt.Errorf("the server did not close the connection: %w", err)
}

func text(payload string) []byte { return frame(Text, payload) }

func frame(opcode Opcode, payload string) []byte {
	return Encode(Frame{Final: true, Opcode: opcode, Payload: []byte(payload)})
}

func part(opcode Opcode, final bool, payload string) []byte {
	return Encode(Frame{Final: final, Opcode: opcode, Payload: []byte(payload)})
}

func closing(code int, reason string) []byte {
	return frame(CloseFrame, string(ClosePayload(code, reason)))
}

func join(frames ...[]byte) []byte { return bytes.Join(frames, nil) }

func wantText(payload string) []Want { return []Want{{Opcode: Text, Payload: []byte(payload)}} }

func wantPong(payload string) []Want { return []Want{{Opcode: Pong, Payload: []byte(payload)}} }

func wantClose(code int) []Want { return []Want{{Opcode: CloseFrame, Code: code}} }

// anyText expects a response with any text.
func anyText() []Want { return []Want{{Opcode: Text}} }
