package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
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

	views *door.Views[*follow]

	mu sync.Mutex
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
	// ended means that a method for viewers ended a turn.
	ended bool
	// send, when set, sends the answer instead of the outbox; after runs once it is sent.
	send  func(answer []byte)
	after []func()
}

// later is the result of a call whose answer is sent at another time.
var later = new(struct{ _ byte })

func (p *peer) ops() *door.Operations { return p.server.opts.Operations }

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
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		p.out.Put(form.Answer(nil, nil, &door.Failure{Code: door.CodeInvalidRequest, Message: "a message is one object, not a batch"}))
		return
	}
	if json.Unmarshal(text, &m) != nil {
		p.out.Put(form.Answer(nil, nil, &door.Failure{Code: codeParse, Message: "a message is one JSON object"}))
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
	p.server.Desk.Run(p.Caller, func() ([]byte, func()) {
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
		return form.Answer(m.ID, nil, reason.Failed(wait))
	})
}

// countCancels counts a cancellation, and returns those of the session by now. A message may be carried out before an
// earlier one.
func (p *peer) countCancels(m door.Message) int {
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

// carryOut executes a request and sends its answer.
func (p *peer) carryOut(ctx context.Context, m door.Message, cancels int) {
	c := &call{peer: p, id: m.ID, method: p.server.methods[m.Method], params: m.Params, cancels: cancels}
	try := c.attempt(m.Method)
	result, failed := c.handle(ctx, try)
	if try.Role == door.RoleOperator || c.ended {
		c.Record(ctx, try, c.session, failed)
	}
	if sent := form.Answer(c.id, result, failed); m.ID != nil && (failed != nil || result != later) {
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

// attempt describes the request, for the rules of all doors.
func (c *call) attempt(name string) door.Attempt {
	try := door.Attempt{Protocol: protocol, Method: name, Reads: c.server.opts.Reads, Failed: c.failed}
	if c.method != nil && c.method.handle != nil {
		try.Role, try.Run = c.method.role, func(ctx context.Context) (any, error) { return c.method.handle(ctx, c) }
	}
	try.Ready = name == words.Initialize || c.client.Load() != nil
	return try
}

func (c *call) handle(ctx context.Context, try door.Attempt) (result any, failed *door.Failure) {
	if try.Run == nil {
		reason, counted := "", "other" // names that the protocol does not have do not become labels
		if c.method != nil {
			reason, counted = c.method.refused, try.Method
		}
		c.server.opts.Refused(counted)
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
	if f := operations.Classify(err); f.Code == operations.CodeSessionNotFound || f.Code == operations.CodeSessionDeleted {
		return &door.Failure{Code: codeNotFound, Message: "Session " + c.session + " not found", Data: object{"sessionId": c.session}}
	}
	return c.attempt(c.method.name).FailureOf(ctx, err, door.CodeInvalidParams)
}
