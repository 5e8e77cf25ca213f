package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
)

// maxInFlight bounds the open requests. Beyond about 128 open requests, codex drops further ones for good.
const maxInFlight = 32

// writeTimeout is how long an agent may leave a line unread before its process counts as hung.
const writeTimeout = 30 * time.Second

// pipes are the operations that a connection needs from a process.
type pipes struct {
	in   writer
	out  io.Reader
	kill func()
	// once writes a line unless a server already sent this process one with the same key; nil when only this server
	// writes to the process.
	once func(key string, line []byte) (int, error)
	// call writes a request and settled marks it as answered, so that the next server gets the open ones. Both are
	// nil when only this server writes to the process.
	call    func(label string, line []byte) (int, error)
	settled func(label string)
	// note stores a value for the next server; nil when there is no place for it.
	note func(value json.RawMessage)
	// ack reports the offset up to which the process's output is durable; nil without a spool.
	ack func(offset int64)
	// stalled reports that the spool currently accepts no output; nil without a spool.
	stalled func() bool
}

type writer interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}

// Conn is the connection with one process. It matches answers to requests and passes all other lines on in order.
type Conn struct {
	name       string
	generation string
	pipes      pipes
	log        zerolog.Logger
	out        *queue
	counters   *Counters
	called     Called // nil for no callback
	natives    *Natives
	protocol   Protocol
	pulse      pulse

	slots   chan struct{}
	writing chan struct{}

	mu       sync.Mutex
	nextID   int64
	pending  map[string]*pending
	requests map[string]openRequest
	orphaned map[string]orphanedCall
	lost     map[string]bool // threads of orphaned calls that the connection reported as unanswered
	labels   []string        // of earlier servers' SendOpen
	dead     error

	// ending receives the reason why the process must end.
	ending chan *EndedError
	// gone is closed after the last output of the process.
	gone     chan struct{}
	refusing sync.WaitGroup
	probing  sync.WaitGroup
	// made is the creation time of the connection, spoke the time of the last later output (ns). lastBatch and stored
	// are the offsets of the last batch and of the last stored batch.
	made                     time.Time
	spoke, lastBatch, stored atomic.Int64
	// onStarted runs once, when the process is usable. hello is the process's description of itself.
	onStarted func()
	hello     json.RawMessage

	// offset is the start of this server's output. attachment is the number of servers that attached to the process,
	// including this one. inherited is set if there were others. pushed is the last offset passed on.
	offset, attachment, pushed int64
	inherited                  bool
	// readOffset is the end of the current line.
	readOffset int64
}

const (
	// attachmentShift separates the request ids of successive servers.
	attachmentShift = 32
	// positionStep is the number of irrelevant bytes after which the connection sends the position alone, so that the
	// shim can trim the spool.
	positionStep = 1 << 20
)

// newConn makes the connection with a process from the launcher.
func newConn(launcher *Launcher, generation string, p pipes, out *queue, speak func(*Conn) Protocol) *Conn {
	c := &Conn{
		name: launcher.launch.Name, generation: generation, pipes: p, out: out, called: launcher.launch.Called,
		log:      launcher.launch.Logger.With().Str("generation", generation).Logger(),
		counters: &launcher.Counters, natives: launcher.Natives,
		pulse: pulse{source: p.out}, slots: make(chan struct{}, maxInFlight), writing: make(chan struct{}, 1),
		onStarted: func() {}, pending: map[string]*pending{}, requests: map[string]openRequest{}, lost: map[string]bool{},
		gone: make(chan struct{}), ending: make(chan *EndedError, 1), made: time.Now(),
	}
	c.protocol = speak(c)
	return c
}

// Protocol returns the agent's protocol on this connection (Options.Speak).
func (c *Conn) Protocol() Protocol { return c.protocol }

// Generation identifies the process.
func (c *Conn) Generation() string { return c.generation }

// Inherited reports whether earlier servers attached to the process.
func (c *Conn) Inherited() bool { return c.inherited }

// Hello returns the process's description of itself from its handshake, nil if unknown.
func (c *Conn) Hello() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hello
}

// ReadOffset returns the end of the current line in the process's output, for Protocol.Read.
func (c *Conn) ReadOffset() int64 { return c.readOffset }

// Gone is closed after the last output of the process.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Started marks the process as usable. The Protocol calls it from Read or Answered to keep the order, or from Greet
// if no line shows that the process is usable. hello is the process's description of itself, nil if unknown; later
// servers get it. Only the first call counts.
func (c *Conn) Started(hello json.RawMessage) {
	c.mu.Lock()
	if len(c.hello) == 0 {
		c.hello = hello
	}
	c.mu.Unlock()
	c.onStarted()
}

// read runs until the process's stdout ends.
func (c *Conn) read() {
	lines := newLineReader(&c.pulse, maxLine)
	lines.offset, c.pushed = c.offset, c.offset
	lines.skipping = func() { c.passed(lines.offset) }
	for {
		line, err := lines.next()
		if errors.Is(err, errLineTooLong) {
			c.counters.Oversized.Add(1)
			c.log.Warn().Int("limit", maxLine).Msg(c.name + " wrote a line above the limit; skipped")
			continue
		}
		if err != nil {
			break
		}
		c.readOffset = lines.offset
		if said, first := c.handle(line); said.internal() {
			c.passed(lines.offset)
		} else {
			c.push(first, lines.offset, said)
		}
		if len(line) > hugeLine {
			// Release the line. An idle agent may cause no collection for minutes, which would keep a line of up to
			// 64 MiB and its copies. Without this, a few such lines took 184 and 237 MiB, against a limit of 128.
			c.out.drain()
			debug.FreeOSMemory()
		}
	}
	c.fail(fmt.Errorf("%w: the %s process is gone", runtime.ErrProcessGone, c.name))
	c.refusing.Wait()
	c.probing.Wait()
	close(c.gone)
}

// push passes on the meaning of a line, with its offset if there is a spool. Delivery waits until first is closed.
func (c *Conn) push(first <-chan struct{}, offset int64, said Line) {
	c.spoke.Store(int64(time.Since(c.made)))
	batch := runtime.Batch{Generation: c.generation, Native: said.Native, Signals: said.Signals, About: said.About,
		State: said.State, Refuse: c.sendRefusal}
	if ack := c.pipes.ack; ack != nil {
		c.pushed = offset
		c.lastBatch.Store(offset)
		kept := c.kept(offset)
		batch.Offset, batch.Stored = offset, func() {
			c.stored.Store(max(offset, c.stored.Load()))
			ack(kept)
			if said.settles != nil {
				c.settle(said.settles)
			}
		}
	}
	c.out.pushAfter(first, batch)
}

// passed counts irrelevant output.
func (c *Conn) passed(offset int64) {
	if c.pipes.ack != nil && offset-c.pushed >= positionStep {
		c.push(nil, offset, Line{})
	}
}

// handle handles one line. It returns the data to pass on, and a channel that must close before its delivery.
func (c *Conn) handle(line []byte) (said Line, first <-chan struct{}) {
	said, err := c.protocol.Read(line, time.Now())
	switch {
	case err != nil:
		c.counters.Undecodable.Add(1)
		c.log.Debug().Err(err).Int("bytes", len(line)).Msg(c.name + " wrote a line that means nothing; skipped")
		return Line{}, nil
	case said.Answer != "":
		c.respond(said)
		return Line{}, nil
	}
	for i := range said.Signals {
		c.natives.Remember(&said.Signals[i])
	}
	first = c.notice(said.Signals)
	if said.Reply != nil {
		first = c.reply(string(said.ReplyTo), func() error {
			return c.SendOnce(context.Background(), said.ReplyTo, said.Reply)
		}, first)
	}
	return said, first
}

func (c *Conn) respond(said Line) {
	c.mu.Lock()
	p := c.pending[said.Answer]
	delete(c.pending, said.Answer)
	c.mu.Unlock()
	if p == nil {
		if !c.orphanAnswered(said) {
			c.counters.Late.Add(1)
			if said.Refusal == nil {
				c.protocol.Answered("", "", said.Result) // the agent's output shows the effect of the request
			}
		}
		return
	}
	if said.Refusal != nil {
		c.settle(p)
		c.out.pushAnswer(func() { p.answer <- answer{err: said.Refusal(p.method)} })
		return
	}
	c.answered(p, said.Result)
	c.out.pushAnswer(func() { p.answer <- answer{result: said.Result} })
}

// answered gives an answer to the protocol and passes on the signals it announces. If the server dies before it
// stores them, the next server gets the request.
func (c *Conn) answered(p *pending, result json.RawMessage) {
	c.protocol.Answered(p.method, p.thread, result)
	announcer, can := c.protocol.(Announcer)
	if p.announces == "" || !can {
		c.settle(p)
		return
	}
	signals, at := announcer.Announce(p.announces, result), time.Now()
	for i := range signals {
		signals[i].Generation, signals[i].ReceivedAt = c.generation, at
	}
	c.push(nil, c.readOffset, Line{Signals: signals, settles: p})
}

// fail ends every open call with the cause. Later calls fail at once.
func (c *Conn) fail(cause error) {
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

// Send writes a complete line. It replaces substitutes by the agent's own ids.
func (c *Conn) Send(ctx context.Context, line []byte) error {
	return c.write(ctx, line, c.pipes.in.Write)
}

// sendCall is Send for a request that later servers must have until it is settled.
func (c *Conn) sendCall(ctx context.Context, label string, line []byte) error {
	if c.pipes.call == nil || label == "" {
		return c.Send(ctx, line)
	}
	return c.write(ctx, line, func(line []byte) (int, error) { return c.pipes.call(label, line) })
}

// write writes one whole line. It kills a process that does not read for writeTimeout: half a line cannot be
// retracted.
func (c *Conn) write(ctx context.Context, line []byte, write func(line []byte) (int, error)) error {
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
	_ = c.pipes.in.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := write(c.natives.restore(line)); err != nil {
		cause := fmt.Errorf("%w: writing to the %s process failed: %w", runtime.ErrProcessGone, c.name, err)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.log.Error().Dur("after", writeTimeout).Msg(c.name + " does not read its input; killing it")
		}
		c.fail(cause)
		c.pipes.kill()
		return cause
	}
	return nil
}
