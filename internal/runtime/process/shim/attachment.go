package shim

import (
	"bufio"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// helloLimit is how long a connection may take to send its hello.
	helloLimit = 5 * time.Second
	// handOver is how long an attaching server waits for the input of the earlier one.
	handOver = 200 * time.Millisecond
	// maxStderrLines is the number of lines kept for a server that reads slowly; the log has them all.
	maxStderrLines = 64
)

// attachment is the currently attached server.
type attachment struct {
	conn net.Conn
	// received is closed after all input of the server was processed.
	received chan struct{}
	// The spool's lock guards gone and lines, so that one wait covers everything to send.
	gone  bool
	lines [][]byte
}

func (s *server) accept(listener *socket) {
	var group sync.WaitGroup
	defer group.Wait()
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		for conn := range open {
			_ = conn.Close()
		}
	}()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		mu.Lock()
		open[conn] = true
		mu.Unlock()
		group.Go(func() {
			defer func() {
				_ = conn.Close()
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
			}()
			s.serve(conn)
		})
	}
}

// serve answers one connection.
func (s *server) serve(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(helloLimit))
	reader := bufio.NewReaderSize(conn, 4<<10)
	var h hello
	if err := readJSONFrame(reader, kindHello, &h); err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	w := welcome{Protocol: common(h, OldestProtocol, Protocol), From: h.From}
	oldest, end, _, _ := s.spool.bounds()
	if err := s.checkPeer(conn); err != nil {
		// Both logs get it: this may be an attack, or a second server in the wrong place.
		s.stderrLine([]byte("shim: refused a connection from " + err.Error()))
		w.Code, w.Error = codePeer, err.Error()
		_ = writeJSONFrame(conn, kindWelcome, w)
		return
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(h.Token), []byte(s.token)) != 1:
		w.Code, w.Error = codeToken, "the token is not this shim's"
		_ = writeJSONFrame(conn, kindWelcome, w)
		return
	case w.Protocol == 0:
		w.Code = codeProtocol
		w.Error = fmt.Sprintf("this shim speaks protocol %d to %d", OldestProtocol, Protocol)
	case h.Op == opAttach && (h.From < oldest || h.From > end):
		w.Code = codeOffset
		w.Error = fmt.Sprintf("the spool holds offsets %d to %d, not %d", oldest, end, h.From)
	}
	switch {
	case w.Error != "":
	case h.Op == opStop:
		s.stop(0)
		<-s.ended
	case h.Op == opAttach:
		s.attach(conn, reader, w)
		return
	}
	w.State = s.status()
	_ = writeJSONFrame(conn, kindWelcome, w)
}

// attach serves one server until it disconnects. It disconnects an earlier server: a data directory has one owner,
// and the latest server counts.
func (s *server) attach(conn net.Conn, reader *bufio.Reader, w welcome) {
	a := &attachment{conn: conn, received: make(chan struct{})}
	s.mu.Lock()
	before := s.attached
	a.lines, s.unsentStderr = s.unsentStderr, nil
	s.attached = a
	s.attachments++
	w.Attachment = s.attachments
	s.idle.Stop()
	s.mu.Unlock()
	if before != nil {
		// The socket may still have input of a dead server. Process that first.
		limit := time.NewTimer(handOver)
		select {
		case <-before.received:
		case <-limit.C:
		}
		limit.Stop()
		s.cut(before)
	}
	w.State = s.status()
	if err := writeJSONFrame(conn, kindWelcome, w); err != nil {
		close(a.received)
		s.detach(a)
		return
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.send(a, w.From)
	}()
	slim() // the memory that the handshake used
	s.receive(reader)
	close(a.received)
	s.detach(a)
	<-sent
}

// detach ends an attachment; nil means the current one.
func (s *server) detach(a *attachment) {
	s.mu.Lock()
	if a == nil {
		a = s.attached
	}
	if a == nil {
		s.mu.Unlock()
		return
	}
	if s.attached == a {
		s.attached = nil
		if s.state.Exit == nil {
			s.idle.Reset(s.spec.DetachGrace)
		}
	}
	s.mu.Unlock()
	s.cut(a)
	select {
	case s.left <- struct{}{}:
	default:
	}
}

func (s *server) cut(a *attachment) {
	s.spool.locked(func() { a.gone = true })
	_ = a.conn.Close()
}

// send writes stdout from the offset on, stderr as it arrives, and finally the exit.
func (s *server) send(a *attachment, offset int64) {
	source := segments{dir: s.spool.dir}
	defer source.close()
	buffer := make([]byte, headerBytes+dataBytes)
	var lines [][]byte
	var gone, stalled, shown bool
	for {
		end, closed := s.spool.wait(offset, func() bool { return a.gone || len(a.lines) > 0 || s.spool.stalled != shown })
		s.spool.locked(func() { gone, stalled, lines, a.lines = a.gone, s.spool.stalled, a.lines, nil })
		if gone {
			return
		}
		if stalled != shown {
			if writeJSONFrame(a.conn, kindStalled, stalled) != nil {
				return
			}
			shown = stalled
		}
		for _, line := range lines {
			if writeFrame(a.conn, kindStderr, line) != nil {
				return
			}
		}
		if end == offset {
			if closed {
				s.sendExit(a)
				return
			}
			continue
		}
		n, err := source.readAt(buffer[headerBytes:headerBytes+min(dataBytes, int(end-offset))], offset)
		if err != nil {
			s.fail("its output could not be read back: " + err.Error())
			_ = a.conn.Close()
			return
		}
		putHeader(buffer, kindData, n)
		if _, err := a.conn.Write(buffer[:headerBytes+n]); err != nil {
			return
		}
		offset += int64(n)
	}
}

// sendExit sends the runtime's exit after all its output.
func (s *server) sendExit(a *attachment) {
	if err := writeJSONFrame(a.conn, kindExit, s.exit()); err != nil {
		return
	}
	s.mu.Lock()
	s.exitSent = true
	s.mu.Unlock()
}

// receive processes the input of the attached server until it disconnects.
func (s *server) receive(reader *bufio.Reader) {
	var buffer []byte
	for {
		k, length, err := nextHeader(reader)
		if err != nil {
			return
		}
		if k == kindLine || k == kindCall {
			if err := s.stdin.readLine(reader, length, k == kindCall, &buffer); err != nil {
				if !errors.Is(err, errCut) {
					s.fail("its input could not be written: " + err.Error())
				}
				return
			}
			continue
		}
		if length > controlLimit {
			// Skip unknown frames.
			if _, err := io.CopyN(io.Discard, reader, length); err != nil {
				return
			}
			continue
		}
		payload, err := readPayload(reader, length)
		if err != nil {
			return
		}
		s.control(k, payload)
	}
}

func (s *server) control(k kind, payload []byte) {
	switch k {
	case kindAck:
		if len(payload) == 8 {
			s.spool.ack(int64(binary.BigEndian.Uint64(payload))) //nolint:gosec // offsets are positive; a wrong one is refused
		}
	case kindSignal:
		var in signalled
		if json.Unmarshal(payload, &in) == nil {
			_ = s.signal(in)
		}
	case kindDone:
		s.settled(string(payload))
	case kindNote:
		if json.Valid(payload) {
			s.note(payload)
		}
	case kindStop:
		var in stopping
		_ = json.Unmarshal(payload, &in)
		s.stop(time.Duration(in.GraceMS) * time.Millisecond)
	}
}
