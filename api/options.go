// Package api serves the REST resources: it decodes and validates requests, calls one operation for each, and formats
// results and errors as codex-manager's clients expect.
//
// It owns every HTTP status, envelope and wire name of REST. It must never know SQL, a runtime's protocol, or how an
// event reaches a socket.
package api

import (
	"context"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"harness/api/admin"
	"harness/api/agui"
	"harness/api/calls"
	"harness/api/compat"
	"harness/api/compress"
	"harness/api/conns"
	"harness/api/idempotency"
	"harness/api/rest"
	"harness/api/sessions"
	v1 "harness/api/v1"
	"harness/internal/content/artifact"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// Health provides the data of the health routes. Its methods must not block.
type Health interface {
	// Runtime is the state of codex, for codex-manager's clients.
	Runtime() runtime.Status
	// Runtimes returns the states of all runtimes, the default one first. A node without agents has none.
	Runtimes() []RuntimeHealth
	// Auth reports which credentials the runtime can find.
	Auth() AuthHealth
	// Store reports since when the store has refused writes, nil while it accepts them.
	Store() *journal.OutageError
	// Damaged reports how many stored rows are damaged, and when the damage was found.
	Damaged() (rows int, since time.Time)
	// Serving returns why this process accepts no work (it is starting or draining), or nil if it accepts work.
	Serving() error
	// StoreReady checks that the store accepts writes, with a write unless a recent one succeeded.
	StoreReady(ctx context.Context) error
}

// RuntimeHealth is the state of a runtime.
type RuntimeHealth struct {
	Name   string
	Status runtime.Status
}

// AuthHealth is the `auth` member of the health response.
type AuthHealth struct {
	HasOpenAIAPIKey       bool `json:"hasOpenAiApiKey"`
	CodexHomeAuthFile     bool `json:"codexHomeAuthFile"`
	LikelyUnauthenticated bool `json:"likelyUnauthenticated"`
}

// Options are the parts of the handler. Operations and Health are required.
type Options struct {
	Operations *operations.Service
	Health     Health
	// Runtime executes the requests that are passed through to the provider (models, account, config, ...). If nil,
	// those routes respond with 503.
	Runtime runtime.RawCaller
	Protocols
	Access
	Administration
	Answers
	Observation
	// Owners forwards requests to the node that owns a session. If nil, the response is 421, and clients must send the
	// request to that node.
	Owners Owners
	// Version is the version of this server. The API has codex-manager's version.
	Version string
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Protocols are the protocols in addition to REST.
type Protocols struct {
	// Stream serves websocket upgrades of GET /api/stream. Metrics serves GET /metrics. If nil, they return 404.
	Stream, Metrics http.Handler
	// RPC serves JSON-RPC.
	RPC RPC
	// Doors serve the protocols for front ends, by path. Only upgrades of / reach them.
	Doors map[string]http.Handler
	// AgentDoors are the paths of Doors that agents reach, too. Those doors check an agent's rights.
	AgentDoors []string
	// Tasks serves the task API. If nil, its routes return 404.
	Tasks Tasks
	// AGUI serves clients of AG-UI; its Operations are these.
	AGUI agui.Options
	// Pages serves every path outside the API, behind the guard. If nil, there are no pages.
	Pages func(api http.Handler) http.Handler
}

// Access defines who may send requests.
type Access struct {
	// Guard wraps everything behind the request id and the access log: authentication and origin rules. If nil, there is
	// no guard.
	Guard func(http.Handler) http.Handler
	// Agents reports what a session's agent may access. If nil, an agent may access nothing.
	Agents Agents
	// Actor returns the caller of a request, for the record of decisions. If nil, it is "local".
	Actor func(*http.Request) string
	// LocalAccess reports whether local programs need a token, and why if they normally need none. If nil, this is
	// unknown.
	LocalAccess func() (tokenNeeded bool, reason string)
}

// Administration holds the dependencies of the administrators' routes.
type Administration struct {
	// Lifecycle lists and reloads extensions. If nil, those routes do not exist.
	Lifecycle *admin.Lifecycle
	// Tokens are the named access tokens. If nil, their routes return 404.
	Tokens admin.Tokens
	// Logins sets login cookies for browsers. If nil, its routes return 404.
	Logins *auth.Logins
	// OIDC logs people in at OpenID Connect providers. Without its fields, its routes return 404.
	OIDC admin.OIDC
	// Settings are the settings at the start of this server.
	Settings []sessions.Setting
	// Push stores the browsers that get notifications. If nil, its routes return 404.
	Push admin.Push
}

// Answers defines how responses are stored, delayed and limited.
type Answers struct {
	// Artifacts are the outputs of this server's tools. If nil, their routes return 404.
	Artifacts *artifact.Store
	// Idempotency stores the responses to requests with an Idempotency-Key. If nil, the header has no effect.
	Idempotency *idempotency.Store
	// Reads delays a response until the data it contains may be shown. If nil, there is no delay.
	Reads rest.Reads
	// Long limits long responses. Handlers of one server share it. If nil, the handler uses its own limits and temporary
	// files.
	Long *sessions.LongAnswers
	// StoreWait limits how long a request waits for a store that refuses writes; then it gets 503. 0 means as long as
	// the client waits.
	StoreWait time.Duration
}

// Observation records requests.
type Observation struct {
	// Calls gets every request that may change something, regardless of its outcome. If nil, no request is recorded.
	Calls calls.Sink
	// Limiters accept the connections. Calls records their refusals too.
	Limiters []*conns.Limiter
	// Beside returns the route of a request to a handler beside the API, false for all others. It may be nil.
	Beside func(*http.Request) (calls.Route, bool)
	Logger zerolog.Logger
	// Answered gets every finished request: its route as in Operations ("" if none matched), the status, and the
	// duration. A socket finishes when it closes. If nil, no request is counted.
	Answered func(method, route string, status int, took time.Duration)
	// Span, when set, starts the span of a request. The returned context carries the trace, and ended gets the outcome.
	// It must not block.
	Span func(caller telemetry.Trace, method string) (own telemetry.Trace, ended func(route string, status int,
		began time.Time, took time.Duration))
}

// RPC has the handlers of JSON-RPC. A nil handler returns 404.
type RPC struct {
	// Sockets maps the paths /rpc and /ws to handlers.
	Sockets        map[string]http.Handler
	Post, Document http.Handler
}

// Tasks serves the task API; *v1.Server implements it.
type Tasks interface {
	// Handler serves one of its routes.
	Handler(route v1.Route) http.Handler
	// Refuse responds with an error in its format.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

// server is the state that the handlers share.
type server struct {
	Options
	provider *compat.Mount
	coder    compress.Coder
	bodies   rest.Bodies
}

// New creates the handler that serves the whole HTTP API.
func New(options Options) http.Handler {
	if options.Actor == nil {
		options.Actor = func(*http.Request) string { return "local" }
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Long == nil {
		options.Long = sessions.NewLongAnswers("")
	}
	if options.Span == nil {
		options.Span = func(caller telemetry.Trace, _ string) (telemetry.Trace, func(string, int, time.Time, time.Duration)) {
			return caller, func(string, int, time.Time, time.Duration) {}
		}
	}
	if options.Answered == nil {
		options.Answered = func(string, string, int, time.Duration) {}
	}
	s := &server{Options: options, provider: compat.New(compat.Options{
		Operations: options.Operations, Provider: wire.Origin, Runtime: options.Runtime, Status: options.Health.Runtime,
		Clock: options.Clock,
	})}
	mounted, find := mount(s, s.routes())
	handler := s.besideDoors(s.normaliseURL(mounted))
	if s.Pages != nil {
		handler = s.Pages(handler)
	}
	handler = calls.Admit(handler)
	if s.Guard != nil {
		handler = s.Guard(handler)
	}
	for _, limiter := range s.Limiters {
		limiter.Record(func(refusal http.Handler) http.Handler { return calls.Middleware(s.Calls, s.anyRoute(find), refusal) })
	}
	return calls.Middleware(s.Calls, s.anyRoute(find), s.observe(s.recoverPanics(handler)))
}

// anyRoute also finds the routes beside the API.
func (s *server) anyRoute(find func(*http.Request) (calls.Route, bool)) func(*http.Request) (calls.Route, bool) {
	return func(r *http.Request) (calls.Route, bool) {
		if s.Beside != nil {
			if route, is := s.Beside(r); is {
				return route, true
			}
		}
		return find(r)
	}
}
