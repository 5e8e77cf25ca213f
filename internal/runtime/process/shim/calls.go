package shim

import "slices"

// maxCalls bounds the remembered open calls; a server has far fewer.
const maxCalls = 256

// Call is a request line of a server that no server has settled.
type Call struct {
	// Label is the server's name of the call.
	Label string `json:"label"`
	// At is the end of the spool at the time of the write: the answer comes later.
	At int64 `json:"at"`
}

// opened stores a call before its write, so that the answer cannot come first.
func (s *server) opened(label string) {
	_, end, _, _ := s.spool.bounds()
	s.mu.Lock()
	defer s.mu.Unlock()
	// Never in place: a copy of the state may be in use.
	if s.state.Calls = append(s.state.Calls, Call{Label: label, At: end}); len(s.state.Calls) > maxCalls {
		s.state.Calls = s.state.Calls[1:]
	}
}

// settled removes a call.
func (s *server) settled(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Calls = slices.DeleteFunc(slices.Clone(s.state.Calls), func(c Call) bool { return c.Label == label })
}
