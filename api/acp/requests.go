package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
	"harness/internal/services/audit"
	"harness/internal/services/session"
)

// asked is a request that the client has.
type asked struct {
	row     session.Request
	options map[string]operations.ApprovalDecision
	mine    bool // this client decides it
}

// askOpen asks the open requests of the session that the client does not have: all, or those whose event came.
func (f *follow) askOpen(ctx context.Context, all bool) {
	open, err := f.peer.ops().Pending(ctx, f.id)
	if err != nil {
		if ctx.Err() == nil {
			telemetry.Log(ctx).Error().Err(err).Str("session_id", f.id).Msg("open requests were not read")
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range open {
		if all || f.reading[row.ID] {
			f.ask(row)
		}
		delete(f.reading, row.ID)
	}
}

// ask sends a request to the client, unless it has it. It requires f.mu.
func (f *follow) ask(row session.Request) {
	if f.asked[row.ID] != nil || !f.peer.Decides() || row.Kind == runtime.RequestToolCall {
		return
	}
	if row.Kind == runtime.RequestToolInput {
		f.question(row)
		return
	}
	call := f.callOf(row)
	offered, options := f.options(row)
	f.asked[row.ID] = &asked{row: row, options: options}
	f.peer.out.Put(form.Request(row.ID, words.Permission, object{"sessionId": f.id, "toolCall": call, "options": offered}))
}

// callOf is the tool's call that a request is about.
func (f *follow) callOf(row session.Request) object {
	given := wire.Members(row.Params, "command", "cwd", "changes", "reason", "tool", "arguments", "permissions")
	call := object{"toolCallId": row.ItemID, "status": "pending", "title": row.Summary, "kind": "other"}
	if row.ItemID == "" {
		call["toolCallId"] = row.ID
	}
	switch row.Method {
	case wire.MethodApproveCommand:
		call["title"], call["kind"] = commandOf(row.Params), "execute"
		call["rawInput"] = object{"command": call["title"], "cwd": orNull(given[1])}
	case wire.MethodApproveFileChange:
		call["kind"] = "edit"
		if len(given[2]) > 0 {
			call["title"], call["content"], call["locations"] = changes(given[2])
		}
	case wire.MethodApproveTool:
		call["title"], call["rawInput"] = wire.Text(given[4]), orNull(given[5])
	case wire.MethodApprovePermissions:
		call["rawInput"] = orNull(given[6])
	}
	if reason := wire.Text(given[3]); reason != "" && call["content"] == nil {
		call["content"] = textContent(reason)
	}
	return call
}

// options are the answers that a request offers, and the decision of each.
func (f *follow) options(row session.Request) (offered []object, decisions map[string]operations.ApprovalDecision) {
	decisions = map[string]operations.ApprovalDecision{}
	add := func(id, name, kind string, decision operations.ApprovalDecision) {
		offered = append(offered, object{"optionId": id, "name": name, "kind": kind})
		decisions[id] = decision
	}
	for _, one := range row.Asked.Options {
		decision := operations.ApprovalDecision{Decision: one.Decision, Scope: one.Scope, Option: one.ID}
		add("option:"+one.ID, one.Label, kindOf(one.Decision, one.Scope), decision)
	}
	if len(offered) > 0 {
		return offered, decisions
	}
	forSession := canDo(f.session).ApproveForSession && !row.OfServer
	if row.Decisions != nil {
		forSession = slices.ContainsFunc(slices.Collect(wire.Elements(row.Decisions)), func(one json.RawMessage) bool {
			return wire.Text(one) == "acceptForSession"
		})
	}
	add("accept", "Allow", "allow_once", operations.ApprovalDecision{Decision: "accept", Scope: "turn"})
	if forSession {
		add("accept:session", "Allow for the session", "allow_always", operations.ApprovalDecision{Decision: "accept", Scope: "session"})
	}
	n := 0
	for one := range wire.Elements(row.Decisions) {
		if n++; len(one) == 0 || one[0] != '{' {
			continue
		}
		name, decision, kind := choiceOf(one)
		add(fmt.Sprintf("choice:%d", n), name, kind, operations.ApprovalDecision{Decision: decision, Choice: one})
	}
	add("decline", "Deny", "reject_once", operations.ApprovalDecision{Decision: "decline"})
	return offered, decisions
}

// kindOf is the kind of an option. What lasts longer than a turn is for always.
func kindOf(decision, scope string) string {
	kind, lasts := "reject", "_always"
	if decision == "accept" {
		kind = "allow"
	}
	if scope == "turn" {
		lasts = "_once"
	}
	return kind + lasts
}

// choiceOf reads a decision with content of its own, which a runtime offers.
func choiceOf(raw json.RawMessage) (name, decision, kind string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // it is an object
	for member, about := range members {
		name = wire.Snake(member) + " " + string(about)
		if wire.Text(wire.Members(wire.Members(about, "network_policy_amendment")[0], "action")[0]) == "deny" {
			return name, "decline", "reject_always"
		}
		break
	}
	return name, "accept", "allow_always"
}

// settle takes a request away from a client that did not decide it. It requires f.mu.
func (f *follow) settle(id string) {
	delete(f.reading, id)
	one := f.asked[id]
	delete(f.asked, id)
	if one == nil && !f.late || one != nil && one.mine {
		return
	}
	f.peer.out.Put(form.Request("", words.Withdraw, object{"requestId": id}))
}

// open finds a request of a session that the socket follows, also before the client is asked.
func (p *peer) open(ctx context.Context, id string) (*follow, *asked) {
	all := p.views.All()
	for _, f := range all {
		f.mu.Lock()
		r := f.asked[id]
		if r != nil {
			r.mine = true
		}
		f.mu.Unlock()
		if r != nil {
			return f, r
		}
	}
	for _, f := range all { // a client that was asked on another connection
		open, _ := p.ops().Pending(ctx, f.id) // without them there is nothing to decide
		for _, row := range open {
			if row.ID == id {
				_, options := f.options(row)
				return f, &asked{row: row, options: options, mine: true}
			}
		}
	}
	return nil, nil
}

// decide settles a request with a client's answer. An error, or an outcome that is none of the options, is no decision:
// the request stays open for others.
func (p *peer) decide(ctx context.Context, m door.Message) {
	if !p.Decides() || p.client.Load() == nil || len(m.Error) > 0 && string(m.Error) != "null" {
		return
	}
	f, r := p.open(ctx, wire.Text(m.ID))
	if r == nil {
		return
	}
	var err error
	method := words.Permission
	if r.row.Kind == runtime.RequestToolInput {
		method, err = words.Elicit, f.answerQuestion(ctx, r, m.Result)
	} else {
		err = f.answerPermission(ctx, r, m.Result)
	}
	if errors.Is(err, errNoDecision) {
		return
	}
	late := p.Decided(ctx, audit.Call{Protocol: protocol, Route: method, SessionID: f.id}, err, f.notice)
	if err != nil {
		f.mu.Lock()
		r.mine = late // what the client answered is not withdrawn
		f.mu.Unlock()
	}
}

var errNoDecision = errors.New("it is no decision")

// answerPermission settles an approval with the selected option. A cancelled prompt of this socket cancels it.
func (f *follow) answerPermission(ctx context.Context, r *asked, result json.RawMessage) error {
	given := wire.Members(wire.Members(result, "outcome")[0], "outcome", "optionId")
	decision, known := r.options[wire.Text(given[1])]
	switch {
	case wire.Text(given[0]) == "selected" && known:
	case wire.Text(given[0]) == "cancelled" && f.cancelled(r.row.TurnID):
		decision = operations.ApprovalDecision{Decision: "cancel"}
	default:
		f.mu.Lock()
		r.mine = false
		f.mu.Unlock()
		return errNoDecision
	}
	_, err := f.peer.ops().DecideApproval(ctx, r.row.ID, decision, f.peer.Actor())
	return err
}

// cancelled reports whether this socket cancelled its prompt of a turn.
func (f *follow) cancelled(turn string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.prompts, func(p *prompt) bool { return p.turn == turn && p.cancelled })
}
