package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/runtime"
)

// maxInFlight is how many requests may wait for an answer at a time. codex drops requests for good when somewhat more than 128 are open.
const maxInFlight = 32

// writeTimeout is how long codex may refuse to read a frame before its process counts as stuck.
const writeTimeout = 30 * time.Second

// pipes is what a connection needs of a process.
type pipes struct {
	in   writer
	out  io.Reader
	kill func()
	// once writes a line unless one with the same key was written to this process before, by whomever; nil when only we write to it.
	once func(key string, line []byte) (int, error)
	// call writes a line that asks for an answer, settled says that it is waited for no more: what happens in between is known to the next
	// server. nil when only we talk to the process.
	call    func(label string, line []byte) (int, error)
	settled func(label string)
	// ack says up to which offset the process's output is stored for good; nil when nobody keeps it.
	ack func(offset int64)
}

type writer interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}

// conn is the conversation with one runtime process: it pairs answers with requests and passes everything else on in order.
type conn struct {
	generation string
	wire       pipes
	log        zerolog.Logger
	out        *queue
	counters   *counters
	turns      *tracker
	pulse      pulse

	slots   chan struct{}
	writing chan struct{}

	mu       sync.Mutex
	nextID   int64
	pending  map[string]*pending
	requests map[string]openRequest
	former   map[string]formerCall
	lost     map[string]bool // threads of former calls that were reported as unanswered
	dead     error

	// gone is closed when nothing more will come from the process.
	gone     chan struct{}
	refusing sync.WaitGroup
	probing  sync.WaitGroup
	// spoke is when the process last said something (ns); told and stored are the offsets of the last signal, and of the last that is stored.
	spoke, told, stored atomic.Int64
	onStarted           func()
	hello               json.RawMessage // the answer to initialize

	// offset is where the output begins that we read, attachment how many servers have talked to the process, us included; inherited says
	// that there were others. pushed is the last offset told.
	offset, attachment, pushed int64
	inherited                  bool
}

const (
	// attachmentShift keeps the request ids of one server apart from those of the servers before it.
	attachmentShift = 32
	// positionStep is how much may be read without a signal before the position is told by itself, so that a spool can be let go.
	positionStep = 1 << 20
)

// pending is a request that waits for its answer.
type pending struct {
	method string
	thread string
	label  string
	answer chan answer
}

type answer struct {
	result json.RawMessage
	err    error
}

// openRequest is a request of the runtime that waits for a person.
type openRequest struct{ thread, turn string }

func newConn(generation string, w pipes, out *queue, counters *counters, log zerolog.Logger) *conn {
	return &conn{
		generation: generation, wire: w, log: log, out: out, counters: counters, turns: newTracker(), pulse: pulse{source: w.out},
		slots: make(chan struct{}, maxInFlight), writing: make(chan struct{}, 1),
		pending: map[string]*pending{}, requests: map[string]openRequest{}, lost: map[string]bool{}, gone: make(chan struct{}),
	}
}

// read runs until the process's stdout ends.
func (c *conn) read() {
	lines := newLineReader(&c.pulse, maxLine)
	lines.offset, c.pushed = c.offset, c.offset
	lines.skipping = func() { c.passed(lines.offset) }
	for {
		line, err := lines.next()
		if errors.Is(err, errLineTooLong) {
			c.counters.oversized.Add(1)
			c.log.Warn().Int("limit", maxLine).Msg("codex wrote a line above the limit; skipped")
			continue
		}
		if err != nil {
			break
		}
		if s, first, ok := c.take(line); ok {
			c.push(first, lines.offset, s)
		} else {
			c.passed(lines.offset)
		}
	}
	c.fail(fmt.Errorf("%w: the codex process is gone", runtime.ErrUnavailable))
	c.refusing.Wait()
	c.probing.Wait()
	close(c.gone)
}

// push passes on what a line means, with its place in the output when that is kept. It is not delivered before first is closed.
func (c *conn) push(first <-chan struct{}, offset int64, signals ...runtime.Signal) {
	c.spoke.Store(time.Now().UnixNano())
	batch := runtime.Batch{Generation: c.generation, Signals: signals}
	if ack := c.wire.ack; ack != nil {
		c.pushed = offset
		c.told.Store(offset)
		batch.Offset, batch.Stored = offset, func() {
			c.stored.Store(max(offset, c.stored.Load()))
			ack(offset)
		}
	}
	c.out.pushAfter(first, batch)
}

// passed notes output that concerns nobody.
func (c *conn) passed(offset int64) {
	if c.wire.ack != nil && offset-c.pushed >= positionStep {
		c.push(nil, offset)
	}
}

// take handles one line and returns the signal it is, if any, and what has to be done before it is delivered. It must not wait for codex:
// codex may be waiting for us to read.
func (c *conn) take(line []byte) (s runtime.Signal, first <-chan struct{}, ok bool) {
	at := time.Now()
	f, err := parseFrame(line)
	kind := f.kind()
	if err != nil || kind == frameUnknown {
		c.counters.undecodable.Add(1)
		c.log.Debug().Err(err).Int("bytes", len(line)).Msg("codex wrote a line that is no frame; skipped")
		return runtime.Signal{}, nil, false
	}
	if kind == frameResponse {
		c.respond(f)
		return runtime.Signal{}, nil, false
	}
	if f.legacy() {
		c.counters.legacy.Add(1)
		return runtime.Signal{}, nil, false
	}
	s = classify(f, line, c.generation, at)
	if kind == frameRequest {
		return s, c.ask(s), true
	}
	c.notice(s)
	return s, nil, !hydrationNotice(s) && !c.turns.hides(s.ThreadID, s.Method)
}

// ask notes a request of the runtime, or refuses it when nobody can answer it; the channel is closed when that is done. The request must not
// be stored before: a server that dies in between would leave one behind that no other server hears of, and codex would wait for ever.
func (c *conn) ask(s runtime.Signal) (refused <-chan struct{}) {
	if s.Change != nil {
		c.mu.Lock()
		c.requests[string(s.RequestID)] = openRequest{thread: s.ThreadID, turn: s.TurnID}
		c.mu.Unlock()
		return nil
	}
	done := make(chan struct{})
	c.refusing.Go(func() {
		defer close(done)
		message := "method not supported by this client: " + s.Method
		_ = c.sendOnce(context.Background(), answerKey(s.RequestID), outgoing{ID: s.RequestID, Error: &rpcError{Code: codeMethodNotFound, Message: message}})
	})
	if c.wire.ack == nil {
		return nil // a child of ours dies with us
	}
	return done
}

// notice keeps the connection's own state in step with what the runtime reports.
func (c *conn) notice(s runtime.Signal) {
	c.turns.notice(s)
	switch change := s.Change.(type) {
	case runtime.RequestResolved:
		c.mu.Lock()
		delete(c.requests, string(change.RequestID))
		c.mu.Unlock()
	case runtime.TurnCompleted:
		// A turn that is over asks nothing any more. 0.101 does not say so with serverRequest/resolved.
		c.mu.Lock()
		for id, open := range c.requests {
			if open.thread == s.ThreadID && open.turn == change.TurnID {
				delete(c.requests, id)
			}
		}
		c.mu.Unlock()
	}
}

func (c *conn) respond(f frame) {
	c.mu.Lock()
	p := c.pending[string(f.ID)]
	delete(c.pending, string(f.ID))
	c.mu.Unlock()
	if p == nil {
		if !c.formerAnswered(f) {
			c.late(f)
		}
		return
	}
	c.settle(p)
	if f.Error != nil {
		c.out.pushAnswer(func() { p.answer <- answer{err: refusal(p.method, f.Error)} })
		return
	}
	c.turns.answered(p.method, p.thread, f.Result)
	if p.method == "initialize" && c.onStarted != nil {
		c.hello = f.Result
		c.onStarted()
	}
	c.out.pushAnswer(func() { p.answer <- answer{result: f.Result} })
}

// late is the answer to a request that was given up, or that a server before us made. What the request did shows in the notifications.
func (c *conn) late(f frame) {
	c.counters.late.Add(1)
	if !c.inherited {
		return
	}
	var hello struct {
		UserAgent string `json:"userAgent"`
	}
	if len(c.hello) == 0 && f.Error == nil && json.Unmarshal(f.Result, &hello) == nil && hello.UserAgent != "" {
		c.hello = f.Result
		c.onStarted()
	}
}

// fail ends every open call with the cause and lets later ones fail at once.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return
	}
	c.dead = cause
	for id, p := range c.pending {
		delete(c.pending, id)
		p.answer <- answer{err: cause}
	}
	clear(c.requests)
}

// claim takes a request of the runtime out of the open ones; true for exactly one caller.
func (c *conn) claim(requestID json.RawMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.requests[string(requestID)]
	delete(c.requests, string(requestID))
	return open
}

// outgoing is a frame to the runtime.
type outgoing struct {
	ID     any             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params any             `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

// answerKey is what the answer to a request is known by: it must reach codex once, whichever server sends it.
func answerKey(requestID json.RawMessage) string { return "answer:" + string(requestID) }

func (c *conn) send(ctx context.Context, frame outgoing) error {
	return c.write(ctx, frame, c.wire.in.Write)
}

// sendOnce is send, but of frames with the same key only the first reaches a process that several servers talk to.
func (c *conn) sendOnce(ctx context.Context, key string, frame outgoing) error {
	if c.wire.once == nil {
		return c.send(ctx, frame)
	}
	return c.write(ctx, frame, func(line []byte) (int, error) { return c.wire.once(key, line) })
}

// sendCall is send for a request that a server after us must know of when it is not settled.
func (c *conn) sendCall(ctx context.Context, label string, frame outgoing) error {
	if c.wire.call == nil || label == "" {
		return c.send(ctx, frame)
	}
	return c.write(ctx, frame, func(line []byte) (int, error) { return c.wire.call(label, line) })
}

// settle says that a call is waited for no more.
func (c *conn) settle(p *pending) {
	if c.wire.settled != nil && p.label != "" {
		c.wire.settled(p.label)
	}
}

// write writes one frame whole. A process that does not read for writeTimeout is killed: half a frame can not be taken back.
func (c *conn) write(ctx context.Context, frame outgoing, write func(line []byte) (int, error)) error {
	line, err := encode(frame)
	if err != nil {
		return fmt.Errorf("encode a frame to codex: %w", err)
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writing }()
	c.mu.Lock()
	dead := c.dead
	c.mu.Unlock()
	if dead != nil {
		return dead
	}
	_ = c.wire.in.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := write(line); err != nil {
		cause := fmt.Errorf("%w: writing to the codex process failed: %w", runtime.ErrUnavailable, err)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.log.Error().Dur("after", writeTimeout).Msg("codex does not read its input; killing it")
		}
		c.fail(cause)
		c.wire.kill()
		return cause
	}
	return nil
}
