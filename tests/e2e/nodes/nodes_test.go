package nodes

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

	"harness/tests/mockmodel"
	"harness/tests/programtest"
)

// decisionLimit is the maximum time until a decision on another node reaches the turn.
const decisionLimit = 1500 * time.Millisecond

// asked is one kind of request in a turn, and its answer.
type asked struct {
	name, message, frame, idKey, path string
	body                              func(request programtest.Object) programtest.Object
	// says is the text that the model must have got.
	says string
}

func answered(body programtest.Object) func(programtest.Object) programtest.Object {
	return func(programtest.Object) programtest.Object { return body }
}

var waysToAsk = []asked{
	{name: "accept", message: "MOCK_CMD[echo granted]", frame: "approval", idKey: "approvalId",
		path: "/api/approvals/%s/decision", body: answered(programtest.Object{"decision": "accept"}), says: "granted"},
	{name: "decline", message: "MOCK_CMD[echo granted]", frame: "approval", idKey: "approvalId",
		path: "/api/approvals/%s/decision", body: answered(programtest.Object{"decision": "decline"}), says: "rejected"},
	{name: "tool input", message: "MOCK_ASK", frame: "tool_user_input_requested", idKey: "requestId",
		path: "/api/tool-input/%s/decision",
		body: func(request programtest.Object) programtest.Object {
			question := programtest.Text(request["questions"].([]any)[0], "id")
			return programtest.Object{"decision": "accept", "answers": programtest.Object{question: programtest.Object{"answers": []string{"A"}}}}
		}, says: "answers"},
	{name: "tool call", message: `MOCK_CALL[lookup_ticket|{"id":"T-1"}]END`, frame: "tool_call_requested",
		idKey: "requestId", path: "/api/tool-calls/%s/response", body: answered(programtest.Object{"text": "ticket is green"}),
		says: "ticket is green"},
}

var untrusted = programtest.Object{"approvalPolicy": "untrusted", "dynamicTools": []programtest.Object{{
	"name": "lookup_ticket", "description": "Look up a ticket",
	"inputSchema": programtest.Object{"type": "object", "properties": programtest.Object{"id": programtest.Object{"type": "string"}}},
}}}

// question is the pending request of a turn on a, and its answer.
type question struct {
	session, turn, path string
	events              *programtest.Follower
	answer              programtest.Object
}

func (n *nodes) ask(way asked) question {
	session := n.a.CreateSession(untrusted)
	events := n.a.Follow("threadId=" + session)
	turn := n.a.Send(session, way.message)
	request := events.WaitType(way.frame).Decoded()
	return question{session, turn, fmt.Sprintf(way.path, programtest.Text(request, way.idKey)), events, way.body(request)}
}

// A decision on a node that does not own the session reaches the turn, even while both nodes write.
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
				n.b.Want(http.StatusOK, http.MethodPost, q.path, q.answer)
				decided := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
				defer cancel()
				if _, err := n.siteA.Model.WaitOutput(ctx, func(o mockmodel.Output) bool {
					return strings.Contains(o.Text, way.says)
				}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(decided); took > decisionLimit {
					t.Errorf("the turn went on after %s, want %s", took, decisionLimit)
				} else {
					t.Logf("the turn went on after %s", took)
				}
				if status := q.events.WaitTurn(q.turn); status != "completed" {
					t.Errorf("the turn ended %s", status)
				}
				// A second decision gets an error on either node.
				for _, node := range []*programtest.Server{n.a, n.b} {
					if status, answer := node.Call(http.MethodPost, q.path, q.answer); status != http.StatusNotFound ||
						programtest.Text(answer, "code") != "already_resolved" {
						t.Errorf("a second decision got %d %v", status, answer)
					}
				}
				if calls := n.siteB.Calls(q.session); len(calls) > 0 {
					t.Errorf("the codex of the other node got %v", calls)
				}
			})
		}
		if outputs := n.siteA.Model.Outputs(); len(outputs) != len(waysToAsk) {
			t.Errorf("the model got %v, want one outcome of each", outputs)
		}
	}
}

// write keeps both nodes writing until the test calls the returned function.
func (n *nodes) write(t *testing.T) (stop func()) {
	t.Helper()
	stopping := make(chan struct{})
	var group sync.WaitGroup
	for k, node := range []*programtest.Server{n.a, n.a, n.b, n.b} {
		session := node.CreateSession(nil)
		group.Go(func() {
			for count := 0; ; count++ {
				select {
				case <-stopping:
					return
				default:
				}
				body := programtest.Object{"messageId": fmt.Sprint("m", count), "turnId": "load", "role": "assistant", "type": "note",
					"content": fmt.Sprint(k, count), "status": "complete"}
				status, raw, err := node.Try(http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", body)
				if err != nil || status != http.StatusOK {
					t.Errorf("an upsert got %d %s %v", status, raw, err)
					return
				}
			}
		})
	}
	return func() { close(stopping); group.Wait() }
}

// Clients on both nodes decide at once. One wins, and the runtime gets one answer.
func TestDecidersAtTwoNodes(t *testing.T) {
	t.Parallel()
	n := newNodes(t, programtest.WithRaceDetector())
	session := n.a.CreateSession(untrusted)
	events := n.a.Follow("threadId=" + session)
	for round := range 5 {
		turn := n.a.Send(session, fmt.Sprintf("MOCK_CMD[echo round %d]", round))
		id := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
		statuses, gate := make(chan int, 16), make(chan struct{})
		var group sync.WaitGroup
		for k := range 16 {
			group.Go(func() {
				<-gate
				node := []*programtest.Server{n.a, n.b}[k%2]
				status, _, err := node.Try(http.MethodPost, "/api/approvals/"+id+"/decision", programtest.Object{"decision": "accept"})
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
		if status := events.WaitTurn(turn); won != 1 || status != "completed" {
			t.Errorf("%d won, the turn ended %s", won, status)
		}
	}
	answers := 0
	for _, line := range n.siteA.Calls("decision") {
		if strings.Contains(line, `"accept"`) {
			answers++
		}
	}
	if outputs := n.siteA.Model.Outputs(); len(outputs) != 5 || answers != 5 {
		t.Errorf("codex got %d answers, the model %d outcomes, want 5", answers, len(outputs))
	}
}

// The owner is killed between the decision on the other node and its delivery, or before the decision. Once the owner
// is back, it delivers the decision to the codex that outlived it.
func TestADecisionWhileTheOwnerIsDown(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	for k, way := range append(slices.Clone(waysToAsk), waysToAsk[0]) {
		dead := k == len(waysToAsk)
		t.Run(fmt.Sprintf("%s, dead %t", way.name, dead), func(t *testing.T) {
			q := n.ask(way)
			pid := n.a.RuntimePID()
			if dead {
				n.a.Kill()
			} else {
				freeze(n.a)
			}
			n.b.Want(http.StatusOK, http.MethodPost, q.path, q.answer)
			n.a.Kill()
			before := len(n.siteA.Model.Outputs())

			n.a = n.siteA.Start()
			late := n.a.Follow("after=0&threadId=" + q.session)
			if status := late.WaitTurn(q.turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			if again := n.a.RuntimePID(); again != pid {
				t.Errorf("codex is process %d, was %d", again, pid)
			}
			if outputs := n.siteA.Model.Outputs()[before:]; len(outputs) != 1 || !strings.Contains(outputs[0].Text, way.says) {
				t.Errorf("the model got %v, want one with %q", outputs, way.says)
			}
		})
	}
	n.siteA.FoldJournal("") // no gaps
}

// The owner and its codex have ended when the decision is made. The decision visibly expires at the owner's next
// start, when the turn ends.
func TestADecisionWithoutAWaitingTurnExpires(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	q := n.ask(waysToAsk[0])
	n.a.Kill()
	n.siteA.EndRuntimes()
	n.b.Want(http.StatusOK, http.MethodPost, q.path, q.answer)

	n.a = n.siteA.Start()
	late := n.a.Follow("after=0&threadId=" + q.session)
	late.Wait("the decision", func(f programtest.Frame) bool {
		return f.Type == "approval_resolved" && programtest.Text(f.Decoded(), "status") == "resolved"
	})
	late.Wait("its end", func(f programtest.Frame) bool {
		return f.Type == "approval_resolved" && programtest.Text(f.Decoded(), "status") == "expired"
	})
	if status := late.WaitTurn(q.turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	_, answer := n.b.Call(http.MethodPost, q.path, q.answer)
	if programtest.Text(answer, "resolution", "status") != "expired" {
		t.Errorf("a later decision gets %v", answer)
	}
}

// operation is one request that needs the runtime of the session's owner.
type operation struct {
	method, path string
	body         programtest.Object
}

func ownersOperations(session, turn, project string) []operation {
	one := "/api/sessions/" + session
	return []operation{
		{http.MethodPost, one + "/messages", programtest.Object{"text": "MOCK_REPLY[from the wrong node]"}},
		{http.MethodPost, one + "/interrupt", nil},
		{http.MethodPost, one + "/interrupt", programtest.Object{"turnId": turn}},
		{http.MethodPost, one + "/turns/" + turn + "/steer", programtest.Object{"input": "faster"}},
		{http.MethodPost, one + "/resume", programtest.Object{}},
		{http.MethodPost, one + "/rename", programtest.Object{"title": "renamed at the wrong node"}},
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
		{http.MethodPost, "/api/projects/" + project + "/chats/move-all", programtest.Object{"destination": "archive"}},
		{http.MethodPost, "/api/projects/" + project + "/chats/delete-all", nil},
	}
}

// The other node refuses every request that needs the owner's runtime, with the owner's name, and changes nothing on
// either node.
func TestTheOtherNodeRefusesWhatTheOwnerMustDo(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	project := programtest.Text(n.a.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "shared"}), "project",
		"projectId")
	for _, running := range []bool{false, true} {
		session := n.a.CreateSession(nil)
		n.a.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", programtest.Object{"projectId": project})
		events := n.a.Follow("threadId=" + session)
		turn := n.a.Send(session, "MOCK_REPLY[first]")
		events.WaitTurn(turn)
		if running {
			turn = n.a.Send(session, "MOCK_HOLD[on]")
			if err := n.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
				t.Fatal(err)
			}
		}
		// First a read. It must neither fail nor query the codex that does not know the session.
		entries := n.b.Transcript(session)
		if !slices.ContainsFunc(entries, func(e programtest.Object) bool { return strings.Contains(programtest.Text(e, "content"), "first") }) {
			t.Errorf("the other node reads %v", entries)
		}
		for _, op := range ownersOperations(session, turn, project) {
			before, calls := stored(n.siteA, session), n.siteA.Calls(session)
			status, answer := n.b.Call(op.method, op.path, op.body)
			if status != http.StatusMisdirectedRequest || programtest.Text(answer, "code") != "not_owner" ||
				programtest.Text(answer, "owner", "nodeId") != nodeID(n.siteA) ||
				!strings.Contains(programtest.Text(answer, "message"), nodeID(n.siteA)) {
				t.Errorf("running %t: %s %s answered %d %v", running, op.method, op.path, status, answer)
			}
			if again := stored(n.siteA, session); len(again) != len(before) {
				t.Errorf("running %t: %s %s has the events %v", running, op.method, op.path, again[len(before):])
			}
			if again := n.siteA.Calls(session); len(again) != len(calls) {
				t.Errorf("running %t: %s %s asked the owner's codex %v", running, op.method, op.path, again[len(calls):])
			}
		}
		if calls := n.siteB.Calls(session); len(calls) > 0 {
			t.Errorf("running %t: the codex of the other node was asked %v", running, calls)
		}
		if running {
			n.siteA.Model.Release("on")
			if status := events.WaitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
		}
		// The owner can still run a turn.
		if status := events.WaitTurn(n.a.Send(session, "MOCK_REPLY[on we go]")); status != "completed" {
			t.Errorf("the next turn ended %s", status)
		}
	}
}

// Requests that need no runtime work on every node.
func TestTheOtherNodeDoesWhatNeedsNoRuntime(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	session := n.a.CreateSession(nil)
	one := "/api/sessions/" + session
	project := programtest.Text(n.b.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "shared"}), "project",
		"projectId")
	n.b.Want(http.StatusOK, http.MethodPost, one+"/project", programtest.Object{"projectId": project})
	n.b.Want(http.StatusOK, http.MethodPost, one+"/settings", programtest.Object{"scope": "session", "key": "k", "value": 1})
	n.b.Want(http.StatusOK, http.MethodPost, one+"/transcript/upsert",
		programtest.Object{"messageId": "m", "turnId": "t", "role": "assistant", "type": "note", "content": "c", "status": "complete"})
	for _, path := range []string{one, one + "?limit=10", one + "/approvals", one + "/session-controls", one + "/settings",
		"/api/sessions"} {
		if status, raw, err := n.b.Try(http.MethodGet, path, nil); err != nil || status != http.StatusOK || !json.Valid(raw) {
			t.Errorf("GET %s answered %d %s %v", path, status, raw, err)
		}
	}
	n.b.Want(http.StatusOK, http.MethodPost, "/api/projects/"+project+"/chats/move-all",
		programtest.Object{"destination": "unassigned"})
	n.b.Want(http.StatusNotFound, http.MethodPost, "/api/sessions/no-such-session/messages", programtest.Object{"text": "hi"})
	if calls := n.siteB.Calls(session); len(calls) > 0 {
		t.Errorf("the codex of the other node was asked %v", calls)
	}

	// A deleted session is deleted on every node, no matter which node owned it.
	n.a.Want(http.StatusOK, http.MethodDelete, one, nil)
	n.b.Want(http.StatusGone, http.MethodPost, one+"/messages", programtest.Object{"text": "hi"})
}

// A node is permanently lost. Another node takes over its sessions when its operator requests it, and ends the lost
// node's leftovers.
func TestTheSessionsOfAGoneNodeAreTaken(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	q := n.ask(waysToAsk[0])
	n.a.Kill()
	n.siteA.EndRuntimes()
	refused := n.b.Want(http.StatusMisdirectedRequest, http.MethodDelete, "/api/sessions/"+q.session, nil)
	if remedy := "HARNESS_ADOPT_NODES=" + nodeID(n.siteA); !strings.Contains(programtest.Text(refused, "message"), remedy) {
		t.Fatalf("the refusal %q does not name the remedy %q", programtest.Text(refused, "message"), remedy)
	}
	n.b.Stop()
	n.b = n.siteB.Start("HARNESS_ADOPT_NODES=" + nodeID(n.siteA))
	n.b.WaitRuntime()
	late := n.b.Follow("after=0&threadId=" + q.session)
	late.Wait("the end of the approval", func(f programtest.Frame) bool {
		return f.Type == "approval_resolved" && programtest.Text(f.Decoded(), "status") == "expired"
	})
	if status := late.WaitTurn(q.turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	n.b.Want(http.StatusNotFound, http.MethodPost, q.path, q.answer)
	n.b.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+q.session, nil)
}

// On SQLite there is one server. It keeps its sessions even if the data directory loses its node id.
func TestSQLiteKeepsItsSessionsWithAnotherNodeID(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	events.WaitTurn(server.Send(session, "MOCK_REPLY[first]"))
	server.Stop()
	forgetNodeID(s)
	server = s.Start()
	server.WaitRuntime()
	events = server.Follow("threadId=" + session)
	if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[second]")); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
}
