// Package api serves the REST resources: it decodes and validates requests, calls an operation each and words its
// answers and errors as codex-manager's clients expect them.
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

// Health is what the health routes need to know. Its methods must not block.
type Health interface {
	// Runtime is the state of codex, which codex-manager's clients read.
	Runtime() runtime.Status
	// Runtimes are the states of all runtimes, first that of the one new sessions get; none where no agents are to run.
	Runtimes() []RuntimeHealth
	// Auth says which credentials the runtime can find.
	Auth() AuthHealth
	// Store says since when the store refuses writes, nil while it takes them.
	Store() *journal.OutageError
	// Damaged is how many rows of the store are not as they were written, and since when that is known.
	Damaged() (rows int, since time.Time)
	// Serving says why this process takes no work (it is starting or draining), nil when it does.
	Serving() error
	// StoreReady writes to the store, unless that was done just now, and says why it cannot be written to.
	StoreReady(ctx context.Context) error
}

// RuntimeHealth is the state of a runtime.
type RuntimeHealth struct {
	Name   string
	Status runtime.Status
}

// AuthHealth is the `auth` member of the health answer.
type AuthHealth struct {
	HasOpenAIAPIKey       bool `json:"hasOpenAiApiKey"`
	CodexHomeAuthFile     bool `json:"codexHomeAuthFile"`
	LikelyUnauthenticated bool `json:"likelyUnauthenticated"`
}

// Options are the parts the handler is built from. Operations and Health are required.
type Options struct {
	Operations *operations.Service
	Health     Health
	// Runtime takes the requests that are passed through to the provider (models, account, config, ...). nil: those routes
	// answer 503.
	Runtime runtime.RawCaller
	Protocols
	Access
	Administration
	Answers
	Observation
	// Owners asks the node that owns a session, when that is another one. nil: 421, its clients have to ask it.
	Owners Owners
	// Version is this server's version; the wire keeps codex-manager's own.
	Version string
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Protocols are what is served in addition to REST.
type Protocols struct {
	// Stream serves websocket upgrades of GET /api/stream, Metrics serves GET /metrics. nil: 404.
	Stream, Metrics http.Handler
	// RPC serves JSON-RPC.
	RPC RPC
	// Tasks serves the task API. nil: 404.
	Tasks Tasks
	// Pages serves what is no API, behind the guard. nil: nothing.
	Pages func(api http.Handler) http.Handler
}

// Access is who may ask.
type Access struct {
	// Guard wraps everything behind the request id and the access log: authentication, origin rules. nil: nothing.
	Guard func(http.Handler) http.Handler
	// Agents knows what the agent of a session may touch. nil: nothing.
	Agents Agents
	// Actor names who makes a request, for the record of decisions. nil: "local".
	Actor func(*http.Request) string
	// LocalAccess reports whether programs of this machine need a token, and why where they would not as a rule. nil: it is
	// not known.
	LocalAccess func() (tokenNeeded bool, reason string)
}

// Administration is what administrators work with.
type Administration struct {
	// Lifecycle lists and reloads extensions. nil: those routes do not exist.
	Lifecycle *admin.Lifecycle
	// Tokens are the named access tokens. nil: 404.
	Tokens admin.Tokens
	// Logins lets browsers in by a cookie. nil: 404.
	Logins *auth.Logins
	// OIDC lets people log in at OpenID Connect providers. Without its parts: 404.
	OIDC admin.OIDC
	// Settings are what this server was started with.
	Settings []sessions.Setting
	// Push keeps the browsers that are notified. nil: 404.
	Push admin.Push
}

// Answers are how answers are kept, held back and bounded.
type Answers struct {
	// Artifacts are what tools of this server made. nil: 404.
	Artifacts *artifact.Store
	// Idempotency keeps what requests with an Idempotency-Key were answered. nil: the header has no effect.
	Idempotency *idempotency.Store
	// Reads holds an answer back until what it read may be shown. nil: all of it may.
	Reads rest.Reads
	// Long bounds long answers; handlers of one server share it. nil: the handler has its own, and files for temporary use.
	Long *sessions.LongAnswers
	// StoreWait bounds how long a request waits for a store that refuses writes; then it is answered 503. 0: as long as
	// its client does.
	StoreWait time.Duration
}

// Observation records requests.
type Observation struct {
	// Calls gets every request that may change something, whatever came of it. nil: none is recorded.
	Calls calls.Sink
	// Limiter is where the connections come in; what it refuses is recorded in Calls, too. It may be nil.
	Limiter *conns.Limiter
	Logger  zerolog.Logger
	// Answered gets every request that is over: its route as Operations name it ("" when none matched), how it was
	// answered, and how long that took; a socket is over when it is closed. nil: no one counts.
	Answered func(method, route string, status int, took time.Duration)
	// Span, when set, begins the span of a request: what the request causes is in the trace returned, and ended gets
	// what came of it. It must not block.
	Span func(caller telemetry.Trace, method string) (own telemetry.Trace, ended func(route string, status int,
		began time.Time, took time.Duration))
}

// RPC are the handlers of JSON-RPC; those that are nil are answered 404.
type RPC struct {
	// Sockets are by path, /rpc and /ws.
	Sockets        map[string]http.Handler
	Post, Document http.Handler
}

// Tasks serves the task API; *v1.Server implements it.
type Tasks interface {
	// Handler serves one of its routes.
	Handler(route v1.Route) http.Handler
	// Refuse answers with an error in its words.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

// server is the state behind the handlers.
type server struct {
	Options
	provider *compat.Mount
	coder    compress.Coder
	bodies   rest.Bodies
}

// New builds the handler that serves the whole HTTP surface.
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
	handler := s.normaliseURL(mounted)
	if s.Pages != nil {
		handler = s.Pages(handler)
	}
	handler = calls.Admit(handler)
	if s.Guard != nil {
		handler = s.Guard(handler)
	}
	recorded := func(next http.Handler) http.Handler { return calls.Middleware(s.Calls, find, next) }
	if s.Limiter != nil {
		s.Limiter.Record(recorded)
	}
	return recorded(s.observe(s.recoverPanics(handler)))
}
