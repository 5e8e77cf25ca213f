package claude

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
)

// The server's requests. A message is one, too: its answer reports that it is queued.
const (
	callInitialize = "initialize"
	callInterrupt  = "interrupt"
	callMessage    = "message"
	callCancel     = "cancel_async_message"
	callProbe      = "mcp_status"
	callStopTask   = "stop_task"
	callLogin      = "claude_authenticate"
	callLoginCode  = "claude_oauth_callback"
)

// cancelQueued makes an interrupt also cancel the queued messages.
type cancelQueued struct{}

// queuedMessage is the id of a queued message.
type queuedMessage string

// protocol is the connection with one process (stdio.Protocol), which serves one session.
type protocol struct {
	*stdio.Conn
	hello   hello
	limit   time.Duration
	greeted func(json.RawMessage)
	marker  [10]byte // the prefix of the server's message ids for this process
	// tools are the MCP servers at the port for agents.
	tools []runtime.ToolServer

	mu        sync.Mutex
	state     state
	lastState []byte // the last published state
	// lastOutput is the time of the last output, except answers to the server's requests.
	lastOutput time.Time
	// failure is the error of a process that could not start.
	failure string
	changed chan struct{}
}

// hello has the data about a greeted process, for this and later servers.
type hello struct {
	Thread string `json:"thread"`
	Native string `json:"native"`
	// Cleared is Native after the conversation was cleared, "" if it never was.
	Cleared  string   `json:"cleared,omitempty"`
	Controls controls `json:"controls"`
	Version  string   `json:"version,omitempty"`
	// NativeToolsOff means that its own tools are disabled.
	NativeToolsOff bool `json:"nativeToolsOff,omitempty"`
}

func newProtocol(c *stdio.Conn, about hello, carried state, limit time.Duration,
	greeted func(json.RawMessage)) *protocol {
	p := &protocol{Conn: c, hello: about, limit: limit, greeted: greeted, changed: make(chan struct{}), state: carried,
		lastOutput: time.Now()}
	p.state.Thread, p.state.Cwd, p.state.Model = about.Thread, about.Controls.Cwd, about.Controls.Model
	sum := sha256.Sum256([]byte(c.Generation()))
	copy(p.marker[:], sum[:])
	p.marker[6], p.marker[8] = p.marker[6]&0x0f|0x40, p.marker[8]&0x3f|0x80 // the bits of a UUID
	return p
}

// replayed is a message that starts with the history of a lost conversation.
type replayed []any

// replayedMark is set in the number of such a message, to hide its history from clients. It does not overlap the
// counter of connections (bits 32 to 47) and a million requests of each.
const replayedMark = 0xFFE << 20

// isReplayed reports whether an id belongs to such a message. Only this server chooses the ids of messages to Claude
// Code.
func isReplayed(messageID string) bool {
	parsed, err := uuid.Parse(messageID)
	return err == nil && parsed[12] == 0xFF && parsed[13]>>4 == 0xE
}

// messageID returns the id of a request's message: the process's prefix and the request's number.
func (p *protocol) messageID(id int64, params any) string {
	if _, is := params.(replayed); is {
		id |= replayedMark
	}
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(id)) //nolint:gosec // ids are positive
	out := uuid.UUID(append(p.marker[:len(p.marker):len(p.marker)], number[2:]...))
	return out.String()
}

// requestOf returns the decimal number of a message's request; "" when this server did not send it.
func (p *protocol) requestOf(messageID string) string {
	parsed, err := uuid.Parse(messageID)
	if err != nil || !bytes.Equal(parsed[:len(p.marker)], p.marker[:]) {
		return ""
	}
	var number [8]byte
	copy(number[2:], parsed[len(p.marker):])
	id := binary.BigEndian.Uint64(number[:])
	if isReplayed(messageID) {
		id &^= replayedMark
	}
	return strconv.FormatUint(id, 10)
}

// Greet implements stdio.Protocol.
func (p *protocol) Greet(ctx context.Context) error {
	_, err := p.Call(ctx, p.limit, callInitialize, nil)
	if err == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != "" {
		return &refusedStart{said: p.failure}
	}
	return fmt.Errorf("no answer of Claude Code (%w): check that the program named by CLAUDE_BIN or on PATH is Claude Code %s or newer; "+
		"its stderr is in the log", err, Tested)
}

// refusedStart is Claude Code's output when it refuses to start.
type refusedStart struct{ said string }

func (e *refusedStart) Error() string { return "Claude Code refused to start: " + e.said }

// Resume implements stdio.Protocol.
func (p *protocol) Resume(stored runtime.Resumption) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(stored.State) > 0 {
		_ = json.Unmarshal(stored.State, &p.state) // this package wrote it
	}
	p.state.Thread = cmp.Or(p.hello.Thread, p.state.Thread)
}

// Read implements stdio.Protocol.
func (p *protocol) Read(line []byte, at time.Time) (stdio.Line, error) {
	var e event
	short, elided := wire.Elide(line, maxDetail)
	if err := json.Unmarshal(short, &e); err != nil && e.Type == "" {
		return stdio.Line{}, err
	}
	if e.Type == "" {
		return stdio.Line{}, errors.New("a line without a type")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Type != "control_response" && e.Type != "keep_alive" {
		p.lastOutput = at
	}
	said, mine := p.answer(&e)
	if mine {
		said.Result = elided.RestoreJSON(said.Result)
		return said, nil
	}
	if e.Type == "control_request" {
		if reply := p.settle(&e); reply != nil {
			id, _ := json.Marshal(e.RequestID) // a string always encodes
			return stdio.Line{ReplyTo: id, Reply: elided.RestoreJSON(reply)}, nil
		}
	}
	if e.Type == "result" && p.state.Turn == "" && len(e.Errors) > 0 {
		p.failure = strings.Join(e.Errors, "; ")
	}
	said = stdio.Line{Native: json.RawMessage(line), Signals: p.state.translate(&e, at.UnixMilli())}
	if elided != nil {
		keepContext(said.Signals, wire.Members(line, "request")[0])
	}
	elided.Restore(said.Signals)
	for i := range said.Signals {
		said.Signals[i].Generation, said.Signals[i].ReceivedAt = p.Generation(), at
	}
	if delta := e.Type == "stream_event" && e.Event.Type == "content_block_delta"; !delta {
		if now := encode(p.state); !bytes.Equal(now, p.lastState) {
			said.State, p.lastState = now, now
		}
		close(p.changed)
		p.changed = make(chan struct{})
	}
	return said, nil
}

// answer reads the answer to a request of the server; false when the line is not one. The caller holds mu.
func (p *protocol) answer(e *event) (stdio.Line, bool) {
	switch e.Type {
	case "command_lifecycle":
		if id := p.requestOf(e.Command); id != "" && e.State == "queued" {
			running := p.state.busy()
			p.state.translate(e, 0)
			return stdio.Line{Answer: id, Result: encode(begun{Turn: p.state.busy(), Steered: running != ""})}, true
		}
	case "control_response":
		if !decimal(e.Response.RequestID) {
			return stdio.Line{}, false
		}
		out := stdio.Line{Answer: e.Response.RequestID, Result: e.Response.Response}
		if e.Response.Subtype == "error" {
			why := e.Response.Error
			out.Refusal = func(method string) error { return &runtime.Error{Runtime: Name, Method: method, Message: why} }
		}
		return out, true
	}
	return stdio.Line{}, false
}

// begun is the result of a message: its turn, and whether the turn was already running.
type begun struct {
	Turn    string `json:"turn"`
	Steered bool   `json:"steered"`
}

func decimal(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// settle returns the answer to a request that needs no user, otherwise nil. The caller holds mu.
func (p *protocol) settle(e *event) []byte {
	switch e.Request.Subtype {
	case "hook_callback":
		var hook hookInput
		_ = json.Unmarshal(e.Request.Input, &hook) // a hook without a tool is denied below
		if p.isOurs(hook.Tool) {
			return controlResponse(e.RequestID, decision{"allow", "this server decides about its own tools"}.hookAnswer())
		}
		return controlResponse(e.RequestID, p.hello.Controls.decide(&p.state, hook.Tool, hook.Input).hookAnswer())
	case "can_use_tool":
		if len(e.RequestID) > runtime.MaxID {
			return controlRefusal(e.RequestID, "the id of the request is too long to be answered by a person")
		}
		if given, ok := p.hello.Controls.settled(&p.state, e.Request); ok {
			return controlResponse(e.RequestID, given)
		}
		return nil
	}
	return controlRefusal(e.RequestID, "the server does not offer "+e.Request.Subtype)
}

// AnswerIn implements stdio.Protocol.
func (p *protocol) AnswerIn(line []byte) string {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return ""
	}
	switch {
	case e.Type == "command_lifecycle" && e.State == "queued":
		return p.requestOf(e.Command)
	case e.Type == "control_response" && decimal(e.Response.RequestID):
		return e.Response.RequestID
	}
	return ""
}

// Answered implements stdio.Protocol.
func (p *protocol) Answered(method, _ string, result json.RawMessage) {
	if method != callInitialize {
		return
	}
	var said struct {
		Version string `json:"claude_code_version"`
	}
	_ = json.Unmarshal(result, &said) // an unreported version is unknown
	p.mu.Lock()
	p.hello.Version = said.Version
	note := encode(p.hello)
	p.mu.Unlock()
	p.greeted(result)
	p.Started(note)
}

// Describe implements stdio.Protocol.
func (p *protocol) Describe(method string, _ any) stdio.Call {
	return stdio.Call{ThreadID: p.hello.Thread, Harmless: method == callInitialize || method == callProbe}
}

// Frame implements stdio.Protocol.
func (p *protocol) Frame(id int64, method string, params any) ([]byte, error) {
	if method == callMessage {
		type said struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		}
		return append(encode(struct {
			Type    string  `json:"type"`
			UUID    string  `json:"uuid"`
			Message said    `json:"message"`
			Parent  *string `json:"parent_tool_use_id"`
			Session string  `json:"session_id"`
		}{"user", p.messageID(id, params), said{"user", params}, nil, ""}), '\n'), nil
	}
	type hook struct {
		Matcher   *string  `json:"matcher"`
		Callbacks []string `json:"hookCallbackIds"`
	}
	type request struct {
		Subtype string            `json:"subtype"`
		Hooks   map[string][]hook `json:"hooks,omitempty"`
		Servers map[string]any    `json:"mcpServers,omitempty"`
		// The login uses a subscription instead of an API account.
		Subscription bool   `json:"loginWithClaudeAi,omitempty"`
		Code         string `json:"authorizationCode,omitempty"`
		State        string `json:"state,omitempty"`
		Task         string `json:"task_id,omitempty"`
		CancelQueued bool   `json:"cancel_queued,omitempty"`
		Message      string `json:"message_uuid,omitempty"`
	}
	out := request{Subtype: method, Subscription: method == callLogin}
	switch about := params.(type) {
	case loginCode:
		out.Code, out.State = about.Code, about.State
	case cancelQueued:
		out.CancelQueued = true
	case queuedMessage:
		out.Message = string(about)
	case stopTask:
		out.Task = string(about)
	}
	if method == callInitialize {
		out.Servers = p.servers()
		out.Hooks = map[string][]hook{"PreToolUse": {{nil, []string{"pre"}}}}
	}
	return append(encode(struct {
		Type    string  `json:"type"`
		ID      string  `json:"request_id"`
		Request request `json:"request"`
	}{"control_request", strconv.FormatInt(id, 10), out}), '\n'), nil
}

// servers returns the MCP servers of the process. The command line does not contain them, because other users could
// read it.
func (p *protocol) servers() map[string]any {
	type server struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	servers := map[string]any{}
	for _, one := range p.tools {
		servers[one.Name] = server{"http", one.URL, map[string]string{"Authorization": "Bearer " + one.Token}}
	}
	return servers
}

// isOurs reports whether a tool belongs to this server. The server decides when the agent calls such a tool.
func (p *protocol) isOurs(tool string) bool {
	return slices.ContainsFunc(p.tools, func(one runtime.ToolServer) bool { return strings.HasPrefix(tool, "mcp__"+one.Name+"__") })
}

// Refuse implements stdio.Protocol.
func (p *protocol) Refuse(request runtime.Signal) ([]byte, error) {
	var id string
	if err := json.Unmarshal(request.RequestID, &id); err != nil {
		return nil, fmt.Errorf("read the id of a request: %w", err)
	}
	return controlRefusal(id, "this request is not supported"), nil
}

// Probe implements stdio.Prober.
func (p *protocol) Probe() (method string, params any) { return callProbe, nil }

// moment is the state of a process after its last line.
type moment struct {
	// turn is the running turn; busy is that turn, or the one about to start.
	turn, busy string
	// over and asked are as in state.
	over  bool
	asked []string
	// background is the amount of work beyond the turns, working the remembered part of it.
	background int
	working    []working
	version    string
	failure    string
	carried    state
	// changed is closed after the next line.
	changed <-chan struct{}
}

func (p *protocol) now() moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := moment{turn: p.state.Turn, busy: p.state.busy(), over: p.state.Over, background: p.state.Background,
		working: slices.Clone(p.state.Working), version: p.hello.Version, failure: p.failure, carried: p.state.carry(), changed: p.changed}
	for _, one := range p.state.Asked {
		m.asked = append(m.asked, one.ID)
	}
	return m
}
