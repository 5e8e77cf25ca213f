package wire

import (
	"context"
	"encoding/json"
	"sync"
)

// Call executes one request. Its error is an *Error, or any error that the server converts to one.
type Call func(ctx context.Context, request Request) (result any, failed *Error)

// Sent is the result of a call that already sent its response.
type Sent struct{}

// batchWidth is how many requests of a batch run concurrently.
const batchWidth = 8

// Outcome is the result of a message.
type Outcome struct {
	// Reply is the response, nil if there is none.
	Reply json.RawMessage
	after []func()
}

// After runs deferred work once the response is sent.
func (o Outcome) After() {
	for _, fn := range o.after {
		fn()
	}
}

type laterKey struct{}

type later struct {
	mu  sync.Mutex
	fns []func()
}

// Later defers work until the response to the current message is sent.
func Later(ctx context.Context, fn func()) {
	if l, ok := ctx.Value(laterKey{}).(*later); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fns = append(l.fns, fn)
		return
	}
	fn()
}

// Serve executes a message and builds the response. Requests of a batch run concurrently, and the responses keep the
// order of the requests.
func Serve(ctx context.Context, text []byte, call Call) Outcome {
	put := &later{}
	ctx = context.WithValue(ctx, laterKey{}, put)
	m := read(text)
	if !m.batch {
		reply := m.parts[0].serve(ctx, call)
		return Outcome{Reply: reply, after: put.fns}
	}
	replies := make([]json.RawMessage, len(m.parts))
	places := make(chan struct{}, batchWidth)
	var running sync.WaitGroup
	for i := range m.parts {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			replies[i] = m.parts[i].serve(ctx, call)
		})
	}
	running.Wait()
	out := Outcome{after: put.fns}
	for _, reply := range replies {
		if reply == nil {
			continue
		}
		lead := byte('[')
		if out.Reply != nil {
			lead = ','
		}
		out.Reply = append(append(out.Reply, lead), reply...)
	}
	if out.Reply != nil {
		out.Reply = append(out.Reply, ']')
	}
	return out
}

func (p part) serve(ctx context.Context, call Call) json.RawMessage {
	id := p.request.ID
	if p.refused != nil {
		return Failure(id, p.refused)
	}
	result, failed := call(ctx, p.request)
	switch _, sent := result.(Sent); {
	case p.request.Notification(), sent && failed == nil:
		return nil
	case failed != nil:
		return Failure(id, failed)
	}
	return Result(id, result)
}
