// Package v1 serves the task API: sessions, tasks and decisions about tool calls. It serves the events of tasks as
// pages and as a stream of server-sent events.
//
// It owns the routes, statuses and JSON of that API and accepts names in both spellings. Packages tasks and
// operations do the work. This package must never know SQL or a runtime's protocol.
package v1

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"harness/api/calls"
	"harness/api/rest"
	"harness/api/sse"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/telemetry"
	"harness/internal/services/tasks"
)

// Options are the dependencies of a Server. Tasks and Operations are required; zero fields mean the defaults given
// below.
type Options struct {
	Tasks      *tasks.Service
	Operations *operations.Service
	// Actor returns the caller of a request, for the record of decisions. If nil, it is "local".
	Actor func(*http.Request) string
	// Context, when set, adds the values that the server's services need to the context of each request.
	Context func(ctx context.Context) context.Context
	Version string
	// Bundle creates a session's support bundle. The server closes it after sending. If nil, there are no bundles.
	Bundle func(ctx context.Context, sessionID, taskID string) (*os.File, error)
	// MaxStreams limits the open streams of events; 0 means no limit.
	MaxStreams int
	// Heartbeat is the time between heartbeats of a stream (15 s). Behind is how many records an up-to-date stream may
	// fall behind before it ends (20,000). WriteTimeout is how long a reader may read nothing (30 s).
	Heartbeat    time.Duration
	Behind       int64
	WriteTimeout time.Duration
	// Overflowed, when set, runs for each stream that ended because its reader fell behind.
	Overflowed func()
	// Owners forwards requests to the node that owns a session. If nil, the response is 421, and clients must send the
	// request to that node.
	Owners Owners
	// Reads delays a response until the data it contains may be shown. If nil, there is no delay.
	Reads rest.Reads
	// Credentials returns the level (shared, namespaced, ephemeral) at which a runtime stores its logins and state. It
	// also returns this server's credential namespace. If nil, they are shared and default.
	Credentials func(runtime string) (level, namespace string)
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Server serves the task API.
type Server struct {
	opts   Options
	bodies rest.Bodies

	streams sse.Limit
	once    sync.Once
	closing chan struct{}
}

// Route is one operation, with path parameters as in /v1/sessions/:sessionId, and its allowed query names.
type Route struct {
	Method, Path string
	Query        []string
	// Operator excludes callers that have read access only.
	Operator bool
	// OwnReach routes enforce project limits themselves. For other routes, the server first checks the session of the
	// path.
	OwnReach bool
}

// route is a Route with its handler.
type route struct {
	Route
	handle func(*Server, http.ResponseWriter, *http.Request) error
	// ofRuntimes routes describe the runtimes of a node. Another node gets the request if this one has none.
	ofRuntimes bool
}

func table() []route {
	type handler = func(*Server, http.ResponseWriter, *http.Request) error
	get := func(path string, handle handler, query ...string) route {
		return route{Route{Method: http.MethodGet, Path: path, Query: query}, handle, false}
	}
	post := func(path string, handle handler) route {
		return route{Route{Method: http.MethodPost, Path: path}, handle, false}
	}
	operator := func(r route) route {
		r.Operator = true
		return r
	}
	ownReach := func(r route) route {
		r.OwnReach = true
		return r
	}
	ofRuntimes := func(r route) route {
		r.ofRuntimes = true
		return r
	}
	const session = "/v1/sessions/:sessionId"
	return []route{
		ownReach(get("/v1", (*Server).root)),
		ofRuntimes(get("/v1/health", (*Server).health, "runtime")),
		ofRuntimes(get("/v1/capabilities", (*Server).capabilities, "runtime")),
		ofRuntimes(get("/v1/auth/status", (*Server).authStatus, "runtime")),
		ownReach(get("/v1/sessions", (*Server).listSessions, "limit", "after")),
		ownReach(post("/v1/sessions", (*Server).createSession)),
		get(session, (*Server).getSession),
		get(session+"/events", (*Server).events, "after_seq", "from_seq", "limit", "stream"),
		operator(get(session+"/support-bundle", (*Server).bundle, "task_id")),
		get(session+"/tasks", (*Server).listTasks, "limit"),
		post(session+"/tasks", (*Server).createTask),
		get(session+"/tasks/:taskId", (*Server).getTask),
		post(session+"/tasks/:taskId/stop", (*Server).stopTask),
		post(session+"/background/:taskId/stop", (*Server).stopBackground),
		post(session+"/tool-calls/:toolCallId/approve", (*Server).approve),
		post(session+"/tool-calls/:toolCallId/deny", (*Server).deny),
	}
}

// Routes returns the served routes.
func Routes() []Route {
	var all []Route
	for _, r := range table() {
		all = append(all, r.Route)
	}
	return all
}

// New creates a Server.
func New(options Options) *Server {
	if options.Actor == nil {
		options.Actor = func(*http.Request) string { return "local" }
	}
	if options.Context == nil {
		options.Context = func(ctx context.Context) context.Context { return ctx }
	}
	if options.Credentials == nil {
		options.Credentials = func(string) (string, string) { return "shared", "default" }
	}
	if options.Heartbeat <= 0 {
		options.Heartbeat = 15 * time.Second
	}
	if options.Behind <= 0 {
		options.Behind = 20_000
	}
	if options.WriteTimeout <= 0 {
		options.WriteTimeout = 30 * time.Second
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Server{opts: options, streams: sse.Limit{Most: options.MaxStreams}, closing: make(chan struct{})}
}

// Handler serves a route of Routes. The request's PathValue must have the path parameters. The caller checks access
// first.
func (s *Server) Handler(of Route) http.Handler {
	all := table()
	rt := all[slices.IndexFunc(all, func(r route) bool { return r.Method == of.Method && r.Path == of.Path })]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := sessionOf(r); id != "" {
			r = r.WithContext(telemetry.WithSession(r.Context(), id))
		}
		query, err := readQuery(r, rt.Query)
		if err == nil {
			r = r.WithContext(s.opts.Context(r.Context()))
			r.URL = &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query.Encode()}
			err = s.settled(w, r, rt)
		}
		if err != nil {
			s.Refuse(w, r, err)
		}
	})
}

// sessionOf returns the session in the path, "" for none.
func sessionOf(r *http.Request) string { return r.PathValue("sessionId") }

// Close ends the streams of events. A client reconnects with the number of its last event.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// Closing ends with the streams of events.
func (s *Server) Closing() <-chan struct{} { return s.closing }

// reply sends a JSON response.
func reply(w http.ResponseWriter, status int, body any) error {
	encoded, err := javascript.Encode(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // the server cannot react to a client that disconnected
	return nil
}

func (s *Server) now() string { return javascript.ISOTime(s.opts.Clock().UnixMilli()) }

// refusal is a response that gives the reason of a refusal.
type refusal struct {
	status        int
	code, message string
	context       members
}

type members map[string]any

// Error implements error.
func (r *refusal) Error() string { return r.code + ": " + r.message }

// Refuse responds with an error.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	var answer *refusal
	if !errors.As(err, &answer) {
		answer = refusalOf(err, r)
	}
	if answer.status >= http.StatusInternalServerError && answer.code == "server_error" {
		telemetry.Log(r.Context()).Error().Err(err).Str("path", r.URL.Path).Msg("task API request failed")
	}
	calls.Failed(r.Context(), answer.code)
	body := members{"error": answer.code}
	for name, value := range answer.context {
		body[name] = value
	}
	if answer.message != "" {
		body["message"] = answer.message
	}
	var unreachable *forward.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(unreachable.RetryAfter.Seconds()))))
	case answer.status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	case answer.status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	_ = reply(w, answer.status, body) // strings and numbers always encode
}
