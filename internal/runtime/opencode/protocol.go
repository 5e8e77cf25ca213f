package opencode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
)

// call is a request of the protocol.
type call struct {
	bridge.Command
	// thread is its session; harmless is as in stdio.Call.
	thread   string
	harmless bool
}

// Names of calls in logs and in package stdio.
const (
	callHello  = "hello"
	callHealth = "health"
	callLogin  = "login"
)

// protocol is the connection with one bridge (stdio.Protocol).
type protocol struct {
	*stdio.Conn
	limit time.Duration
	names *names

	mu     sync.Mutex
	state  state
	stored []byte // the last published state
	// awaited are sent messages with a caller that waits for the outcome.
	awaited map[string]awaited
	// stamp is the time in the last message's id.
	stamp int64
}

// awaited is a message that was sent to a conversation.
type awaited struct {
	native  string
	outcome chan outcome
}

// outcome is the result of a message: its turn, or an error of its conversation.
type outcome struct {
	turn string
	err  error
}

// Greet waits until OpenCode is ready.
func (p *protocol) Greet(ctx context.Context) error {
	if _, err := p.Call(ctx, p.limit, callHello, call{Command: bridge.Command{Steps: []bridge.Step{{Do: bridge.DoHello}}},
		harmless: true}); err != nil {
		return fmt.Errorf("%w; its own words are in the log", err)
	}
	return nil
}

// Resume restores the state of an earlier server.
func (p *protocol) Resume(stored runtime.Resumption) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = json.Unmarshal(stored.State, &p.state) // without earlier output there is no state
	for native, in := range p.state.Conversations {
		p.names.learn(in.Thread, native, in.Dir)
	}
}

// Read implements stdio.Protocol.
func (p *protocol) Read(line []byte, at time.Time) (stdio.Line, error) {
	var l bridge.Line
	short, elided := wire.Elide(line, longText)
	if err := json.Unmarshal(short, &l); err != nil {
		return stdio.Line{}, err
	}
	if l.Answer != 0 {
		l.Body = elided.RestoreJSON(l.Body)
		out := stdio.Line{Answer: strconv.FormatInt(l.Answer, 10), Result: l.Body}
		if l.Status < http.StatusOK || l.Status >= http.StatusBadRequest {
			out.Refusal = func(method string) error { return refusal(method, l.Status, l.Body) }
		}
		return out, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	signals, known := p.state.translate(l, at.UnixMilli(), p.names.thread)
	p.settle(l)
	if !known {
		return stdio.Line{}, nil
	}
	elided.Restore(signals)
	out := stdio.Line{Native: l.Event, Signals: signals}
	if out.Native == nil {
		out.Native = json.RawMessage(line)
	} else if elided != nil {
		out.Native = wire.Members(line, "event")[0]
	}
	if len(signals) == 0 {
		named := wire.Members(wire.Members(l.Event, "properties")[0], "sessionID")[0]
		out.About = p.names.thread(wire.Text(named))
	}
	for i := range out.Signals {
		out.Signals[i].Generation, out.Signals[i].ReceivedAt = p.Generation(), at
	}
	if now, err := json.Marshal(p.state); err == nil && !bytes.Equal(now, p.stored) {
		p.stored, out.State = now, now
	}
	return out, nil
}

// settle sends the outcome of a message to its waiting caller. The caller holds mu.
func (p *protocol) settle(l bridge.Line) {
	if len(p.awaited) == 0 {
		return
	}
	report := func(message string, result outcome) {
		if waits, is := p.awaited[message]; is {
			delete(p.awaited, message)
			waits.outcome <- result // buffered: an error uses one slot, this the only other one
		}
	}
	for _, in := range p.state.Conversations {
		for _, message := range in.Users {
			report(message, outcome{turn: in.Turn})
		}
	}
	for _, message := range p.state.Ended { // started and completed in one line
		report(message, outcome{turn: message})
	}
	var e struct {
		Type       string `json:"type"`
		Properties struct {
			Session string       `json:"sessionID"`
			Error   *nativeError `json:"error"`
		} `json:"properties"`
	}
	if json.Unmarshal(l.Event, &e) != nil || e.Type != "session.error" || e.Properties.Error == nil ||
		p.state.Conversations[e.Properties.Session] != nil {
		return
	}
	for _, waits := range p.awaited {
		if waits.native == e.Properties.Session {
			if len(waits.outcome) == 0 { // it stays awaited: the error may be about the message before
				waits.outcome <- outcome{err: e.Properties.Error.refusal()}
			}
		}
	}
}

// refusal returns an error of a conversation as the answer to a message without a turn.
func (e *nativeError) refusal() error {
	message, _, _ := strings.Cut(e.Data.Message, "\n")
	out := &runtime.Error{Runtime: Name, Method: "send", Code: e.Data.StatusCode, Message: cmp.Or(message, e.Name),
		Kind: runtime.ErrInvalidParams}
	if e.Name == errorAuth {
		out.Kind, out.Login = runtime.ErrAuthRequired, loginRemedy
	}
	return out
}

// await returns the outcome of a message, once; forget cancels it.
func (p *protocol) await(message, native string) (outcomes <-chan outcome, forget func()) {
	waits := awaited{native: native, outcome: make(chan outcome, 2)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited == nil {
		p.awaited = map[string]awaited{}
	}
	p.awaited[message] = waits
	return waits.outcome, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.awaited, message)
	}
}

// turn returns the running turn of a conversation, "" for none.
func (p *protocol) turn(native string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in := p.state.Conversations[native]; in != nil {
		return in.Turn
	}
	return ""
}

// AnswerIn implements stdio.Protocol.
func (p *protocol) AnswerIn(line []byte) string {
	var l struct {
		Answer int64 `json:"answer"`
	}
	if json.Unmarshal(line, &l) != nil || l.Answer == 0 {
		return ""
	}
	return strconv.FormatInt(l.Answer, 10)
}

// Answered implements stdio.Protocol.
func (p *protocol) Answered(method, _ string, result json.RawMessage) {
	if method == callHello {
		p.Started(result)
	}
}

// Describe implements stdio.Protocol.
func (p *protocol) Describe(_ string, params any) stdio.Call {
	c, _ := params.(call)
	return stdio.Call{ThreadID: c.thread, Harmless: c.harmless}
}

// Frame implements stdio.Protocol.
func (p *protocol) Frame(id int64, _ string, params any) ([]byte, error) {
	c, _ := params.(call)
	c.ID = id
	return frame(c.Command)
}

func frame(c bridge.Command) ([]byte, error) {
	line, err := json.Marshal(c)
	return append(line, '\n'), err
}

// Refuse implements stdio.Protocol. Every request of the translator has a Change.
func (p *protocol) Refuse(request runtime.Signal) ([]byte, error) {
	return nil, fmt.Errorf("opencode asks %s, which is unknown", request.Method)
}

// Probe implements stdio.Prober.
func (p *protocol) Probe() (method string, params any) {
	return callHealth, call{Command: bridge.Command{Steps: []bridge.Step{{Do: http.MethodGet, Path: "/global/health"}}},
		harmless: true}
}

// refusal returns the error of a failed answer.
func refusal(method string, status int, body json.RawMessage) error {
	out := &runtime.Error{Runtime: Name, Method: method, Code: status, Data: body}
	var decoded struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &out.Message) != nil && json.Unmarshal(body, &decoded) == nil {
		out.Message = strings.TrimSpace(decoded.Message + " " + decoded.Data.Message)
	}
	if out.Message == "" {
		out.Message = fmt.Sprintf("status %d", status)
	}
	switch {
	case status == 0:
		out.Kind = errors.Join(runtime.ErrUnavailable, runtime.ErrTransient)
	case status == http.StatusNotFound:
		out.Kind = runtime.ErrNotFound
	case status == http.StatusBadRequest:
		out.Kind = runtime.ErrInvalidParams
	case status == http.StatusConflict:
		out.Kind = runtime.ErrInvalidState
	case status >= http.StatusInternalServerError:
		out.Kind = runtime.ErrTransient
	}
	return out
}
