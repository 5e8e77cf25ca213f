package contract

import (
	"sync"
	"time"

	"harness/tests/wsconform"
)

// patience bounds a wait for what the recording shows; only what differs ever uses it up.
const patience = 6 * time.Second

// socket is one websocket of a replay and its recorded twin.
type socket struct {
	name string
	conn *wsconform.Conn
	// expected are the recorded frames so far; compared frames only.
	expected []Record
	// wanted and missing count expected frames by thread and key: missing ones have been waited for in vain.
	wanted, missing map[string]int
	// paired counts the frames compared, by thread and key.
	paired  map[string]int
	closing bool
	// cut is set when the recorder broke the connection: what was under way then is undefined.
	cut   bool
	ended chan struct{}

	mu     sync.Mutex
	news   chan struct{}
	frames []arrived
	// code is how the server closed, 1006 without a close frame.
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
			// The peer of a close is answered (RFC 6455 section 5.5.1); a connection that is gone already does not mind.
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

// stir wakes waiters after any frame, though perhaps none that is compared.
func (s *socket) stir() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

// snapshot is what arrived so far, and a channel closed by the next arrival.
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

// key of a recorded or arrived frame, without its thread.
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
