package shim

import "slices"

// maxCalls bounds the open calls remembered; a server has far fewer under way.
const maxCalls = 256

// Call is a line a server wrote that asks for an answer, which no server has said to have got.
type Call struct {
	// Label is whatever the server called it.
	Label string `json:"label"`
	// At is where the spool ended when it was written: the answer comes after that.
	At int64 `json:"at"`
}

// opened notes a call before it is written, so that an answer can not be earlier than the note.
func (s *server) opened(label string) {
	_, end, _, _ := s.spool.bounds()
	s.mu.Lock()
	defer s.mu.Unlock()
	// Never in place: a copy of the state may be on its way somewhere.
	if s.state.Calls = append(s.state.Calls, Call{Label: label, At: end}); len(s.state.Calls) > maxCalls {
		s.state.Calls = s.state.Calls[1:]
	}
}

// settled forgets a call.
func (s *server) settled(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Calls = slices.DeleteFunc(slices.Clone(s.state.Calls), func(c Call) bool { return c.Label == label })
}
