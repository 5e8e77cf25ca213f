package acp

import (
	"bytes"
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
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
	"harness/internal/services/audit"
	"harness/stream"
)

// peer is one socket.
type peer struct {
	*door.Caller
	server *Server
	out    *door.Outbox
	// runtime is the runtime of new sessions.
	runtime string
	// client is nil before the client initializes.
	client atomic.Pointer[client]
	// opening is held for reading while a session opens. Messages about sessions wait for it.
	opening sync.RWMutex

	mu      sync.Mutex // held before the locks of a follow
	gone    bool
	follows map[string]*follow
	// cancels counts the cancellations by session, in the order of the client's messages.
	cancels map[string]int
}

// call is one request of a socket.
type call struct {
	*peer
	id     json.RawMessage
	method *method
	params json.RawMessage
	// cancels are the cancellations of the session before this message.
	cancels int
	// session is the session that the call is about, "" if unknown.
	session string
	// send, when set, sends the answer instead of the outbox; after runs once it is sent.
	send  func(answer []byte)
	after []func()
}

// later is the result of a call whose answer is sent at another time.
var later = new(struct{ _ byte })

func (p *peer) ops() *operations.Service { return p.server.opts.Operations }

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
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		p.out.Put(answer(nil, nil, &failure{Code: codeInvalidRequest, Message: "a message is one object, not a batch"}))
		return
	}
	if json.Unmarshal(text, &m) != nil {
		p.out.Put(answer(nil, nil, &failure{Code: codeParse, Message: "a message is one JSON object"}))
		return
	}
	row := p.server.methods[m.Method]
	if m.Method == words.Initialize {
		p.carryOut(p.Context, m, 0) // what follows may come before its answer
		return
	}
	if m.Method != "" && m.ID == nil && (row == nil || !row.notifies) {
		return
	}
	cancels := p.countCancels(m)
	done := func() {}
	if row != nil && row.opens {
		p.opening.RLock()
		done = p.opening.RUnlock
	}
	p.server.desk.Run(p.Caller, func() ([]byte, func()) {
		defer done()
		if row == nil || !row.opens {
			p.opening.Lock()
			p.opening.Unlock() //nolint:staticcheck // sessions that open are open now
		}
		if m.Method == "" {
			p.decide(p.Context, m)
		} else {
			p.carryOut(p.Context, m, cancels)
		}
		return nil, nil
	}, func(reason door.Refusal, wait time.Duration) []byte {
		done()
		if m.ID == nil || m.Method == "" {
			return nil
		}
		return answer(m.ID, nil, refusal(reason, wait))
	})
}

// countCancels counts a cancellation, and returns those of the session by now. A message may be carried out before an
// earlier one.
func (p *peer) countCancels(m message) int {
	if m.Method != words.Cancel && m.Method != words.Prompt {
		return 0
	}
	id := wire.Text(wire.Members(m.Params, "sessionId")[0])
	p.mu.Lock()
	defer p.mu.Unlock()
	before, prompted := p.cancels[id]
	if m.Method == words.Prompt {
		p.cancels[id] = before
	} else if prompted {
		p.cancels[id]++
	}
	return p.cancels[id]
}

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
func (p *peer) carryOut(ctx context.Context, m message, cancels int) {
	c := &call{peer: p, id: m.ID, method: p.server.methods[m.Method], params: m.Params, cancels: cancels}
	result, failed := c.handle(ctx, m.Method)
	if c.method != nil && c.method.role == roleOperator {
		about := audit.Call{Protocol: "acp", Route: c.method.name, SessionID: c.session, Outcome: "ok"}
		if failed != nil {
			about.Outcome, about.Code = "refused", strconv.Itoa(failed.Code)
			if failed.Code == codeInternal {
				about.Outcome = "failed"
			}
		}
		calls.Record(ctx, p.Principal, about)
	}
	if sent := answer(c.id, result, failed); m.ID != nil && (failed != nil || result != later) {
		if c.send != nil && failed == nil {
			c.send(sent)
		} else {
			p.out.Put(sent)
		}
	}
	for _, after := range c.after {
		after()
	}
}

func (c *call) handle(ctx context.Context, name string) (result any, failed *failure) {
	if c.method == nil || c.method.handle == nil {
		reason, counted := "", "other" // names that the protocol does not have do not become labels
		if c.method != nil {
			reason, counted = ": "+c.method.refused, name
		}
		c.server.opts.Refused(counted)
		return nil, &failure{Code: codeNotOffered, Message: "not offered by this server: " + name + reason}
	}
	defer func() {
		if cause := recover(); cause != nil {
			telemetry.Log(ctx).Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Str("method", name).
				Msg("ACP handler panicked")
			result, failed = nil, &failure{Code: codeInternal, Message: "Internal error"}
		}
	}()
	if !c.mayCall() {
		return nil, &failure{Code: codeForbidden, Message: "a token with the role " + c.Principal.Role.Word() + " may not do this: " + name}
	}
	if name != words.Initialize && c.client.Load() == nil {
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
	return c.decides() || c.Principal.Role == auth.RoleMember && c.method.role == roleViewer
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
	case f.Code == operations.CodeSessionNotFound || f.Code == operations.CodeSessionDeleted:
		return &failure{Code: codeNotFound, Message: "Session " + c.session + " not found", Data: object{"sessionId": c.session}}
	case f.Native != nil:
		return &failure{Code: f.Native.Code, Message: f.Native.Message}
	case f.Code == operations.CodeInternal:
		if ctx.Err() == nil {
			telemetry.Log(ctx).Error().Err(err).Str("method", c.method.name).Msg("ACP request failed")
		}
		return &failure{Code: codeInternal, Message: "Internal error"}
	}
	failed := invalid(f.Message)
	failed.Data = object{"code": f.Code}
	if f.Retry {
		failed.Code = codeInternal
		failed.Data = object{"code": f.Code, "retry_after_ms": max(1000, f.RetryAfter.Milliseconds())}
	}
	if failed.Message == "" {
		failed.Message = err.Error()
	}
	return failed
}

// leave ends what the socket follows.
func (p *peer) leave() {
	p.server.mu.Lock()
	delete(p.server.peers, p)
	p.server.mu.Unlock()
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
	p.Socket.SetAudience(stream.Audience{Key: "acp\x00" + strings.Join(sessions, "\x00"), Sessions: sessions,
		Sees: func(*stream.Frame) bool { return false }})
}
