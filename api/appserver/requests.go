package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/audit"
	"harness/internal/services/session"
)

// asked is a request to a person.
type asked struct {
	id, kind, method  string
	at                int64
	params, questions json.RawMessage
}

// ask sends a request to the client, unless it has it. It requires f.mu.
func (f *follow) ask(r *asked) {
	if f.asked[r.id] != nil || !f.peer.Decides() || r.kind == string(runtime.RequestToolCall) {
		return
	}
	f.asked[r.id] = r
	flag := "waitingOnApproval"
	if r.kind == string(runtime.RequestToolInput) {
		flag = "waitingOnUserInput"
	}
	f.status("active", flag)
	method, params := r.complete(f.cwd, f.forSession)
	f.peer.out.Put(form.Request(r.id, method, params))
}

// askAgain sends the open requests of a session, as after a reconnect.
func (f *follow) askAgain(open []session.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range open {
		f.ask(&asked{id: r.ID, kind: string(r.Kind), method: r.Method, at: r.CreatedAt, params: r.Params, questions: r.Questions})
	}
}

// settle takes a request away from the client. A client that did not decide it learns who did. It requires f.mu.
func (f *follow) settle(s *door.Settled) {
	if f.asked[s.ID] == nil {
		return
	}
	delete(f.asked, s.ID)
	f.peer.notify(wire.MethodRequestResolved, object{"threadId": f.id, "requestId": s.ID})
	if len(f.asked) == 0 {
		f.status("active")
	}
	if s.Decision != "" && !f.mine[s.ID] {
		f.peer.warn(f.id, door.Already(s.Decision, s.By))
	}
	delete(f.mine, s.ID)
}

// open finds a request that the client was asked.
func (p *peer) open(id string) (*follow, *asked) {
	for _, one := range p.views.All() {
		one.mu.Lock()
		r := one.asked[id]
		if r != nil {
			one.mine[id] = true
		}
		one.mu.Unlock()
		if r != nil {
			return one, r
		}
	}
	return nil, nil
}

// decide settles a request with a client's answer. An error is no decision: the request stays open.
func (p *peer) decide(ctx context.Context, m door.Message) {
	f, r := p.open(wire.Text(m.ID))
	if r == nil || !p.Decides() {
		return
	}
	err := errNoDecision
	if len(m.Error) == 0 || string(m.Error) == "null" {
		err = p.settleAs(ctx, r, m.Result)
		p.Decided(ctx, audit.Call{Protocol: protocol, Route: r.method, SessionID: f.id}, err, func(text string) { p.warn(f.id, text) })
	}
	if err != nil {
		f.mu.Lock()
		delete(f.mine, r.id)
		f.mu.Unlock()
	}
}

var errNoDecision = errors.New("an error is not a decision")

// settleAs settles a request with the result of its method.
func (p *peer) settleAs(ctx context.Context, r *asked, result json.RawMessage) (err error) {
	ops, by := p.server.opts.Operations, p.Actor()
	if r.method == wire.MethodElicit {
		return p.settleForm(ctx, r, result)
	}
	if r.kind == string(runtime.RequestToolInput) {
		_, err = ops.DecideToolInput(ctx, r.id, operations.ToolInputDecision{Decision: "accept",
			Answers: wire.Members(result, "answers")[0]}, by)
		return err
	}
	decision, err := approvalOf(r.method, result)
	if err == nil {
		_, err = ops.DecideApproval(ctx, r.id, decision, by)
	}
	return err
}

// approvalOf reads the decision on an approval.
func approvalOf(method string, result json.RawMessage) (operations.ApprovalDecision, error) {
	given := wire.Members(result, "decision", "permissions", "scope")
	if method == wire.MethodApprovePermissions {
		var granted map[string]json.RawMessage
		if _ = json.Unmarshal(given[1], &granted); !slices.ContainsFunc(values(granted), func(v json.RawMessage) bool {
			return string(v) != "null"
		}) {
			return operations.ApprovalDecision{Decision: "decline"}, nil
		}
		scope := "turn"
		if wire.Text(given[2]) == "session" {
			scope = "session"
		}
		return operations.ApprovalDecision{Decision: "accept", Scope: scope}, nil
	}
	switch word := wire.Text(given[0]); {
	case word == "acceptForSession":
		return operations.ApprovalDecision{Decision: "accept", Scope: "session"}, nil
	case word == "accept":
		return operations.ApprovalDecision{Decision: word, Scope: "turn"}, nil
	case word == "decline", word == "cancel":
		return operations.ApprovalDecision{Decision: word}, nil
	case len(given[0]) > 0 && given[0][0] == '{':
		decision := "accept"
		policy := wire.Members(wire.Members(given[0], "applyNetworkPolicyAmendment")[0], "network_policy_amendment")[0]
		if wire.Text(wire.Members(policy, "action")[0]) == "deny" {
			decision = "decline"
		}
		return operations.ApprovalDecision{Decision: decision, Choice: given[0]}, nil
	}
	return operations.ApprovalDecision{}, door.Invalid("the decision is unknown")
}

func values(members map[string]json.RawMessage) (all []json.RawMessage) {
	for _, one := range members {
		all = append(all, one)
	}
	return all
}

// settleForm settles a form, a page, or a runtime's question about a tool of an MCP server.
func (p *peer) settleForm(ctx context.Context, r *asked, result json.RawMessage) (err error) {
	ops, by := p.server.opts.Operations, p.Actor()
	action := wire.Text(wire.Members(result, "action")[0])
	if r.kind == string(runtime.RequestApproval) {
		_, err = ops.DecideApproval(ctx, r.id, operations.ApprovalDecision{Decision: action}, by)
		return err
	}
	in := operations.ToolInputDecision{Decision: action}
	if action == "accept" {
		in.Response = result
	}
	_, err = ops.DecideToolInput(ctx, r.id, in, by)
	return err
}
