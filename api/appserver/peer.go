package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"harness/api/calls"
	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/services/audit"
	"harness/stream"
)

// peer is one socket.
type peer struct {
	*door.Caller
	server *Server
	out    *door.Outbox

	// without are the notifications that the client does not want, nil before it initializes.
	without atomic.Pointer[[]string]

	mu      sync.Mutex // held before the locks of a follow
	gone    bool
	follows map[string]*follow
}

// call is one request of a socket.
type call struct {
	*peer
	id     json.RawMessage
	method *method
	params json.RawMessage
	// session is the session that the call is about, "" if unknown.
	session string
	// send, when set, sends the answer instead of the outbox; after runs once it is sent.
	send  func(answer []byte)
	after []func()
}

func (c *call) ops() *operations.Service { return c.server.opts.Operations }

// read decodes the parameters.
func (c *call) read(into any) error {
	if len(c.params) > 0 && json.Unmarshal(c.params, into) != nil {
		return invalid("The parameters of " + c.method.name + " have an unexpected form")
	}
	return nil
}

// OnMessage implements stream.Listener.
func (p *peer) OnMessage(text []byte) {
	var m message
	if json.Unmarshal(text, &m) != nil {
		p.Socket.Close(closeInvalid, "a message is one JSON object")
		return
	}
	if m.Method != "" && m.ID == nil {
		return // no notification of a client changes anything
	}
	if m.Method == methodInitialize {
		p.carryOut(p.Context, m) // what follows may come before its answer
		return
	}
	p.server.desk.Run(p.Caller, func() ([]byte, func()) {
		if m.Method == "" {
			p.decide(p.Context, m)
		} else {
			p.carryOut(p.Context, m)
		}
		return nil, nil
	}, func(reason door.Refusal, wait time.Duration) []byte {
		if m.Method == "" {
			return nil
		}
		return answer(m.ID, nil, refusal(reason, wait))
	})
}

// closeInvalid is the close code of a socket that sends something other than JSON.
const closeInvalid = 1007

func refusal(reason door.Refusal, wait time.Duration) *failure {
	switch reason {
	case door.TooOften:
		return &failure{Code: codeInternal, Message: "Too many messages; send again in " + wait.Round(time.Second).String()}
	case door.TooMany:
		return &failure{Code: codeInternal, Message: "Too many requests of this client are in progress"}
	}
	return &failure{Code: codeInternal, Message: "The server is stopping; send again in a moment"}
}

// carryOut executes a request and sends its answer.
func (p *peer) carryOut(ctx context.Context, m message) {
	c := &call{peer: p, id: m.ID, method: p.server.methods[m.Method], params: m.Params}
	result, failed := c.handle(ctx, m.Method)
	if c.method != nil && c.method.role == roleOperator {
		about := audit.Call{Protocol: "app-server", Route: c.method.name, SessionID: c.session, Outcome: "ok"}
		if failed != nil {
			about.Outcome, about.Code = "refused", strconv.Itoa(failed.Code)
			if failed.Code == codeInternal {
				about.Outcome = "failed"
			}
		}
		calls.Record(ctx, p.Principal, about)
	}
	sent := answer(c.id, result, failed)
	if c.send != nil && failed == nil {
		c.send(sent)
	} else {
		p.out.Put(sent)
	}
	for _, after := range c.after {
		after()
	}
}

func (c *call) handle(ctx context.Context, name string) (result any, failed *failure) {
	if c.method == nil || c.method.handle == nil {
		c.server.countRefused(name)
		reason := ""
		if c.method != nil {
			reason = ": " + c.method.refused
		}
		return nil, &failure{Code: codeNotOffered, Message: "not offered by this server: " + name + reason}
	}
	defer func() {
		if cause := recover(); cause != nil {
			telemetry.Log(ctx).Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Str("method", name).
				Msg("app-server handler panicked")
			result, failed = nil, &failure{Code: codeInternal, Message: "Internal error"}
		}
	}()
	if !c.mayCall() {
		return nil, &failure{Code: codeForbidden, Message: "a token with the role " + c.Principal.Role.Word() + " may not do this: " + name}
	}
	if name != methodInitialize && c.without.Load() == nil {
		return nil, &failure{Code: codeInvalidRequest, Message: "Not initialized"}
	}
	if reads := c.server.opts.Reads; reads != nil && c.method.role == roleViewer {
		ctx = reads.Reading(ctx)
		defer func() {
			if err := reads.Settled(ctx); err != nil {
				result, failed = nil, c.failed(ctx, err)
			}
		}()
	}
	result, err := c.method.handle(ctx, c)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	return result, nil
}

// mayCall reports whether the caller's role is sufficient. An agent never gets here.
func (c *call) mayCall() bool {
	switch c.Principal.Role {
	case auth.RoleOwner, auth.RoleSystem, auth.RoleAdmin, auth.RoleOperator:
		return true
	case auth.RoleMember:
		return c.method.role == roleViewer
	}
	return false
}

// decides reports whether the caller may decide requests; only such a caller gets them.
func (p *peer) decides() bool {
	return slices.Contains([]auth.Role{auth.RoleOwner, auth.RoleSystem, auth.RoleAdmin, auth.RoleOperator}, p.Principal.Role)
}

// failed converts an error into an answer. It logs a server fault, and the client gets no other details of it.
func (c *call) failed(ctx context.Context, err error) *failure {
	var own *failure
	if errors.As(err, &own) {
		return own
	}
	f := operations.Classify(err)
	switch {
	case f.Native != nil:
		return &failure{Code: f.Native.Code, Message: f.Native.Message}
	case f.Code == operations.CodeInternal:
		if ctx.Err() == nil {
			telemetry.Log(ctx).Error().Err(err).Str("method", c.method.name).Msg("app-server request failed")
		}
		return &failure{Code: codeInternal, Message: "Internal error"}
	}
	failed := &failure{Code: codeInvalidRequest, Message: f.Message, Data: object{"code": f.Code}}
	if f.Retry {
		failed.Code = codeInternal
		failed.Data = object{"code": f.Code, "retry_after_ms": max(1000, f.RetryAfter.Milliseconds())}
	}
	if failed.Message == "" {
		failed.Message = err.Error()
	}
	return failed
}

// notify sends a notification that is about no stored event.
func (p *peer) notify(method string, params any) {
	if p.wants(method) {
		p.out.Put(notification(method, params))
	}
}

func (p *peer) wants(method string) bool {
	without := p.without.Load()
	return without == nil || !slices.Contains(*without, method)
}

// warn shows a text in the client's list of warnings.
func (p *peer) warn(session, text string) {
	p.notify(noticeWarning, object{"threadId": session, "message": text})
}

// leave ends what the socket follows.
func (p *peer) leave() {
	p.mu.Lock()
	all := p.follows
	p.follows, p.gone = nil, true
	p.mu.Unlock()
	for _, one := range all {
		one.end()
	}
}

// listen says to the stream which sessions the socket follows, so that their live text comes from other nodes.
// It requires mu.
func (p *peer) listen() {
	sessions := make([]string, 0, len(p.follows))
	for id := range p.follows {
		sessions = append(sessions, id)
	}
	slices.Sort(sessions)
	p.Socket.SetAudience(stream.Audience{Key: "app-server\x00" + strings.Join(sessions, "\x00"), Sessions: sessions,
		Sees: func(*stream.Frame) bool { return false }})
}
