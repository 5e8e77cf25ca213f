package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/mockmodel"
)

// decisionLimit is how long after a decision at another node the turn may wait for it.
const decisionLimit = 1500 * time.Millisecond

// asked is one way a turn asks, and how it is answered.
type asked struct {
	name, message, frame, idKey, path string
	body                              func(request object) object
	// says is what the model must have been told.
	says string
}

func answered(body object) func(object) object { return func(object) object { return body } }

var waysToAsk = []asked{
	{name: "accept", message: "MOCK_CMD[echo granted]", frame: "approval", idKey: "approvalId",
		path: "/api/approvals/%s/decision", body: answered(object{"decision": "accept"}), says: "granted"},
	{name: "decline", message: "MOCK_CMD[echo granted]", frame: "approval", idKey: "approvalId",
		path: "/api/approvals/%s/decision", body: answered(object{"decision": "decline"}), says: "rejected"},
	{name: "tool input", message: "MOCK_ASK", frame: "tool_user_input_requested", idKey: "requestId",
		path: "/api/tool-input/%s/decision",
		body: func(request object) object {
			question := text(request["questions"].([]any)[0], "id")
			return object{"decision": "accept", "answers": object{question: object{"answers": []string{"A"}}}}
		}, says: "answers"},
	{name: "tool call", message: `MOCK_CALL[lookup_ticket|{"id":"T-1"}]END`, frame: "tool_call_requested",
		idKey: "requestId", path: "/api/tool-calls/%s/response", body: answered(object{"text": "ticket is green"}),
		says: "ticket is green"},
}

var untrusted = object{"approvalPolicy": "untrusted", "dynamicTools": []object{{
	"name": "lookup_ticket", "description": "Look up a ticket",
	"inputSchema": object{"type": "object", "properties": object{"id": object{"type": "string"}}},
}}}

// question is what a turn at a asks, and how it is answered.
type question struct {
	session, turn, path string
	events              *follower
	answer              object
}

func (n *nodes) ask(way asked) question {
	session := n.a.createSession(untrusted)
	events := n.a.follow("threadId=" + session)
	turn := n.a.send(session, way.message)
	request := events.waitType(way.frame).payload()
	return question{session, turn, fmt.Sprintf(way.path, text(request, way.idKey)), events, way.body(request)}
}

// A decision made at the node that does not own the session reaches the turn, also while both nodes write.
func TestADecisionAtTheOtherNodeReachesTheTurn(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		n := newNodes(t)
		if busy {
			defer n.write(t)()
		}
		for _, way := range waysToAsk {
			t.Run(fmt.Sprintf("%s, busy %t", way.name, busy), func(t *testing.T) {
				q := n.ask(way)
				n.b.want(http.StatusOK, http.MethodPost, q.path, q.answer)
				decided := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if _, err := n.siteA.model.WaitOutput(ctx, func(o mockmodel.Output) bool {
					return strings.Contains(o.Text, way.says)
				}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(decided); took > decisionLimit {
					t.Errorf("the turn went on after %s, want %s", took, decisionLimit)
				} else {
					t.Logf("the turn went on after %s", took)
				}
				if status := q.events.waitTurn(q.turn); status != "completed" {
					t.Errorf("the turn ended %s", status)
				}
				// The loser of a second decision is told so, at either node.
				for _, node := range []*instance{n.a, n.b} {
					if status, answer := node.call(http.MethodPost, q.path, q.answer); status != http.StatusNotFound ||
						text(answer, "code") != "already_resolved" {
						t.Errorf("a second decision got %d %v", status, answer)
					}
				}
				if calls := n.siteB.calls(q.session); len(calls) > 0 {
					t.Errorf("the codex of the other node was told %v", calls)
				}
			})
		}
		if outputs := n.siteA.model.Outputs(); len(outputs) != len(waysToAsk) {
			t.Errorf("the model was told %v, want one outcome of each", outputs)
		}
	}
}

// write keeps both nodes writing until the returned function is called.
func (n *nodes) write(t *testing.T) (stop func()) {
	t.Helper()
	stopping := make(chan struct{})
	var group sync.WaitGroup
	for k, node := range []*instance{n.a, n.a, n.b, n.b} {
		session := node.createSession(nil)
		group.Go(func() {
			for count := 0; ; count++ {
				select {
				case <-stopping:
					return
				default:
				}
				body := object{"messageId": fmt.Sprint("m", count), "turnId": "load", "role": "assistant", "type": "note",
					"content": fmt.Sprint(k, count), "status": "complete"}
				status, raw, err := node.try(http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", body)
				if err != nil || status != http.StatusOK {
					t.Errorf("an upsert got %d %s %v", status, raw, err)
					return
				}
			}
		})
	}
	return func() { close(stopping); group.Wait() }
}

// Deciders at both nodes at once: one wins, and the runtime gets its answer once.
func TestDecidersAtTwoNodes(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withRaceDetector())
	session := n.a.createSession(untrusted)
	events := n.a.follow("threadId=" + session)
	for round := range 5 {
		turn := n.a.send(session, fmt.Sprintf("MOCK_CMD[echo round %d]", round))
		id := text(events.waitType("approval").payload(), "approvalId")
		statuses, gate := make(chan int, 16), make(chan struct{})
		var group sync.WaitGroup
		for k := range 16 {
			group.Go(func() {
				<-gate
				node := []*instance{n.a, n.b}[k%2]
				status, _, err := node.try(http.MethodPost, "/api/approvals/"+id+"/decision", object{"decision": "accept"})
				if err != nil {
					t.Error(err)
				}
				statuses <- status
			})
		}
		close(gate)
		group.Wait()
		close(statuses)
		won := 0
		for status := range statuses {
			switch status {
			case http.StatusOK:
				won++
			case http.StatusNotFound:
			default:
				t.Errorf("a decider got %d", status)
			}
		}
		if status := events.waitTurn(turn); won != 1 || status != "completed" {
			t.Errorf("%d won, the turn ended %s", won, status)
		}
	}
	answers := 0
	for _, line := range n.siteA.calls("decision") {
		if strings.Contains(line, `"accept"`) {
			answers++
		}
	}
	if outputs := n.siteA.model.Outputs(); len(outputs) != 5 || answers != 5 {
		t.Errorf("codex got %d answers, the model %d outcomes, want 5", answers, len(outputs))
	}
}

// The owner is killed between the decision at the other node and its delivery, or before the decision: it is delivered
// to the codex that outlived its server once the owner is back.
func TestADecisionWhileTheOwnerIsDown(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	for k, way := range append(slices.Clone(waysToAsk), waysToAsk[0]) {
		dead := k == len(waysToAsk)
		t.Run(fmt.Sprintf("%s, dead %t", way.name, dead), func(t *testing.T) {
			q := n.ask(way)
			pid := n.a.runtimePID()
			if dead {
				n.a.kill()
			} else {
				n.a.freeze()
			}
			n.b.want(http.StatusOK, http.MethodPost, q.path, q.answer)
			n.a.kill()
			before := len(n.siteA.model.Outputs())

			n.a = n.siteA.start()
			late := n.a.follow("after=0&threadId=" + q.session)
			if status := late.waitTurn(q.turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			if again := n.a.runtimePID(); again != pid {
				t.Errorf("codex is process %d, was %d", again, pid)
			}
			if outputs := n.siteA.model.Outputs()[before:]; len(outputs) != 1 || !strings.Contains(outputs[0].Text, way.says) {
				t.Errorf("the model was told %v, want one with %q", outputs, way.says)
			}
		})
	}
	n.siteA.foldJournal("") // gap-free
}

// The owner and its codex are gone when the decision is made: the decision expires visibly at the owner's next start,
// as the turn ends.
func TestADecisionNobodyWaitsForExpires(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	q := n.ask(waysToAsk[0])
	n.a.kill()
	n.siteA.endRuntimes()
	n.b.want(http.StatusOK, http.MethodPost, q.path, q.answer)

	n.a = n.siteA.start()
	late := n.a.follow("after=0&threadId=" + q.session)
	late.wait("the decision", func(f frame) bool {
		return f.Type == "approval_resolved" && text(f.payload(), "status") == "resolved"
	})
	late.wait("its end", func(f frame) bool {
		return f.Type == "approval_resolved" && text(f.payload(), "status") == "expired"
	})
	if status := late.waitTurn(q.turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	_, answer := n.b.call(http.MethodPost, q.path, q.answer)
	if text(answer, "resolution", "status") != "expired" {
		t.Errorf("a later decision is told %v", answer)
	}
}

// operation is one request that needs the runtime of the session's owner.
type operation struct {
	method, path string
	body         object
}

func ownersOperations(session, turn, project string) []operation {
	one := "/api/sessions/" + session
	return []operation{
		{http.MethodPost, one + "/messages", object{"text": "MOCK_REPLY[from the wrong node]"}},
		{http.MethodPost, one + "/interrupt", nil},
		{http.MethodPost, one + "/interrupt", object{"turnId": turn}},
		{http.MethodPost, one + "/turns/" + turn + "/steer", object{"input": "faster"}},
		{http.MethodPost, one + "/resume", object{}},
		{http.MethodPost, one + "/rename", object{"title": "renamed at the wrong node"}},
		{http.MethodPost, one + "/archive", nil},
		{http.MethodPost, one + "/unarchive", nil},
		{http.MethodPost, one + "/fork", nil},
		{http.MethodPost, one + "/compact", nil},
		{http.MethodPost, one + "/rollback", nil},
		{http.MethodPost, one + "/review", nil},
		{http.MethodPost, one + "/background-terminals/clean", nil},
		{http.MethodPost, one + "/suggested-request", nil},
		{http.MethodPost, one + "/suggested-request/jobs", nil},
		{http.MethodDelete, one, nil},
		{http.MethodPost, "/api/projects/" + project + "/chats/move-all", object{"destination": "archive"}},
		{http.MethodPost, "/api/projects/" + project + "/chats/delete-all", nil},
	}
}

// Everything that needs the owner's runtime is refused at the other node with the owner's name, and changes nothing
// anywhere.
func TestTheOtherNodeRefusesWhatTheOwnerMustDo(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	project := text(n.a.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "shared"}), "project",
		"projectId")
	for _, running := range []bool{false, true} {
		session := n.a.createSession(nil)
		n.a.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", object{"projectId": project})
		events := n.a.follow("threadId=" + session)
		turn := n.a.send(session, "MOCK_REPLY[first]")
		events.waitTurn(turn)
		if running {
			turn = n.a.send(session, "MOCK_HOLD[on]")
			if err := n.siteA.model.WaitHeld(t.Context(), "on"); err != nil {
				t.Fatal(err)
			}
		}
		// A read first: it must neither fail nor ask the codex that does not know the session.
		entries := n.b.transcript(session)
		if !slices.ContainsFunc(entries, func(e object) bool { return strings.Contains(text(e, "content"), "first") }) {
			t.Errorf("the other node reads %v", entries)
		}
		for _, op := range ownersOperations(session, turn, project) {
			told, calls := n.siteA.stored(session), n.siteA.calls(session)
			status, answer := n.b.call(op.method, op.path, op.body)
			if status != http.StatusMisdirectedRequest || text(answer, "code") != "not_owner" ||
				text(answer, "owner", "nodeId") != n.siteA.nodeID() ||
				!strings.Contains(text(answer, "message"), n.siteA.nodeID()) {
				t.Errorf("running %t: %s %s answered %d %v", running, op.method, op.path, status, answer)
			}
			if again := n.siteA.stored(session); len(again) != len(told) {
				t.Errorf("running %t: %s %s was told as %v", running, op.method, op.path, again[len(told):])
			}
			if again := n.siteA.calls(session); len(again) != len(calls) {
				t.Errorf("running %t: %s %s asked the owner's codex %v", running, op.method, op.path, again[len(calls):])
			}
		}
		if calls := n.siteB.calls(session); len(calls) > 0 {
			t.Errorf("running %t: the codex of the other node was asked %v", running, calls)
		}
		if running {
			n.siteA.model.Release("on")
			if status := events.waitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
		}
		// The owner still can.
		if status := events.waitTurn(n.a.send(session, "MOCK_REPLY[on we go]")); status != "completed" {
			t.Errorf("the next turn ended %s", status)
		}
	}
}

// What needs no runtime works at every node.
func TestTheOtherNodeDoesWhatNeedsNoRuntime(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	session := n.a.createSession(nil)
	one := "/api/sessions/" + session
	project := text(n.b.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "shared"}), "project",
		"projectId")
	n.b.want(http.StatusOK, http.MethodPost, one+"/project", object{"projectId": project})
	n.b.want(http.StatusOK, http.MethodPost, one+"/settings", object{"scope": "session", "key": "k", "value": 1})
	n.b.want(http.StatusOK, http.MethodPost, one+"/transcript/upsert",
		object{"messageId": "m", "turnId": "t", "role": "assistant", "type": "note", "content": "c", "status": "complete"})
	for _, path := range []string{one, one + "?limit=10", one + "/approvals", one + "/session-controls", one + "/settings",
		"/api/sessions"} {
		if status, raw, err := n.b.try(http.MethodGet, path, nil); err != nil || status != http.StatusOK || !json.Valid(raw) {
			t.Errorf("GET %s answered %d %s %v", path, status, raw, err)
		}
	}
	n.b.want(http.StatusOK, http.MethodPost, "/api/projects/"+project+"/chats/move-all",
		object{"destination": "unassigned"})
	n.b.want(http.StatusNotFound, http.MethodPost, "/api/sessions/no-such-session/messages", object{"text": "hi"})
	if calls := n.siteB.calls(session); len(calls) > 0 {
		t.Errorf("the codex of the other node was asked %v", calls)
	}

	// Deleted is deleted everywhere, whoever owned it.
	n.a.want(http.StatusOK, http.MethodDelete, one, nil)
	n.b.want(http.StatusGone, http.MethodPost, one+"/messages", object{"text": "hi"})
}

// A node that is gone for good: another one takes its sessions when its operator says so, and its leftovers end.
func TestTheSessionsOfAGoneNodeAreTaken(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	q := n.ask(waysToAsk[0])
	n.a.kill()
	n.siteA.endRuntimes()
	refused := n.b.want(http.StatusMisdirectedRequest, http.MethodDelete, "/api/sessions/"+q.session, nil)
	if remedy := "HARNESS_ADOPT_NODES=" + n.siteA.nodeID(); !strings.Contains(text(refused, "message"), remedy) {
		t.Fatalf("the refusal %q does not name the remedy %q", text(refused, "message"), remedy)
	}
	n.b.stop()
	n.b = n.siteB.start("HARNESS_ADOPT_NODES=" + n.siteA.nodeID())
	n.b.waitRuntime()
	late := n.b.follow("after=0&threadId=" + q.session)
	late.wait("the end of the approval", func(f frame) bool {
		return f.Type == "approval_resolved" && text(f.payload(), "status") == "expired"
	})
	if status := late.waitTurn(q.turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	n.b.want(http.StatusNotFound, http.MethodPost, q.path, q.answer)
	n.b.want(http.StatusOK, http.MethodDelete, "/api/sessions/"+q.session, nil)
}

// On SQLite there is one server: a data directory whose node id was lost keeps its sessions.
func TestSQLiteKeepsItsSessionsWithAnotherNodeID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	events.waitTurn(server.send(session, "MOCK_REPLY[first]"))
	server.stop()
	s.forgetNodeID()
	server = s.start()
	server.waitRuntime()
	events = server.follow("threadId=" + session)
	if status := events.waitTurn(server.send(session, "MOCK_REPLY[second]")); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
}
