package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
)

// protocol is the connection with one process (stdio.Protocol), which serves all sessions.
type protocol struct {
	*stdio.Conn
	runtime *Runtime

	mu         sync.Mutex
	translator translator
	// agent is the process's description of itself.
	agent agent
	// settings are the known modes and models of conversations.
	settings map[string]settings
	// lastOutput is the time of the last output in each turn.
	lastOutput map[string]time.Time
	// totals are the usage of the conversations, by session.
	totals map[string]wire.Tokens
	// unsent are turns of an earlier server with a message that never reached the process.
	unsent []runtime.RunningTurn
	// reserved are the conversations with a message in delivery, labels those of turns with a sent message.
	reserved map[string]bool
	labels   map[string]string
	// loggedIn is set after the process got a key. greeting is the answer to its handshake, passed on after the
	// login.
	loggedIn bool
	greeting json.RawMessage
	// retired is closed when the process must end so that one with another key can start.
	retired chan struct{}
	// loading counts the messages of conversations during their loading.
	loading map[string]int
	// quiet is the time until which the agent must not start a turn itself, by conversation.
	quiet map[string]time.Time
}

type settings struct {
	mode, model, policy string
	// asks is offer.asks.
	asks string
}

// agent is an agent's description of itself.
type agent struct {
	Protocol int `json:"protocolVersion"`
	Info     struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Can struct {
		Load   bool `json:"loadSession"`
		Prompt struct {
			Image bool `json:"image"`
		} `json:"promptCapabilities"`
		Servers struct {
			HTTP bool `json:"http"`
		} `json:"mcpCapabilities"`
		Session struct {
			Resume *struct{} `json:"resume"`
			Close  *struct{} `json:"close"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
}

// hello is the data about a process for later servers: its description and its conversations.
type hello struct {
	Agent   json.RawMessage   `json:"agent"`
	Threads map[string]string `json:"threads,omitempty"`
	// LoggedIn means that the process got a key, which it keeps in memory.
	LoggedIn bool `json:"loggedIn,omitempty"`
}

// label is the stored data of a turn's message once the process has it.
type label struct {
	Turn   string `json:"turn"`
	Native string `json:"native"`
	Cwd    string `json:"cwd,omitempty"`
}

func protocolOf(c *stdio.Conn) *protocol {
	if c == nil {
		return nil
	}
	p, _ := c.Protocol().(*protocol)
	return p
}

func (r *Runtime) speak(c *stdio.Conn) stdio.Protocol {
	return &protocol{Conn: c, runtime: r, translator: translator{profile: &r.profile, tools: r.toolServers(), threads: map[string]string{}},
		settings: map[string]settings{}, lastOutput: map[string]time.Time{}, totals: map[string]wire.Tokens{},
		reserved: map[string]bool{}, labels: map[string]string{}, loading: map[string]int{}, quiet: map[string]time.Time{},
		retired: make(chan struct{})}
}

// Greet implements stdio.Protocol.
func (p *protocol) Greet(ctx context.Context) error {
	result, err := p.Call(ctx, p.runtime.starts, words.Initialize, map[string]any{
		"protocolVersion": 1,
		"clientInfo":      map[string]string{"name": "harness", "title": "Harness", "version": p.runtime.version},
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false},
			"terminal": false, "elicitation": map[string]any{"form": map[string]any{}}},
	})
	if err != nil {
		return fmt.Errorf("%s does not answer as an agent of the Agent Client Protocol (%w); check its command line",
			p.runtime.profile.Name, err)
	}
	var a agent
	if err := json.Unmarshal(result, &a); err != nil || a.Protocol != 1 {
		return fmt.Errorf("%s speaks version %d of the Agent Client Protocol, this server version 1; install %s",
			p.runtime.profile.Name, a.Protocol, p.runtime.profile.Tested)
	}
	return p.logInAgain(ctx)
}

// Resume implements stdio.Protocol.
func (p *protocol) Resume(stored runtime.Resumption) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var h hello
	_ = json.Unmarshal(p.Hello(), &h) // an earlier server may not have greeted it
	p.known(h)
	before := decodeState(stored.State)
	prompts := map[string]label{}
	for _, one := range p.Labels() {
		var l label
		if json.Unmarshal([]byte(one), &l) == nil && l.Turn != "" {
			prompts[l.Turn] = l
		}
	}
	native := map[string]string{}
	for id, thread := range p.translator.threads {
		native[thread] = id
	}
	p.translator.state.Conversations = map[string]*conversation{}
	for _, running := range stored.Turns {
		prompt, sent := prompts[running.TurnID]
		delete(prompts, running.TurnID)
		if sent {
			p.labels[running.TurnID] = prompt.encode()
		}
		id := native[running.ThreadID]
		if sent {
			id = prompt.Native
			p.translator.threads[id] = running.ThreadID
		}
		p.lastOutput[running.TurnID] = time.Now()
		if known := before.Conversations[id]; known != nil && known.Turn == running.TurnID {
			p.translator.state.Conversations[id] = known
			continue
		}
		if !sent {
			p.unsent = append(p.unsent, running)
		}
		if id != "" {
			p.translator.state.Conversations[id] = &conversation{Thread: running.ThreadID, Turn: running.TurnID, Cwd: prompt.Cwd}
		}
	}
	for _, over := range prompts { // their ends are stored
		p.Settle(over.encode())
	}
}

func (l label) encode() string {
	raw, _ := json.Marshal(l) // strings always encode
	return string(raw)
}

// known restores the stored data about a process. The caller holds mu.
func (p *protocol) known(h hello) {
	_ = json.Unmarshal(h.Agent, &p.agent) // an earlier server already read it
	maps.Copy(p.translator.threads, h.Threads)
	p.loggedIn = h.LoggedIn
}

// note stores the data about the process for later servers. The caller holds mu.
func (p *protocol) note(agent json.RawMessage) json.RawMessage {
	raw, _ := json.Marshal(hello{Agent: agent, Threads: p.translator.threads, LoggedIn: p.loggedIn}) // JSON and strings always encode
	return raw
}

// opened records that the process has a conversation.
func (p *protocol) opened(native, thread string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.translator.threads[native] == thread {
		return
	}
	p.translator.threads[native] = thread
	p.Note(p.note(p.greeted()))
}

// greeted returns the process's answer to its handshake.
func (p *protocol) greeted() json.RawMessage {
	var h hello
	_ = json.Unmarshal(p.Hello(), &h) // note made it
	return h.Agent
}

// Read implements stdio.Protocol.
func (p *protocol) Read(raw []byte, at time.Time) (stdio.Line, error) {
	var l line
	short, elided := wire.Elide(raw, ends(raw), compared(raw)...)
	if err := json.Unmarshal(short, &l); err != nil {
		return stdio.Line{}, err
	}
	if number := l.number(); number != "" {
		out := stdio.Line{Answer: number, Result: elided.RestoreJSON(l.Result)}
		if refused := l.Error; refused != nil {
			out.Refusal = func(method string) error { return refused.error(&p.runtime.profile, method) }
		}
		return out, nil
	}
	if l.Method == "" && l.turn() == "" {
		return stdio.Line{}, errors.New("it is neither a request nor an answer")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.translator.upTo = p.ReadOffset()
	signals, changed := p.translator.said(&l, at.UnixMilli())
	p.noteOutput(&l, signals, at)
	p.keepQuiet(&l, at)
	changed = p.translator.state.keepOld(p.translator.upTo, p.runtime.span) || changed
	if len(signals) == 0 && !changed {
		return stdio.Line{}, nil
	}
	elided.Restore(signals)
	for i := range signals {
		signals[i].Generation, signals[i].ReceivedAt = p.Generation(), at
	}
	out := stdio.Line{Signals: signals, Native: json.RawMessage(raw)}
	if len(signals) == 0 {
		if of := p.translator.state.Conversations[l.params().SessionID]; of != nil {
			out.About = of.Thread
		}
	}
	if answer := p.translator.allowed; answer != nil {
		p.translator.allowed = nil
		reply, err := written(message{Version: "2.0", ID: l.ID, Result: answer})
		if err != nil {
			return stdio.Line{}, err
		}
		out.Reply, out.ReplyTo = reply, l.ID
	}
	if changed || p.translator.unsaid {
		out.State, p.translator.unsaid = p.translator.state.encode(), false
	}
	return out, nil
}

// ends is the number of bytes at each end of a long text that the translator reads. Agents put the kind of an update
// first. The translator remembers only deltas of a message, and no long ones.
func ends(raw []byte) int {
	if bytes.Contains(raw[:min(len(raw), 1<<10)], []byte(`_chunk"`)) {
		return maxText
	}
	return maxValue
}

// Needs implements stdio.Rereader.
func (p *protocol) Needs() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.translator.state.needs()
}

// Reread implements stdio.Rereader.
func (p *protocol) Reread(raw []byte, end int64) {
	var l line
	if json.Unmarshal(raw, &l) != nil {
		return // it had no conversation then
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.translator.reread(&l, end)
}

// noteOutput records that the agent responds, and the usage of an ended turn. The caller holds mu.
func (p *protocol) noteOutput(l *line, signals []runtime.Signal, at time.Time) {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(l.Params, &in) // most have one
	if _, loads := p.loading[in.SessionID]; loads {
		p.loading[in.SessionID]++
	}
	if of := p.translator.state.Conversations[in.SessionID]; of != nil {
		p.lastOutput[of.Turn] = at
	}
	for _, signal := range signals {
		if end, is := signal.Change.(runtime.TurnCompleted); is {
			delete(p.lastOutput, end.TurnID)
		}
		if signal.Method == wire.MethodTokenUsage {
			var used struct {
				Usage struct {
					Total wire.Tokens `json:"total"`
				} `json:"tokenUsage"`
			}
			_ = json.Unmarshal(signal.Params, &used) // this package just built it
			p.totals[signal.ThreadID] = used.Usage.Total
		}
	}
}

// AnswerIn implements stdio.Protocol.
func (p *protocol) AnswerIn(raw []byte) string {
	var l line
	if short, _ := wire.Elide(raw, maxText); json.Unmarshal(short, &l) != nil {
		return ""
	}
	return l.number()
}

// Answered implements stdio.Protocol.
func (p *protocol) Answered(method, threadID string, result json.RawMessage) {
	switch method {
	case words.Initialize:
		var a agent
		if json.Unmarshal(result, &a) != nil || a.Protocol != 1 {
			return // Greet reports it
		}
		p.mu.Lock()
		p.agent = a
		p.loggedIn = p.runtime.startedWithKey()
		greeted := p.note(result)
		if p.runtime.profile.KeyMethod != "" && p.runtime.storedKey() != "" {
			p.greeting, greeted = result, nil // Greet logs it in first
		}
		p.mu.Unlock()
		if greeted != nil {
			p.Started(greeted)
		}
	case words.New:
		var made struct {
			SessionID string `json:"sessionId"`
		}
		if json.Unmarshal(result, &made) == nil && made.SessionID != "" && threadID != "" {
			p.opened(made.SessionID, threadID)
		}
	}
}

// about has the session among the parameters of a request.
type about struct {
	thread string
	params any
}

// Describe implements stdio.Protocol.
func (p *protocol) Describe(method string, params any) stdio.Call {
	of, _ := params.(about)
	return stdio.Call{ThreadID: of.thread, Harmless: method != words.New && method != words.Load}
}

// Frame implements stdio.Protocol.
func (p *protocol) Frame(id int64, method string, params any) ([]byte, error) {
	if of, is := params.(about); is {
		params = of.params
	}
	return written(message{Version: "2.0", ID: id, Method: method, Params: params})
}

// Refuse implements stdio.Protocol.
func (p *protocol) Refuse(request runtime.Signal) ([]byte, error) { return refuse(request) }

// Probe implements stdio.Prober. The protocol has no such request; a healthy agent refuses an unknown one at once.
func (p *protocol) Probe() (method string, params any) { return "harness/probe", map[string]any{} }

// settle answers a request of the agent, only once.
func (p *protocol) settle(ctx context.Context, id json.RawMessage, decision string, result json.RawMessage) error {
	p.mu.Lock()
	p.translator.noteAnswer(id, decision)
	p.mu.Unlock()
	return p.sendResult(ctx, id, result)
}

func (p *protocol) sendResult(ctx context.Context, id, result json.RawMessage) error {
	raw, err := written(message{Version: "2.0", ID: id, Result: result})
	if err != nil {
		return err
	}
	return p.SendOnce(ctx, id, raw)
}

// stop requests the end of a turn, and cancels the open requests of its agent and those in claimed: some agents end
// no turn before. The stop goes first, so that no agent continues after the answer. It may return ErrNoActiveTurn.
func (p *protocol) stop(ctx context.Context, turnID string, claimed ...json.RawMessage) error {
	p.mu.Lock()
	native, of := p.translator.state.turn(turnID)
	if of == nil {
		p.mu.Unlock()
		return runtime.ErrNoActiveTurn
	}
	of.Cancelled, p.translator.unsaid = true, true
	forms := map[string]bool{}
	for _, request := range of.Asked {
		forms[string(request.ID)] = request.Form
	}
	claimed = append(claimed, p.ClaimIn(of.Thread)...)
	for _, id := range claimed {
		p.translator.noteAnswer(id, actionCancel)
	}
	p.mu.Unlock()
	raw, err := written(message{Version: "2.0", Method: words.Cancel, Params: map[string]string{"sessionId": native}})
	if err != nil {
		return err
	}
	failed := []error{p.Send(ctx, raw)}
	for _, id := range claimed {
		result := cancelled()
		if forms[string(id)] {
			result = json.RawMessage(`{"action":"cancel"}`)
		}
		failed = append(failed, p.sendResult(ctx, id, result))
	}
	return errors.Join(failed...)
}
