package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
)

// probeMethod is the health probe. Every supported version answers it within milliseconds, even during turns, silent
// tool calls and pending approvals. It changes nothing and causes no notification.
const probeMethod = "thread/loaded/list"

// methodInitialize starts the connection.
const methodInitialize = "initialize"

// conn is the connection with one codex process (stdio.Protocol), with the state of its loaded conversations.
type conn struct {
	*stdio.Conn
	codex   *Codex
	turns   *tracker
	version version
}

// speak creates the connection with a process.
func (c *Codex) speak(line *stdio.Conn) stdio.Protocol {
	turns := newTracker()
	turns.natives = c.launcher.Natives
	return &conn{Conn: line, codex: c, turns: turns}
}

// connOf returns the conn of a supervisor's connection.
func connOf(line *stdio.Conn) *conn {
	if line == nil {
		return nil
	}
	own, _ := line.Protocol().(*conn)
	return own
}

// Greet implements stdio.Protocol.
func (c *conn) Greet(ctx context.Context) error {
	options := c.codex.options
	hello := object{
		"clientInfo":   object{"name": "harness", "title": "Harness", "version": options.Setup.Version},
		"capabilities": object{"experimentalApi": true, "requestAttestation": false},
	}
	said, err := c.Call(ctx, options.Setup.Supervise.StartTimeout, methodInitialize, hello)
	if c.Inherited() && alreadyInitialized(err) {
		// The previous server stopped at this point.
		c.Started(nil)
		err = nil
	}
	if errors.Is(err, runtime.ErrTimeout) {
		return fmt.Errorf(
			"codex did not answer initialize within %s: check that CODEX_BIN is codex and that CODEX_HOME is readable",
			options.Setup.Supervise.StartTimeout)
	}
	if err != nil {
		return fmt.Errorf("codex failed to initialize: %w; its stderr is in the log", err)
	}
	if installed := parseVersion(helloOf(said).UserAgent); installed.tooOld() {
		return fmt.Errorf("codex %s is too old: at least %s is needed; install it with: %s", installed, oldest, installCommand)
	}
	if err := c.logIn(ctx); err != nil && ctx.Err() == nil {
		c.codex.log.Warn().Err(err).Msg("it is not known whether codex is logged in, or it could not be with " + keyVariable)
	}
	c.Started(said) // unless the answer already did so
	if err := c.send(ctx, outgoing{Method: "initialized"}); err != nil {
		return fmt.Errorf("codex failed to initialize: %w", err)
	}
	return nil
}

// hello is codex's description of itself.
type hello struct {
	UserAgent string `json:"userAgent"`
	Home      string `json:"codexHome"`
}

func helloOf(said json.RawMessage) (h hello) {
	_ = json.Unmarshal(said, &h) // unreadable members stay empty
	return h
}

// started reads codex's description of itself, with the version of the process.
func (c *Codex) started(line *stdio.Conn) string {
	hello := helloOf(line.Hello())
	own := connOf(line)
	own.version = parseVersion(hello.UserAgent)
	c.rollouts.mu.Lock()
	defer c.rollouts.mu.Unlock()
	c.reported = hello.Home
	return cmp.Or(own.version.String(), hello.UserAgent)
}

// Resume implements stdio.Protocol.
func (c *conn) Resume(stored runtime.Resumption) {
	for _, turn := range stored.Turns {
		c.turns.notice(runtime.Signal{ThreadID: turn.ThreadID, Change: runtime.TurnStarted{TurnID: turn.TurnID}})
	}
}

// Read implements stdio.Protocol.
func (c *conn) Read(line []byte, at time.Time) (stdio.Line, error) {
	f, err := parseFrame(line)
	if err != nil {
		return stdio.Line{}, err
	}
	switch kind := f.kind(); {
	case kind == frameUnknown:
		return stdio.Line{}, errors.New("neither a notification nor a request nor an answer")
	case kind == frameResponse:
		said := stdio.Line{Answer: string(f.ID), Result: f.Result}
		if f.Error != nil {
			said.Refusal = func(method string) error { return refusal(method, f.Error) }
		}
		return said, nil
	case f.legacy():
		c.codex.legacy.Add(1)
		return stdio.Line{}, nil
	}
	s := classify(f, line, c.Generation(), at)
	if s.Kind == runtime.SignalNotification {
		// From 0.171 on, codex sends warnings about a conversation before it answers thread/start, but never its start.
		s.WorkerOpening = s.ThreadID != "" && s.Method != wire.MethodThreadStarted && c.Announcing(announcesWorker)
		c.turns.notice(s)
		if hydrationNotice(s) || c.turns.hides(s.ThreadID, s.Method) {
			c.codex.launcher.Natives.Remember(&s)
			return stdio.Line{}, nil
		}
	}
	return stdio.Line{Signals: []runtime.Signal{s}}, nil
}

// AnswerIn implements stdio.Protocol.
func (c *conn) AnswerIn(line []byte) string {
	if f, err := parseFrame(line); err == nil && f.kind() == frameResponse {
		return string(f.ID)
	}
	return ""
}

// Answered implements stdio.Protocol.
func (c *conn) Answered(method, threadID string, result json.RawMessage) {
	switch method {
	case methodInitialize:
		// With a key, the process is usable after its login, see Greet.
		if c.codex.launcher.Variable(keyVariable) == "" && !parseVersion(helloOf(result).UserAgent).tooOld() {
			c.Started(result)
		}
	case "":
		var hello struct {
			UserAgent string `json:"userAgent"`
		}
		if c.Inherited() && len(c.Hello()) == 0 && json.Unmarshal(result, &hello) == nil && hello.UserAgent != "" {
			c.Started(result) // the request of an earlier server that died before the answer
		}
	default:
		c.turns.answered(method, threadID, result)
	}
}

// Describe implements stdio.Protocol.
func (c *conn) Describe(method string, params any) stdio.Call {
	reads := strings.HasSuffix(method, "/list") || strings.HasSuffix(method, "/read")
	call := stdio.Call{ThreadID: threadOf(params), Harmless: reads}
	if _, is := params.(workerStart); is {
		call.Announces = announcesWorker
	}
	repeatable := reads
	switch method {
	case methodInitialize, "thread/resume":
		repeatable, call.Harmless = true, true
	case "thread/name/set", "turn/interrupt":
		repeatable = true
	}
	if repeatable {
		call.Overloaded = overloaded
	}
	return call
}

// Frame implements stdio.Protocol.
func (c *conn) Frame(id int64, method string, params any) ([]byte, error) {
	return c.encode(outgoing{ID: id, Method: method, Params: params})
}

// Refuse implements stdio.Protocol.
func (c *conn) Refuse(request runtime.Signal) ([]byte, error) {
	message := "method not supported by this client: " + request.Method
	switch {
	case request.Method == wire.MethodElicit && request.Change == nil:
		message = fmt.Sprintf("no person can be asked: a form has at most %d bytes", runtime.LongItem)
	case request.Change != nil:
		message = "no person can be asked: this client has no such thread of yours"
	}
	return c.encode(outgoing{ID: request.RequestID, Error: &rpcError{Code: codeMethodNotFound, Message: message}})
}

// overloaded reports whether codex refused a request because too many are open.
func overloaded(err error) bool {
	native, refused := asNative(err)
	return refused && native.Code == codeOverloaded
}

// Probe implements stdio.Prober.
func (c *conn) Probe() (method string, params any) { return probeMethod, object{"limit": 1} }

// encode writes a frame in codex's format.
func (c *conn) encode(frame outgoing) ([]byte, error) {
	return encode(frame)
}

func (c *conn) send(ctx context.Context, frame outgoing) error {
	line, err := c.encode(frame)
	if err != nil {
		return fmt.Errorf("encode a frame to codex: %w", err)
	}
	return c.Send(ctx, line)
}

// answer answers a request of codex.
func (c *conn) answer(ctx context.Context, requestID json.RawMessage, frame outgoing) error {
	line, err := c.encode(frame)
	if err != nil {
		return fmt.Errorf("encode an answer to codex: %w", err)
	}
	return c.SendOnce(ctx, requestID, line)
}

// use waits for a starting process and returns its connection. Until the caller calls done, the process is not
// recycled, and the conversation ("" for none) stays loaded.
func (c *Codex) use(ctx context.Context, thread string) (own *conn, v version, done func(), err error) {
	line, unuse, err := c.process.Use(ctx)
	if err != nil {
		return nil, version{}, nil, err
	}
	own = connOf(line)
	if err := own.turns.enter(ctx, thread); err != nil {
		unuse()
		return nil, version{}, nil, runtime.WithKind(runtime.ErrUnavailable, fmt.Errorf("session %s is being unloaded: %w", thread, err))
	}
	return own, own.version, func() { own.turns.release(thread); unuse() }, nil
}

// Recalled reports on earlier servers' calls in a conversation. open: codex may still answer one, or has not
// announced its turn. lost: one stayed unanswered for too long.
func (c *Codex) Recalled(threadID string) (open, lost bool) {
	own := connOf(c.process.Current())
	if own == nil {
		return true, false // it is still starting, or has just ended
	}
	if active, announced, _ := own.turns.turn(threadID); active != "" && !announced {
		return true, false
	}
	return own.Recalled(threadID)
}
