package rpc

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"harness/api/door"
	"harness/api/rpc/events"
	"harness/api/rpc/wire"
	"harness/stream"
)

// peer is the caller: a socket with its description and its watched sessions, or the caller of one POST.
type peer struct {
	*door.Caller
	server *Server

	mu          sync.Mutex
	gone        bool
	client      client
	initialized bool
	wanted      map[string]bool // the notifications it listed, nil for cdev's
	cursor      bool
	runtimes    bool
	watches     map[string]events.Place
	workspaces  map[string]bool
	allSpaces   bool
	focus       focus
}

// client is how a caller describes itself.
type client struct{ name, version string }

// focus is the session that a socket has on its screen.
type focus struct{ workspace, session, agent string }

func (s *Server) newPeer(r *http.Request, socket *stream.Socket) *peer {
	return &peer{Caller: door.NewCaller(r, socket, s.opts.Context), server: s, watches: map[string]events.Place{},
		workspaces: map[string]bool{}}
}

// OnMessage implements stream.Listener.
func (p *peer) OnMessage(message []byte) {
	p.server.desk.Run(p.Caller, func() ([]byte, func()) {
		outcome := wire.Serve(p.Context, message, p.call)
		return outcome.Reply, outcome.After
	}, func(reason door.Refusal, wait time.Duration) []byte { return p.refuse(message, refusal(reason, wait)) })
}

// legacy recognizes cdev's mobile client before its version 2.
func (p *peer) legacy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, _, _ := strings.Cut(p.client.version, ".")
	major, err := strconv.Atoi(first)
	return p.client.name == "cdev-ios" && (err != nil || major < 2)
}

// wants reports whether the socket gets notifications of a method.
func (p *peer) wants(method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wantsLocked(method)
}

func (p *peer) wantsLocked(method string) bool {
	if p.wanted == nil {
		return method != events.Harness
	}
	return p.wanted[method] || method == events.Gap
}

// see updates what the stream sends to the socket. It requires p.mu. Sockets that watch the same sessions share one
// ring.
func (p *peer) see() {
	if p.Socket == nil || p.gone {
		return
	}
	watches := maps.Clone(p.watches)
	spaces, all := maps.Clone(p.workspaces), p.allSpaces
	wanted := p.wanted
	wants := func(method string) bool { return method != events.Harness }
	if wanted != nil {
		wants = func(method string) bool { return wanted[method] }
	}
	sessions := slices.Sorted(maps.Keys(watches))
	key := strings.Join([]string{
		strings.Join(sessions, "\x01"), strings.Join(slices.Sorted(maps.Keys(spaces)), "\x01"), strconv.FormatBool(all),
		strconv.FormatBool(wanted == nil), strings.Join(slices.Sorted(maps.Keys(wanted)), "\x01"),
	}, "\x00")
	p.Socket.SetAudience(stream.Audience{Key: key, Sessions: sessions, Sees: func(frame *stream.Frame) bool {
		return wants(frame.Type) && events.Sees(frame,
			func(session string) bool { _, watched := watches[session]; return watched },
			func(workspace string) bool { return all || spaces[workspace] })
	}})
}

// watch starts to watch a session.
func (p *peer) watch(session string, place events.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, already := p.watches[session]; already || p.gone {
		return
	}
	p.server.directory.Use(session, place)
	p.watches[session] = place
	p.see()
}

// unwatch stops watching a session. With session "", it stops the runtime's first session in order. It returns the
// session it stopped watching.
func (p *peer) unwatch(session, agent string) (string, events.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range slices.Sorted(maps.Keys(p.watches)) {
		place := p.watches[one]
		if one == session || session == "" && place.Runtime == agent {
			delete(p.watches, one)
			p.server.directory.Drop(one)
			p.see()
			return one, place
		}
	}
	return "", events.Place{}
}

// forget ends everything the socket watches.
func (p *peer) forget() {
	p.setFocus(focus{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	for session := range p.watches {
		p.server.directory.Drop(session)
	}
	p.watches = map[string]events.Place{}
}
