// Package rpc serves JSON-RPC 2.0. A client calls initialize and gets the runtimes, their capabilities and the
// methods to call. Every later call names a runtime and goes to it.
//
// It owns the methods, their wire names and the messages of their errors. Package operations does the work, as for
// REST. This package must never know a runtime's protocol, SQL, or how bytes leave a socket.
package rpc

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"harness/api/door"
	"harness/api/rest"
	"harness/api/rpc/events"
	"harness/api/rpc/registry"
	"harness/api/rpc/wire"
	"harness/internal/lib/javascript"
	"harness/internal/services/session"
	"harness/stream"
)

// Options are the dependencies of a Server. Operations is required; zero fields mean the defaults given below.
type Options struct {
	Operations *door.Operations
	// Version is the version of the server.
	Version string
	// Strict refuses other methods on a socket before initialize.
	Strict bool
	// Rate limits the messages of one caller per minute; 0 means no limit.
	Rate int
	// Yolo lets clients disable the sandbox and approvals.
	Yolo bool
	// Owns reports whether this node owns a session; required where other nodes carry out calls.
	Owns func(session.Session) bool
	// Reads delays a response until the data it contains may be shown. If nil, there is no delay.
	Reads rest.Reads
	// Heartbeat is the time between heartbeats (30 s).
	Heartbeat time.Duration
	// Context, when set, adds the values that the server's services need to the context of each call.
	Context func(ctx context.Context) context.Context
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Server executes calls, and sends notifications to sockets. Start it before it serves.
type Server struct {
	opts      Options
	methods   map[string]*method
	directory *events.Directory
	feed      *events.Feed
	stamp     registry.Stamp
	desk      *door.Desk
	began     time.Time
	bodies    rest.Bodies

	mu    sync.Mutex
	peers map[*peer]struct{}
	beats sync.WaitGroup
}

// New creates a Server. It fails if the registry names a method that is not in the table.
func New(options Options) (*Server, error) {
	if options.Heartbeat <= 0 {
		options.Heartbeat = 30 * time.Second
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Context == nil {
		options.Context = func(ctx context.Context) context.Context { return ctx }
	}
	directory := events.NewDirectory()
	s := &Server{opts: options, methods: map[string]*method{}, directory: directory, feed: events.NewFeed(directory),
		desk: door.NewDesk(options.Rate, options.Clock), began: options.Clock(), peers: map[*peer]struct{}{}}
	for _, m := range table() {
		if s.methods[m.name] != nil {
			return nil, fmt.Errorf("JSON-RPC method %s is in the table twice", m.name)
		}
		s.methods[m.name] = &m
	}
	for _, name := range registry.Named() {
		if s.methods[name] == nil {
			return nil, fmt.Errorf("the runtime registry names the method %s, which is not served", name)
		}
	}
	return s, nil
}

// Start begins the heartbeats.
func (s *Server) Start(context.Context) error {
	s.beats.Go(s.beat)
	return nil
}

// Stop accepts no more messages and waits, within ctx, for messages in progress. The stream closes the sockets.
func (s *Server) Stop(ctx context.Context) error {
	err := s.desk.Stop(ctx)
	s.beats.Wait()
	if err != nil {
		return fmt.Errorf("stop JSON-RPC: %w", err)
	}
	return nil
}

// beat sends heartbeats, because clients treat silence as a dead connection.
func (s *Server) beat() {
	ticker := time.Tick(s.opts.Heartbeat)
	for sequence := 1; ; sequence++ {
		select {
		case <-s.desk.Quit():
			return
		case <-ticker:
		}
		now := javascript.ISOTime(s.opts.Clock().UnixMilli())
		beat := notification(events.Heartbeat, struct {
			ServerTime string `json:"server_time"`
			Sequence   int    `json:"sequence"`
			common
		}{now, sequence, common{Timestamp: now}})
		s.each(func(p *peer) {
			if p.wants(events.Heartbeat) {
				p.Socket.TrySend(beat)
			}
		})
	}
}

// common are the members of every notification.
type common struct {
	WorkspaceID string `json:"workspace_id"`
	SessionID   string `json:"session_id"`
	AgentType   string `json:"agent_type"`
	Timestamp   string `json:"timestamp"`
}

// notification builds a notification from the server itself, for any number of sockets.
func notification(method string, params any) *stream.Message {
	body := wire.Notice(method, params)
	return stream.NewMessage(len(body), func(dst []byte) []byte { return append(dst, body...) })
}

// each calls fn with every open socket.
func (s *Server) each(fn func(*peer)) {
	s.mu.Lock()
	peers := make([]*peer, 0, len(s.peers))
	for p := range s.peers {
		peers = append(peers, p)
	}
	s.mu.Unlock()
	for _, p := range peers {
		fn(p)
	}
}

// closeNormal is the close code of a socket that its client ends.
const closeNormal = 1000

// Feed implements stream.Protocol.
func (s *Server) Feed() stream.Feed { return s.feed }

// Join implements stream.Protocol.
func (s *Server) Join(r *http.Request, socket *stream.Socket) stream.Listener {
	p := s.newPeer(r, socket)
	s.mu.Lock()
	s.peers[p] = struct{}{}
	s.mu.Unlock()
	context.AfterFunc(socket.Context(), func() { s.leave(p) })
	return p
}

func (s *Server) leave(p *peer) {
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
	p.forget()
}

// registry returns the runtimes as clients see them now.
func (s *Server) registry() (registry.Registry, error) {
	states, err := s.opts.Operations.RuntimeStates()
	if err != nil {
		return registry.Registry{}, err
	}
	r := registry.Build(states)
	s.stamp.Set(&r, s.opts.Clock())
	return r, nil
}

// agents returns the names of the runtimes.
func (s *Server) agents() []string {
	states, err := s.opts.Operations.RuntimeStates()
	if err != nil {
		return nil
	}
	return registry.Build(states).IDs()
}

var _ stream.Protocol = (*Server)(nil)
