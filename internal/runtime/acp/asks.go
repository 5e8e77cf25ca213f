package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/form"
	"harness/internal/runtime/wire"
)

// asks translates a request of the agent. An unanswerable request has no Change: the connection refuses it.
func (t *translator) asks(l *line, p *params, at int64) (signals []runtime.Signal, changed bool) {
	of := t.state.Conversations[p.SessionID]
	permission, elicits := l.Method == words.Permission && len(p.Options) > 0, l.Method == words.Elicit && p.Mode == "form"
	p.ToolCall.ToolCallID = runtime.KnownID(p.ToolCall.ToolCallID)
	if of == nil || !permission && !elicits || len(of.Asked) >= maxAsked || len(l.ID) > runtime.MaxID {
		var in wire.Place
		if in.ThreadID = t.threads[p.SessionID]; of != nil {
			in = of.position()
		}
		refused := wire.Request(l.Method, l.ID, in)
		refused.Change = nil
		return []runtime.Signal{refused}, false
	}
	signals = append(t.answered(of, "", false, at), of.closeText(at)...)
	if elicits {
		of.Asked = append(of.Asked, &asked{ID: l.ID, Form: true})
		return append(signals, question(of, l.ID, p, at)), true
	}
	one := of.tool(p.ToolCall.ToolCallID)
	if one == nil {
		var more []runtime.Signal
		one, more = t.open(of, p.ToolCall.ToolCallID, at)
		signals = append(signals, more...)
	}
	once := slices.IndexFunc(p.Options, func(offered option) bool { return offered.Kind == "allow_once" })
	p.ToolCall.Status = "pending" // it waits, even if its status differs
	one.merge(&p.ToolCall, t.profile, t.upTo)
	// The tools of this server make their own requests.
	if once >= 0 && (of.AutoApproved || one.isOf(t.profile, t.tools)) {
		t.allowed = selected(p.Options[once].ID)
		return append(signals, t.show(of, one, at)...), true
	}
	signals = append(signals, t.show(of, one, at)...)
	of.Asked = append(of.Asked, &asked{ID: l.ID, Tool: one.ID})
	return append(signals, t.permission(of, l.ID, one, p, at)), true
}

// permission translates a request for permission to run a tool.
func (t *translator) permission(of *conversation, id json.RawMessage, one *tool, p *params, at int64) runtime.Signal {
	in := wire.Asking{Place: of.position(), ItemID: one.Item, At: at}
	var reason *string
	if p.ToolCall.Title != "" {
		reason = &p.ToolCall.Title
	}
	var signal runtime.Signal
	switch one.Type {
	case wire.ItemCommand:
		command := one.command()
		if command == "" {
			command = one.Title
		}
		signal = wire.ApproveCommand(id, in, command, one.cwd(of.Cwd), nil)
	case wire.ItemFileChange:
		signal = wire.ApproveFileChange(id, in, one.fileEdits(), reason)
	default:
		server, tool, arguments := one.called(t.profile)
		if server != t.profile.Name {
			tool = server + "/" + tool
		}
		signal = wire.ApproveTool(id, in, tool, arguments, reason)
	}
	change, _ := signal.Change.(runtime.InteractiveRequested) // the builders always make one
	for _, offered := range p.Options {
		change.Asked.Options = append(change.Asked.Options, offered.neutral(t.profile))
	}
	signal.Change = change
	return signal
}

// neutral returns an option in neutral terms. An option that lasts longer than the session, or for an unknown time,
// has no scope: only its id selects it.
func (o option) neutral(p *Profile) runtime.Option {
	out := runtime.Option{ID: wire.Clean(o.ID), Label: wire.Clean(o.Name), Decision: actionDecline}
	if strings.HasPrefix(o.Kind, "allow") {
		out.Decision = actionAccept
	}
	switch {
	case strings.HasSuffix(o.Kind, "_once"):
		out.Scope = "turn"
	case slices.Contains(p.SessionOptions, o.ID):
		out.Scope = "session"
	}
	return out
}

// question translates a form of the agent to questions, with the schema for the answer.
func question(of *conversation, id json.RawMessage, p *params, at int64) runtime.Signal {
	signal := wire.AskUser(id, wire.Asking{Place: of.position(), At: at}, form.Of(p.Schema).Questions()...)
	change, _ := signal.Change.(runtime.InteractiveRequested) // the builder always makes one
	if message := wire.Clean(p.Message); message != "" {
		change.Summary += ": " + message
	}
	change.Asked.Context = p.Schema
	signal.Change = change
	return signal
}

// noteAnswer stores an answer that the server is about to send.
func (t *translator) noteAnswer(id json.RawMessage, decision string) {
	of, request := t.state.asking(id)
	if of == nil {
		return
	}
	request.Answer, t.unsaid = decision, true
	if decision == actionAccept || request.Form {
		return
	}
	of.Declined = true
	of.Cancelled = of.Cancelled || decision == actionCancel // the turn must end with it
	if one := of.tool(request.Tool); one != nil {
		one.Declined = true
	}
}

// answered closes answered requests once the agent sends more. about is the call of that message. over means that the
// call ended, with any answer. A declined call ends with its request unless the agent reports its end: not every
// agent does.
func (t *translator) answered(of *conversation, about string, over bool, at int64) (signals []runtime.Signal) {
	for _, request := range slices.Clone(of.Asked) {
		if request.Answer == "" && (!over || request.Tool != about) {
			continue
		}
		signals = append(signals, of.resolve(request)...)
		if one := of.tool(request.Tool); one != nil && one.Declined && one.ID != about {
			signals = append(signals, t.close(of, one, wire.StatusDeclined, at)...)
		}
	}
	return signals
}

// resolve publishes that a request is closed.
func (of *conversation) resolve(request *asked) []runtime.Signal {
	of.Asked = slices.DeleteFunc(of.Asked, func(one *asked) bool { return one == request })
	return []runtime.Signal{wire.RequestResolved(of.Thread, request.ID)}
}
