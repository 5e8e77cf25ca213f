// Package calls reports to the audit log the requests that may change something, of every protocol: who asked for what, and
// what came of it.
//
// It owns which requests are recorded and what is known of one while it is carried out. It must never read a body, and
// must never know how a row is stored.
package calls

import (
	"cmp"
	"context"
	"sync"

	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/services/audit"
)

// Sink takes calls that are over. It must not block. *audit.Recorder implements it.
type Sink interface {
	Record(call audit.Call, traceID string)
}

// note is what is known of a request apart from its answer.
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

// About notes the session, or the task, that a request turned out to be about; "" changes nothing.
func About(ctx context.Context, session, task string) {
	if n := noteOf(ctx); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.session, n.task = cmp.Or(session, n.session), cmp.Or(task, n.task)
	}
}

// Found notes the route that takes a request.
func Found(ctx context.Context, route Route) {
	if n := noteOf(ctx); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.route = &route
	}
}

// Failed notes the code of the error that a request is answered with.
func Failed(ctx context.Context, code string) {
	if n := noteOf(ctx); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.code = code
	}
}

// Record records a call that is no request of its own, as one of a socket, when the request is recorded that brought it.
// Its actor and role are those of principal.
func Record(ctx context.Context, principal auth.Principal, call audit.Call) {
	if n := noteOf(ctx); n != nil && n.sink != nil {
		call.Actor, call.Role = cmp.Or(principal.Actor, local), principal.Role.Word()
		call.SessionID = short(call.SessionID)
		n.sink.Record(call, telemetry.IDsFrom(ctx).Trace.TraceID)
	}
}

const (
	// local is who asks a server without rules of access, anonymous who was not let in.
	local     = "local"
	anonymous = "anonymous"
)

// who names the actor and the role of a request.
func (n *note) who() (actor, role string) {
	if !n.admitted {
		return anonymous, ""
	}
	return cmp.Or(n.principal.Actor, local), n.principal.Role.Word()
}
