package contract

import (
	"sync"
	"time"

	"harness/tests/wsconform"
)

// patience limits a wait for a recorded frame. Only a difference uses it up.
const patience = 6 * time.Second

// socket is one websocket of a replay and its recorded counterpart.
type socket struct {
	name string
	conn *wsconform.Conn
	// expected are the recorded frames so far that the test compares.
	expected []Record
	// wanted and missing count expected frames by thread and key. The wait for missing frames has timed out.
	wanted, missing map[string]int
	// paired counts the compared frames by thread and key.
	paired  map[string]int
	closing bool
	// cut is set when the recorder broke the connection. The state of anything in progress then is undefined.
	cut   bool
	ended chan struct{}

	mu     sync.Mutex
	news   chan struct{}
	frames []arrived
	// code is the server's close code, 1006 without a close frame.
	code   int
	reason string
}

// arrived is a frame of this server.
type arrived struct {
	Frame
	// control is pong for the answer to a ping.
	control string
	data    string
}

func newSocket(name string, conn *wsconform.Conn) *socket {
	s := &socket{
		name: name, conn: conn, wanted: map[string]int{}, missing: map[string]int{}, paired: map[string]int{},
		ended: make(chan struct{}), news: make(chan struct{}), code: 1006,
	}
	go s.read()
	return s
}

func (s *socket) read() {
	defer close(s.ended)
	deltas := map[string]bool{}
	for {
		f, err := s.conn.Read()
		if err != nil {
			return
		}
		switch f.Opcode {
		case wsconform.CloseFrame:
			s.mu.Lock()
			s.code, s.reason = wsconform.CloseCode(f.Payload)
			s.mu.Unlock()
			// The client answers a close (RFC 6455 section 5.5.1). The write may fail if the connection is already closed.
			_ = s.conn.Write(wsconform.CloseFrame, f.Payload)
			return
		case wsconform.Ping:
			_ = s.conn.Write(wsconform.Pong, f.Payload)
		case wsconform.Pong:
			s.arrive(arrived{control: "pong", data: string(f.Payload)})
		default:
			parsed, err := ParseFrame(f.Payload)
			if err != nil {
				s.arrive(arrived{data: string(f.Payload)})
				continue
			}
			if parsed.Ignored() {
				s.stir()
				continue
			}
			if id := parsed.DeltaItem(); id != "" {
				key := parsed.Type + " " + parsed.Method + " " + id
				if deltas[key] {
					s.stir()
					continue
				}
				deltas[key] = true
			}
			s.arrive(arrived{Frame: parsed, data: string(parsed.Reduced())})
		}
	}
}

func (s *socket) arrive(f arrived) {
	s.mu.Lock()
	s.frames = append(s.frames, f)
	s.mu.Unlock()
	s.stir()
}

// stir wakes waiters after any frame, even one that is not compared.
func (s *socket) stir() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

// snapshot returns the frames so far, and a channel that the next frame closes.
func (s *socket) snapshot() ([]arrived, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frames[:len(s.frames):len(s.frames)], s.news
}

func (s *socket) closed() (code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code, s.reason
}

func (s *socket) stop() {
	_ = s.conn.Close()
	<-s.ended
}

// id returns the key of a recorded or received frame, without its thread.
func (f arrived) id() string {
	if f.control != "" {
		return "control " + f.control
	}
	return f.key()
}

func recordID(r Record) string {
	if r.Control != "" {
		return "control " + r.Control
	}
	return Frame{Type: r.Type, Method: r.Method, Detail: r.Detail}.key()
}
