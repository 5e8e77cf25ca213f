// Package acp serves clients of the Agent Client Protocol, version 1: editors and programs that speak it get the
// sessions of every runtime.
//
// It owns the methods, updates and shapes of that protocol towards clients. It must never know a runtime's own
// protocol, SQL, or how bytes leave a socket.
package acp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"harness/api/door"
	"harness/api/rest"
	"harness/internal/operations"
	"harness/stream"
)

// Options are the dependencies of a Server. Operations and Journal are required.
type Options struct {
	Operations *door.Operations
	Journal    door.Journal
	// Version is the version of the server.
	Version string
	// Rate limits the messages of one caller per minute; 0 means no limit.
	Rate int
	// Yolo allows the mode without approvals and sandbox.
	Yolo bool
	// Reads delays a response until the data it contains may be shown. If nil, there is no delay.
	Reads rest.Reads
	// Context, when set, adds the values that the server's services need to the context of each call.
	Context func(ctx context.Context) context.Context
	// Images, when set, are what a replay shows where a message names an image.
	Images Images
	// Refused, when set, gets the name of each refused method. It must not block.
	Refused func(method string)
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// MaxMessage is the maximum length of a message: pictures come inside.
const MaxMessage = 16 << 20

// Server carries out the calls of its sockets and sends them the updates of the sessions they opened. Start it before
// it serves.
type Server struct {
	door.Core[event]
	opts    Options
	methods map[string]*method
}

// New creates a Server. It fails if a method is in the table twice.
func New(options Options) (*Server, error) {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Refused == nil {
		options.Refused = func(string) {}
	}
	s := &Server{Core: door.NewCore(door.NewDesk(options.Rate, options.Clock), door.NewFollows(options.Journal, show)), opts: options,
		methods: map[string]*method{}}
	for _, m := range table() {
		if s.methods[m.name] != nil {
			return nil, fmt.Errorf("ACP method %s is in the table twice", m.name)
		}
		s.methods[m.name] = &m
	}
	return s, nil
}

// Handler serves the upgrades of a path, whose query names the runtime of new sessions. sockets serves this protocol.
func (s *Server) Handler(sockets http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Upgrade") == "" {
			w.Header().Set("Upgrade", "websocket")
			http.Error(w, "this protocol is served on a websocket", http.StatusMethodNotAllowed)
			return
		}
		if name := r.URL.Query().Get("runtime"); name != "" && !s.hasRuntime(name) {
			http.Error(w, "this server has no runtime "+name, http.StatusNotFound)
			return
		}
		w.Header().Set("Acp-Connection-Id", uuid.NewString())
		sockets.ServeHTTP(w, r)
	})
}

func (s *Server) hasRuntime(name string) bool {
	states, err := s.opts.Operations.RuntimeStates()
	return err == nil && slices.ContainsFunc(states, func(state operations.RuntimeState) bool {
		return state.Name == name && state.Offered != operations.RuntimeDisabled
	})
}

// Join implements stream.Protocol.
func (s *Server) Join(r *http.Request, socket *stream.Socket) stream.Listener {
	name := r.URL.Query().Get("runtime")
	if name == "" {
		name = s.opts.Operations.DefaultRuntime()
	}
	p := &peer{Caller: door.NewCaller(r, socket, s.opts.Context), server: s, out: door.NewOutbox(socket), runtime: name,
		views: door.NewViews[*follow](socket, protocol), cancels: map[string]int{}}
	context.AfterFunc(socket.Context(), p.views.Close)
	return p
}

var _ stream.Protocol = (*Server)(nil)
