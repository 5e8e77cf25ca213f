package rpc

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"

	"harness/api/rpc/registry"
	"harness/api/rpc/wire"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

const agentField = registry.AgentField

// call is one parsed and routed request of a method.
type call struct {
	server  *Server
	peer    *peer
	method  *method
	request wire.Request
	params  map[string]any
	// agent is the runtime of the call, if its method needs one. session is the named session, or nil.
	agent   string
	session *session.Session
}

func (c *call) ops() *operations.Service { return c.server.opts.Operations.Service }

// text returns a string member, "" when it is not given.
func (c *call) text(name string) string {
	s, _ := c.params[name].(string)
	return s
}

func (c *call) flag(name string) bool {
	b, _ := c.params[name].(bool)
	return b
}

// count returns a number member, fallback when it is not given or 0.
func (c *call) count(name string, fallback int64) int64 {
	if n, given := c.params[name].(int64); given && n > 0 {
		return n
	}
	return fallback
}

// member returns an object member of params.
func (c *call) member(name string) map[string]json.RawMessage {
	o, _ := c.params[name].(map[string]json.RawMessage)
	return o
}

// carryOut executes one request.
func (p *peer) carryOut(ctx context.Context, request wire.Request) (result any, failed *wire.Error) {
	m := p.server.methods[request.Method]
	if m == nil {
		return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "Method not found: " + shown(request.Method),
			Data: struct {
				Method string `json:"method"`
			}{shown(request.Method)}}
	}
	defer func() {
		if cause := recover(); cause != nil {
			telemetry.Log(ctx).Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Str("method", m.name).
				Msg("JSON-RPC handler panicked")
			result, failed = nil, failure(failedInternal, m.name, "Internal error", false)
		}
	}()
	c := &call{server: p.server, peer: p, method: m, request: request}
	if reads := p.server.opts.Reads; reads != nil && m.role == roleViewer {
		ctx = reads.Reading(ctx)
		defer func() { // a result or refusal depends on the data that the call read
			if err := reads.Settled(ctx); err != nil {
				result, failed = nil, c.failed(ctx, err)
			}
		}()
	}
	if failed := c.admit(); failed != nil {
		return nil, failed
	}
	if c.params, failed = m.read(request.Params); failed != nil {
		return nil, failed
	}
	if m.check != nil {
		if err := m.check(c); err != nil {
			return nil, c.failed(ctx, err)
		}
	}
	if err := c.checkReach(ctx); err != nil {
		return nil, c.failed(ctx, err)
	}
	if err := c.route(ctx); err != nil {
		return nil, c.failed(ctx, err)
	}
	result, err := m.handle(ctx, c)
	if err != nil {
		if result, failed, asked := c.askOwner(ctx, err); asked {
			return result, failed
		}
		return nil, c.failed(ctx, err)
	}
	return result, nil
}

// shown limits the length of a client's name in a response.
func shown(name string) string {
	const most = 100
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return name
}

// admit checks whether the caller may call the method here.
func (c *call) admit() *wire.Error {
	if !allows(c.peer.Principal.Role, c.method.role) {
		return forbidden(c.method.name, c.method.role)
	}
	if (c.method.scope == scopeSocket || c.method.socket) && c.peer.Socket == nil {
		return &wire.Error{Code: wire.CodeInvalidRequest, Message: "Invalid request: " + c.method.name + " needs a websocket"}
	}
	if c.server.opts.Strict && c.peer.Socket != nil && c.method.role != "" && c.method.name != methodInitialize &&
		!c.peer.hasInitialized() {
		return &wire.Error{Code: wire.CodeInvalidRequest, Message: "Invalid request: not initialized"}
	}
	return nil
}

// allows reports whether a role of the server is sufficient for a method.
func allows(has auth.Role, needs role) bool {
	switch has {
	case auth.RoleOwner, auth.RoleSystem, auth.RoleAdmin:
		return true
	case auth.RoleOperator:
		return needs == roleViewer || needs == roleOperator
	case auth.RoleMember:
		return needs == roleViewer
	}
	return false
}

// route finds the session and the runtime of a call. It checks in this order: the runtime is known, enabled and up;
// the session exists and has that runtime.
func (c *call) route(ctx context.Context) error {
	if c.method.scope != scopeRuntime {
		return nil
	}
	c.agent = strings.ToLower(strings.TrimSpace(c.text(agentField)))
	named := c.agent != ""
	id := c.text("session_id")
	if id == "" {
		id = c.text("resume_session_id")
	}
	states, err := c.ops().RuntimeStates()
	if err != nil {
		return err
	}
	if c.server.opts.Operations.Forwards() {
		found, err := c.find(ctx, id)
		if err == nil && found != nil && !c.server.opts.Owns(*found) && (!named || c.agent == found.Runtime) {
			c.session, c.agent = found, found.Runtime
			return nil // only the owner's runtime matters, and the owner checks it
		}
	}
	if !named {
		if c.session, err = c.find(ctx, id); err != nil {
			return err
		}
		switch {
		case c.session != nil:
			c.agent = c.session.Runtime
		case len(states) > 0:
			c.agent = states[0].Name
		}
	}
	if err := c.usable(states, c.agent); err != nil {
		return err
	}
	if named {
		if c.session, err = c.find(ctx, id); err != nil {
			return err
		}
	}
	if c.session != nil && c.session.Runtime != c.agent {
		return invalidParams(agentField, "session belongs to "+c.session.Runtime, "The session belongs to another runtime")
	}
	return nil
}

// usable refuses a runtime that is unknown or disabled. It also refuses one that is down while the method needs it.
func (c *call) usable(states []operations.RuntimeState, agent string) *wire.Error {
	at := slices.IndexFunc(states, func(one operations.RuntimeState) bool { return one.Name == agent })
	if at < 0 {
		return unknownAgent(agent, c.method.name, registry.Build(states).IDs())
	}
	state := states[at]
	switch {
	case state.Offered == operations.RuntimeDisabled:
		reason := *registry.Build(states).Runtimes[at].StatusReason
		return c.away(failedDisabled, string(state.Offered), reason, false)
	case !c.method.works, c.othersWork():
	case state.Status.State == runtime.StateUnavailable:
		return c.away(failedUnavailable, string(state.Offered), "the runtime is down; the server restarts it", true)
	case state.Status.State == runtime.StateStopped:
		return c.away(failedUnavailable, string(state.Offered), "the runtime is stopped", true)
	}
	return nil
}

// othersWork reports whether a new session would use another node's runtime.
func (c *call) othersWork() bool {
	return c.server.opts.Operations.Forwards() && c.ops().CheckNew() != nil
}

// find returns the session of an id, which may be a temporary one, or nil for none. session/start accepts unknown
// ids.
func (c *call) find(ctx context.Context, id string) (*session.Session, error) {
	if id == "" {
		return nil, nil
	}
	real, err := c.ops().RealID(ctx, id)
	var found session.Session
	if err == nil {
		found, err = c.ops().Find(ctx, real)
	}
	if err != nil {
		if operations.Classify(err).Code == operations.CodeSessionNotFound {
			if c.method.name == registry.Start {
				return nil, nil
			}
			return nil, sessionNotFound(id, err)
		}
		return nil, err
	}
	return &found, nil
}
