package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
)

// protocol is the connection with one process (stdio.Protocol), which serves one session.
type protocol struct {
	*stdio.Conn
	thread       string
	limit        time.Duration
	conversation func() string // the agent's own name of the conversation, "" for a new one
	state        state
}

// state is the data from earlier lines that the translation of a line needs.
type state struct {
	// Thread is the session, Open the growing message.
	Thread string `json:"thread"`
	Open   string `json:"open,omitempty"`
}

// hello is the data about a greeted process, for this server and the next ones.
type hello struct {
	Conversation string `json:"talk"`
	Thread       string `json:"thread"`
}

func (p *protocol) Greet(ctx context.Context) error {
	if _, err := p.Call(ctx, p.limit, "enter", order{Conversation: p.conversation()}); err != nil {
		return fmt.Errorf("the scripted agent does not answer: %w", err)
	}
	return nil
}

func (p *protocol) Resume(stored runtime.Resumption) {
	_ = json.Unmarshal(stored.State, &p.state) // without earlier output there is no state
}

func (p *protocol) Read(line []byte, at time.Time) (stdio.Line, error) {
	var w word
	if err := json.Unmarshal(line, &w); err != nil {
		return stdio.Line{}, err
	}
	switch {
	case w.Done != 0:
		return stdio.Line{Answer: strconv.FormatInt(w.Done, 10), Result: json.RawMessage(line)}, nil
	case w.Failed != 0:
		return stdio.Line{Answer: strconv.FormatInt(w.Failed, 10), Refusal: func(method string) error {
			return refusal(method, w.Why)
		}}, nil
	case w.Says == "":
		return stdio.Line{}, errors.New("the agent says nothing")
	}
	p.state.Thread = p.thread
	said := stdio.Line{Native: json.RawMessage(line), Signals: p.translate(w, at.UnixMilli())}
	for i := range said.Signals {
		said.Signals[i].Generation, said.Signals[i].ReceivedAt = p.Generation(), at
	}
	said.State, _ = json.Marshal(p.state) // texts encode
	return said, nil
}

func refusal(method, why string) error {
	kinds := map[string]error{"busy": runtime.ErrTurnActive, "idle": runtime.ErrNoActiveTurn,
		"stranger": runtime.ErrAuthRequired}
	return &runtime.Error{Runtime: Name, Method: method, Message: why, Kind: kinds[why]}
}

// translate translates a line of the agent into the canonical vocabulary.
func (p *protocol) translate(w word, at int64) []runtime.Signal {
	in, message := wire.Place{ThreadID: cmp.Or(w.In, p.thread), TurnID: w.Round}, "says "+w.Round
	asking := wire.Asking{Place: in, ItemID: w.ID, At: at}
	id, _ := json.Marshal(w.ID) // a text encodes
	command := func(status string) wire.Command {
		return wire.Command{ID: w.ID, Command: w.Command, Status: status, Output: &w.Output, ExitCode: &w.Code}
	}
	switch w.Says {
	case "round":
		user := wire.UserMessage("user "+w.Round, w.Text)
		return []runtime.Signal{wire.TurnStarted(p.thread, wire.Turn{ID: w.Round, StartedAt: at}),
			wire.ItemStarted(in, user, at), wire.ItemCompleted(in, user, at)}
	case "word":
		var signals []runtime.Signal
		if p.state.Open != message {
			p.state.Open = message
			signals = append(signals, wire.ItemStarted(in, wire.AgentMessage(message, ""), at))
		}
		return append(signals, wire.MessageDelta(in, message, w.Text))
	case "wants":
		return []runtime.Signal{wire.ItemStarted(in, wire.Command{ID: w.ID, Command: w.Command, Status: "inProgress"}, at),
			wire.ApproveCommand(id, asking, w.Command, "", nil)}
	case "wonders":
		asking.ItemID = ""
		return []runtime.Signal{
			wire.AskUser(id, asking, wire.Question{ID: "q1", Header: "Choice", Question: w.Text, IsOther: true})}
	case "answered":
		return []runtime.Signal{wire.RequestResolved(p.thread, id)}
	case "ran":
		return []runtime.Signal{wire.RequestResolved(p.thread, id), wire.ItemCompleted(in, command("completed"), at)}
	case "skipped":
		return []runtime.Signal{wire.RequestResolved(p.thread, id), wire.ItemCompleted(in, command("declined"), at)}
	}
	return p.over(w, in, message, at)
}

func (p *protocol) over(w word, in wire.Place, message string, at int64) (signals []runtime.Signal) {
	if p.state.Open == message {
		signals = append(signals, wire.ItemCompleted(in, wire.AgentMessage(message, w.Text), at))
	}
	p.state.Open = ""
	turn := wire.Turn{ID: w.Round, Status: runtime.TurnDone, CompletedAt: at}
	switch w.How {
	case "halted":
		turn.Status = runtime.TurnInterrupted
	case "badly":
		turn.Status, turn.Error = runtime.TurnFailed, &wire.Failure{Message: w.Why}
		if strings.HasSuffix(w.Why, " 401") {
			turn.Error.Kind = json.RawMessage(`"unauthorized"`)
		}
	}
	return append(signals, wire.TurnCompleted(p.thread, turn))
}

func (p *protocol) AnswerIn(line []byte) string {
	var w word
	if json.Unmarshal(line, &w) != nil || w.Done+w.Failed == 0 {
		return ""
	}
	return strconv.FormatInt(w.Done+w.Failed, 10)
}

func (p *protocol) Answered(method, _ string, result json.RawMessage) {
	if method != "enter" {
		return
	}
	var w word
	_ = json.Unmarshal(result, &w) // Read already decoded it
	greeted, _ := json.Marshal(hello{w.Conversation, p.thread})
	p.Started(greeted)
}

func (p *protocol) Describe(method string, _ any) stdio.Call {
	return stdio.Call{ThreadID: p.thread, Harmless: method == "enter" || method == "ping"}
}

func (p *protocol) Frame(id int64, method string, params any) ([]byte, error) {
	o, _ := params.(order)
	o.Do, o.No = method, id
	line, err := json.Marshal(o)
	return append(line, '\n'), err
}

func (p *protocol) Refuse(request runtime.Signal) ([]byte, error) {
	var id string
	if err := json.Unmarshal(request.RequestID, &id); err != nil {
		return nil, err
	}
	line, err := json.Marshal(order{Verdict: "no", Of: id, Why: "this cannot be answered"})
	return append(line, '\n'), err
}

func (p *protocol) Probe() (method string, params any) { return "ping", order{} }
