// Package v1 serves the task API: sessions, tasks, their events as pages and as a stream of server-sent events, and
// decisions about tool calls.
//
// It owns the routes, statuses and JSON of that API and reads requests in both spellings of names. What is done is the
// tasks' and operations' business; it must never know SQL or a runtime's protocol.
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
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/telemetry"
	"harness/internal/services/tasks"
)

// Options are what a Server stands on. Tasks and Operations are required; zero fields take the defaults named.
type Options struct {
	Tasks      *tasks.Service
	Operations *operations.Service
	// Actor names who makes a request, for the record of decisions. nil: "local".
	Actor func(*http.Request) string
	// Context, when set, puts into the context of each request what the server's services look for there.
	Context func(ctx context.Context) context.Context
	Version string
	// Bundle makes a session's support bundle, which is closed when it was sent. nil: there are none.
	Bundle func(ctx context.Context, sessionID, taskID string) (*os.File, error)
	// MaxStreams bounds the streams of events that are open at once; 0 is no bound.
	MaxStreams int
	// Heartbeat is the time between heartbeats of a stream (15 s), Behind how many records a stream that was up to date
	// may fall behind before it is ended (20,000), WriteTimeout how long a reader may take nothing (30 s).
	Heartbeat    time.Duration
	Behind       int64
	WriteTimeout time.Duration
	// Overflowed, when set, is told of each stream that was ended because its reader fell behind.
	Overflowed func()
	// Owners asks the node that owns a session, when that is another one. nil: 421, its clients have to ask it.
	Owners Owners
	// Reads keeps what is read from being answered before it may be shown. nil: all of it may.
	Reads rest.Reads
	// Credentials tells at which level (shared, namespaced, ephemeral) a runtime keeps its logins and state, and the
	// credential namespace of this server. nil: shared, default.
	Credentials func(runtime string) (level, namespace string)
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Server answers the requests of the task API.
type Server struct {
	opts   Options
	bodies rest.Bodies

	mu      sync.Mutex
	streams int
	once    sync.Once
	closing chan struct{}
}

// Route is one operation, with the parameters of its path as in /v1/sessions/:sessionId, and the names its query may have.
type Route struct {
	Method, Path string
	Query        []string
	// Operator keeps it from who may only look.
	Operator bool
	// OwnReach routes limit a caller to its projects themselves. On others the session of the path is checked before.
	OwnReach bool
}

// route is a Route and what it does.
type route struct {
	Route
	handle func(*Server, http.ResponseWriter, *http.Request) error
	// ofRuntimes tell of the runtimes of a node: another one is asked where there are none.
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

// Routes are what is served.
func Routes() []Route {
	var all []Route
	for _, r := range table() {
		all = append(all, r.Route)
	}
	return all
}

// New makes a Server.
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
	return &Server{opts: options, closing: make(chan struct{})}
}

// Handler serves a route of Routes, to requests whose PathValue has the parameters of its path. Access is checked before.
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

// sessionOf is the session that the path names, "" for none.
func sessionOf(r *http.Request) string { return r.PathValue("sessionId") }

// Close ends the streams of events; who follows one comes back with the number of the last event.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, body any) error {
	encoded, err := javascript.Encode(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // a client that went away is not ours to mend
	return nil
}

func (s *Server) now() string { return javascript.ISOTime(s.opts.Clock().UnixMilli()) }

// refusal is an answer that says why not.
type refusal struct {
	status        int
	code, message string
	context       members
}

type members map[string]any

// Error implements error.
func (r *refusal) Error() string { return r.code + ": " + r.message }

// Refuse answers with an error.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	var told *refusal
	if !errors.As(err, &told) {
		told = refusalOf(err, r)
	}
	if told.status >= http.StatusInternalServerError && told.code == "server_error" {
		telemetry.Log(r.Context()).Error().Err(err).Str("path", r.URL.Path).Msg("a request of the task API failed")
	}
	calls.Failed(r.Context(), told.code)
	body := members{"error": told.code}
	for name, value := range told.context {
		body[name] = value
	}
	if told.message != "" {
		body["message"] = told.message
	}
	var unreachable *forward.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(unreachable.RetryAfter.Seconds()))))
	case told.status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	case told.status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	_ = reply(w, told.status, body) // texts and numbers encode
}
