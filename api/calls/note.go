// Package calls reports requests that may change something to the audit log, for every protocol. A report has the
// caller, the operation and the outcome.
//
// It owns the choice of requests to record and the facts about a running request. It must never read a body or know
// how a row is stored.
package calls

import (
	"cmp"
	"context"
	"sync"

	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/services/audit"
)

// Sink receives finished calls. It must not block. *audit.Recorder implements it.
type Sink interface {
	Record(call audit.Call, traceID string)
}

// note holds the facts about a request, except its response.
type note struct {
	sink Sink

	mu            sync.Mutex
	route         *Route
	admitted      bool
	principal     auth.Principal
	traceID       string
	session, task string
	code          string
}

type noteKey struct{}

func noteOf(ctx context.Context) *note {
	n, _ := ctx.Value(noteKey{}).(*note)
	return n
}

// About notes the session or task of a request. It ignores "".
func About(ctx context.Context, session, task string) {
	if n := noteOf(ctx); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.session, n.task = cmp.Or(session, n.session), cmp.Or(task, n.task)
	}
}

// Found notes the route of a request.
func Found(ctx context.Context, route Route) {
	if n := noteOf(ctx); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.route = &route
	}
}

// Failed notes the error code of the response.
func Failed(ctx context.Context, code string) {
	if n := noteOf(ctx); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.code = code
	}
}

// Record records a call that is not a separate HTTP request, such as a call on a socket, if that socket's request is
// recorded. The actor and role come from principal.
func Record(ctx context.Context, principal auth.Principal, call audit.Call) {
	if n := noteOf(ctx); n != nil && n.sink != nil {
		call.Actor, call.Role = cmp.Or(principal.Actor, local), principal.Role.Word()
		call.SessionID = short(call.SessionID)
		n.sink.Record(call, telemetry.IDsFrom(ctx).Trace.TraceID)
	}
}

const (
	// local is the caller of a server without access rules; anonymous is a caller that was not admitted.
	local     = "local"
	anonymous = "anonymous"
)

// who returns the actor and the role of a request.
func (n *note) who() (actor, role string) {
	if !n.admitted {
		return anonymous, ""
	}
	return cmp.Or(n.principal.Actor, local), n.principal.Role.Word()
}
