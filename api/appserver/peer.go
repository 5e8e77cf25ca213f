package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"harness/api/door"
	"harness/internal/operations"
)

// peer is one socket.
type peer struct {
	*door.Caller
	server *Server
	out    *door.Outbox

	// without are the notifications that the client does not want, nil before it initializes.
	without atomic.Pointer[[]string]
	views   *door.Views[*follow]
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

func (c *call) ops() *door.Operations { return c.server.opts.Operations }

// read decodes the parameters.
func (c *call) read(into any) error {
	if len(c.params) > 0 && json.Unmarshal(c.params, into) != nil {
		return door.Invalid("The parameters of " + c.method.name + " have an unexpected form")
	}
	return nil
}

// OnMessage implements stream.Listener.
func (p *peer) OnMessage(text []byte) {
	var m door.Message
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
	p.server.Desk.Run(p.Caller, func() ([]byte, func()) {
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
		return form.Answer(m.ID, nil, reason.Failed(wait))
	})
}

// closeInvalid is the close code of a socket that sends something other than JSON.
const closeInvalid = 1007

// carryOut executes a request and sends its answer.
func (p *peer) carryOut(ctx context.Context, m door.Message) {
	c := &call{peer: p, id: m.ID, method: p.server.methods[m.Method], params: m.Params}
	try := c.attempt(m.Method)
	result, failed := c.handle(ctx, try)
	if try.Role == door.RoleOperator {
		c.Record(ctx, try, c.session, failed)
	}
	sent := form.Answer(c.id, result, failed)
	if c.send != nil && failed == nil {
		c.send(sent)
	} else {
		p.out.Put(sent)
	}
	for _, after := range c.after {
		after()
	}
}

// attempt describes the request, for the rules of all doors.
func (c *call) attempt(name string) door.Attempt {
	try := door.Attempt{Protocol: protocol, Method: name, Reads: c.server.opts.Reads, Failed: c.failed}
	if c.method != nil && c.method.handle != nil {
		try.Role, try.Run = c.method.role, func(ctx context.Context) (any, error) { return c.method.handle(ctx, c) }
	}
	try.Ready = name == methodInitialize || c.without.Load() != nil
	return try
}

func (c *call) handle(ctx context.Context, try door.Attempt) (result any, failed *door.Failure) {
	if try.Run == nil {
		c.server.countRefused(try.Method)
		reason := ""
		if c.method != nil {
			reason = c.method.refused
		}
		return nil, door.NotOffered(try.Method, reason)
	}
	return c.CarryOut(ctx, try)
}

// failed converts an error into the failure of an answer.
func (c *call) failed(ctx context.Context, err error) *door.Failure {
	var own *door.Failure
	if errors.As(err, &own) {
		return own
	}
	failed := c.attempt(c.method.name).FailureOf(ctx, err, door.CodeInvalidRequest)
	switch operations.Classify(err).Code {
	case operations.CodeOwnerUnreachable, operations.CodeTurnLeftOpen, operations.CodeLimitReached:
		// Nothing was done. The TUI takes an internal error for a doubt: it hides the text, and the draft is queued.
		failed.Code = door.CodeInvalidRequest
	}
	return failed
}

// notify sends a notification that is about no stored event.
func (p *peer) notify(method string, params any) {
	if p.wants(method) {
		p.out.Put(form.Request("", method, params))
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
