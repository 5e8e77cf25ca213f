package contract

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"harness/tests/wsconform"
)

// Target is the server under test, with actions that no client can take.
type Target interface {
	// Address is host:port of the running server; a restart may change it.
	Address() string
	// Restart ends the server with SIGTERM and restarts it on the same data.
	Restart() error
	// KillRuntime kills the codex process and returns once the server noticed.
	KillRuntime() error
	// MarkSystem makes a session system-owned, like the sessions of the orchestrator's workers.
	MarkSystem(sessionID string) error
}

// replay is one topic in progress.
type replay struct {
	topic   Topic
	target  Target
	ids     *bindings
	sockets map[string]*socket
	opened  []*socket
	// handshakes are the responses to opens whose recorded handshake is still to come.
	handshakes map[string]handshake
	unclosed   []Record
	// unrecorded are the sessions to prepare on their first use.
	unrecorded map[string]bool
	// asked are the sessions that requests name.
	asked map[string]bool
	// passed are threads with recorded frames that the replay skipped, because their id had no counterpart here yet.
	passed map[string]bool
	// unsent are the messages of sessions prepared early.
	unsent map[string]Preparation
	report *Report
	// retries is the total time left for repeated reads of a state not reached yet.
	retries time.Duration
	// secret signs the recorded bearer tokens again.
	secret string
	// unserved is set while the frames recorded after a request are those of a route that this server lacks.
	unserved bool
}

type handshake struct {
	response wsconform.Response
	err      error
}

// Replay runs the recording of a topic against the target.
func Replay(topic Topic, target Target, places []Place) (*Report, error) {
	records, err := Load(topic.Name)
	if err != nil {
		return nil, err
	}
	r := &replay{
		topic: topic, target: target, ids: newBindings(places), sockets: map[string]*socket{},
		handshakes: map[string]handshake{}, report: &Report{Topic: topic.Name}, retries: 2 * patience,
		unrecorded: unrecorded(records), asked: asked(records), passed: map[string]bool{}, unsent: map[string]Preparation{},
	}
	defer func() {
		for _, s := range r.opened {
			s.stop()
		}
	}()
	if err := r.prepareAll(); err != nil {
		return nil, err
	}
	for i, record := range records {
		if err := r.step(record); err != nil {
			return nil, fmt.Errorf("%s, record %d: %w", topic.Name, i+1, err)
		}
	}
	for _, s := range r.opened {
		if !s.cut {
			r.wait(s)
			r.compareOrder(s)
		}
	}
	return r.report, nil
}

func (r *replay) step(record Record) error {
	switch record.Kind {
	case KindMeta:
		r.secret = record.Env["AGENT_EXTENSION_RBAC_JWT_SECRET"]
	case KindHTTP:
		return r.exchange(record)
	case KindOpen:
		if err := r.reach(record.Path); err != nil {
			return err
		}
		r.open(record)
	case KindUpgrade, KindRefused:
		r.compareHandshake(record)
	case KindFrame:
		if err := r.reach(record.Thread); err != nil {
			return err
		}
		r.expect(record)
	case KindSend:
		return r.send(record)
	case KindClosed:
		r.compareClose(record)
	case KindRaw:
		return r.raw(record)
	case KindNote:
		return r.note(record)
	}
	return nil
}

func (r *replay) note(record Record) error {
	r.waitAll()
	switch {
	case strings.Contains(record.Name, "restart"):
		if err := r.target.Restart(); err != nil {
			return err
		}
	case strings.Contains(record.Name, "SIGKILL"):
		if err := r.target.KillRuntime(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no way to do %q", record.Name)
	}
	for _, record := range r.unclosed {
		r.closed(record)
	}
	r.unclosed = nil
	return nil
}

// open dials. The comparison waits for the recorded handshake.
func (r *replay) open(record Record) {
	r.waitAll()
	conn, response, err := wsconform.Dial(wsconform.Request{
		Address: r.target.Address(), Target: r.ids.path(record.Path), Headers: record.Headers, Protocols: record.Protocols,
	}, patience)
	r.handshakes[record.Conn] = handshake{response, err}
	if conn != nil {
		s := newSocket(record.Conn, conn)
		r.sockets[record.Conn] = s
		r.opened = append(r.opened, s)
	}
}

func (r *replay) compareHandshake(record Record) {
	made := r.handshakes[record.Conn]
	c := comparison{bindings: r.ids}
	if made.err != nil {
		c.differ("handshake", "an answer", made.err.Error())
	} else {
		c.response(record, answer{status: made.response.Status, header: made.response.Header, body: made.response.Body})
	}
	r.verdict(Result{Name: record.Conn, Subject: "GET websocket " + record.Conn, Differences: c.found})
}

func (r *replay) verdict(result Result) {
	if len(result.Differences) > 0 && result.Outcome == Equal {
		result.Outcome = Different
	}
	r.report.add(result)
}

// send sends a client message to the server, once everything recorded before it has happened.
func (r *replay) send(record Record) error {
	s := r.sockets[record.Conn]
	if s == nil {
		return nil // its handshake was refused, and the test compares that elsewhere
	}
	r.wait(s)
	switch record.Control {
	case "close":
		r.waitAll()
		s.closing = true
		payload := []byte(nil)
		if record.Code != 0 {
			payload = wsconform.ClosePayload(record.Code, record.Reason)
		}
		return s.conn.Write(wsconform.CloseFrame, payload)
	case "ping":
		return s.conn.Write(wsconform.Ping, []byte(record.Data))
	}
	opcode := wsconform.Text
	if record.Binary {
		opcode = wsconform.Binary
	}
	if err := s.conn.Write(opcode, []byte(r.ids.outgoing(record.Data))); err != nil {
		return err
	}
	return nil
}

func (r *replay) compareClose(record Record) {
	s := r.sockets[record.Conn]
	switch {
	case s == nil:
	case s.closing:
		r.closed(record)
	case record.Code == 1006:
		s.stop() // the recorder closed the connection
		s.cut = true
	default:
		r.unclosed = append(r.unclosed, record)
	}
}

func (r *replay) closed(record Record) {
	s := r.sockets[record.Conn]
	c := comparison{bindings: r.ids}
	select {
	case <-s.ended:
		code, reason := s.closed()
		if code != record.Code || reason != record.Reason {
			c.differ("close", fmt.Sprintf("%d %q", record.Code, record.Reason), fmt.Sprintf("%d %q", code, reason))
		}
	case <-time.After(patience):
		c.differ("close", fmt.Sprint(record.Code), "an open connection")
	}
	r.verdict(Result{Name: record.Conn, Subject: "close " + record.Conn, Differences: c.found})
}

// raw sends bytes after a handshake and compares the frames that come back.
func (r *replay) raw(record Record) error {
	sent, errSent := hex.DecodeString(record.Sent)
	want, errWant := hex.DecodeString(record.Received)
	if err := errors.Join(errSent, errWant); err != nil {
		return err
	}
	conn, response, err := wsconform.Dial(wsconform.Request{Address: r.target.Address(), Target: "/api/stream"}, patience)
	if err != nil || conn == nil {
		return fmt.Errorf("raw socket refused: %d %w", response.Status, err)
	}
	c := comparison{bindings: r.ids}
	twin := wsconform.NewConn(bytes.NewReader(want))
	err = errors.Join(conn.Send(sent), conn.Deadline(patience))
	for err == nil {
		wanted, end := twin.Read()
		if end != nil {
			break
		}
		var f wsconform.Frame
		if f, err = conn.Read(); err != nil {
			c.differ("received", fmt.Sprintf("opcode %d %q", wanted.Opcode, wanted.Payload), err.Error())
			err = nil
			break
		}
		place, a, b := "received", string(wanted.Payload), string(f.Payload)
		if wanted.Opcode == wsconform.CloseFrame && f.Opcode == wanted.Opcode && len(a) >= 2 && len(b) > 2 && a == b[:2] {
			place = "close reason"
		}
		if f.Opcode != wanted.Opcode || a != b {
			c.differ(place, fmt.Sprintf("opcode %d %q", wanted.Opcode, a), fmt.Sprintf("opcode %d %q", f.Opcode, b))
		}
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	r.verdict(Result{Name: record.Name, Subject: "raw " + record.Name, Differences: c.found})
	return conn.Close()
}
