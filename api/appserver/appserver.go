// Package appserver serves the front ends of codex: its TUI (`codex --remote`) and its IDE extension. They speak the
// app-server protocol, and get the sessions of every runtime.
//
// It owns the methods, notifications and shapes of that protocol towards clients. It must never know a runtime's own
// protocol, SQL, or how bytes leave a socket.
package appserver

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"harness/api/door"
	"harness/api/rest"
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
	// Reads delays a response until the data it contains may be shown. If nil, there is no delay.
	Reads rest.Reads
	// Context, when set, adds the values that the server's services need to the context of each call.
	Context func(ctx context.Context) context.Context
	// Refused, when set, gets the name of each refused method. It must not block.
	Refused func(method string)
	// ListWait is how long a resumed session holds its events for the client to read its history (2 s).
	ListWait time.Duration
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// MaxMessage is the maximum length of a message: pictures come inside.
const MaxMessage = 16 << 20

// Server carries out the calls of its sockets and sends them the events of the sessions they opened. Start it before
// it serves.
type Server struct {
	door.Core[event]
	opts    Options
	methods map[string]*method

	mu      sync.Mutex
	unknown map[string]bool // names of refused methods that are not in the table
}

// New creates a Server. It fails if a method is in the table twice.
func New(options Options) (*Server, error) {
	if options.ListWait <= 0 {
		options.ListWait = 2 * time.Second
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Refused == nil {
		options.Refused = func(string) {}
	}
	s := &Server{Core: door.NewCore(door.NewDesk(options.Rate, options.Clock), door.NewFollows(options.Journal, show)), opts: options,
		methods: map[string]*method{}, unknown: map[string]bool{}}
	for _, m := range table() {
		if s.methods[m.name] != nil {
			return nil, fmt.Errorf("app-server method %s is in the table twice", m.name)
		}
		s.methods[m.name] = &m
	}
	return s, nil
}

// Join implements stream.Protocol.
func (s *Server) Join(r *http.Request, socket *stream.Socket) stream.Listener {
	p := &peer{Caller: door.NewCaller(r, socket, s.opts.Context), server: s, out: door.NewOutbox(socket),
		views: door.NewViews[*follow](socket, protocol)}
	context.AfterFunc(socket.Context(), p.views.Close)
	return p
}

// maxUnknown limits the names of unknown methods that are counted one by one.
const maxUnknown = 100

// countRefused counts a refused method by name. Names that no protocol has do not become labels.
func (s *Server) countRefused(name string) {
	const longest = 80
	if s.methods[name] == nil {
		s.mu.Lock()
		known := s.unknown[name]
		if !known && len(name) <= longest && len(s.unknown) < maxUnknown && named(name) {
			s.unknown[name], known = true, true
		}
		s.mu.Unlock()
		if !known {
			name = "other"
		}
	}
	s.opts.Refused(name)
}

// named reports whether a name has the form of a method.
func named(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '/' {
			return false
		}
	}
	return name != ""
}

var _ stream.Protocol = (*Server)(nil)
