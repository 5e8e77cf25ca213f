package door

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"harness/stream"
)

// View is what a socket keeps of a session that it follows. End ends what it gets.
type View interface {
	comparable
	End()
}

// Views are the sessions that a socket follows.
type Views[V View] struct {
	socket   *stream.Socket
	protocol string

	mu   sync.Mutex // held before the locks of a view
	gone bool
	of   map[string]V
}

// NewViews creates the Views of a socket, which end with it.
func NewViews[V View](socket *stream.Socket, protocol string) *Views[V] {
	return &Views[V]{socket: socket, protocol: protocol, of: map[string]V{}}
}

// Open begins to follow a session, or begins anew: before is the view until now, whose end is begin's task, or zero.
// It returns false once the socket has ended.
func (v *Views[V]) Open(session string, begin func(before V) V) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return false
	}
	v.of[session] = begin(v.of[session])
	v.listen()
	return true
}

// Of returns the view of a session, or zero.
func (v *Views[V]) Of(session string) V {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.of[session]
}

// All returns the views of all sessions.
func (v *Views[V]) All() []V {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.of))
}

// Drop ends what the socket gets of a session, and reports whether it followed it.
func (v *Views[V]) Drop(session string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	one, is := v.of[session]
	if is {
		delete(v.of, session)
		one.End()
		v.listen()
	}
	return is
}

// Close ends what the socket gets of all sessions.
func (v *Views[V]) Close() {
	v.mu.Lock()
	all := v.of
	v.of, v.gone = nil, true
	v.mu.Unlock()
	for _, one := range all {
		one.End()
	}
}

// listen reports the sessions to the stream, so that their live text comes from other nodes. It requires mu.
func (v *Views[V]) listen() {
	sessions := slices.Sorted(maps.Keys(v.of))
	v.socket.SetAudience(stream.Audience{Key: v.protocol + "\x00" + strings.Join(sessions, "\x00"), Sessions: sessions,
		Sees: func(*stream.Frame) bool { return false }})
}
