package agents

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

func TestAMessageIsAnsweredOnTheStreamAndStored(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_SLOW[5,10] please")
		if status := events.WaitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		deltas := ""
		for _, f := range events.All() {
			if f.Type == "notification" && programtest.Text(f.Decoded(), "method") == "item/agentMessage/delta" {
				deltas += programtest.Text(f.Decoded(), "params", "delta")
			}
			if f.Pos != 0 || f.Seq != 0 {
				t.Fatalf("a client that did not ask got positions: %s", f.Raw)
			}
		}
		entries := server.Transcript(session)
		if programtest.Entry(t, entries, "userMessage")["content"] != "MOCK_SLOW[5,10] please" {
			t.Errorf("user message: %v", entries[0])
		}
		answer := programtest.Entry(t, entries, "agentMessage")
		if answer["content"] != deltas || deltas == "" || answer["status"] != "complete" {
			t.Errorf("answer %v, streamed %q", answer, deltas)
		}
		server.Stop()
	})
}

// approve sends a message that needs an approval and decides it.
func approve(t *testing.T, server *programtest.Server, message, decision string) (session string, events *programtest.Follower,
	turnStatus string) {
	t.Helper()
	session = server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events = server.Follow("threadId=" + session)
	turn := server.Send(session, message)
	asked := events.WaitType("approval")
	id := programtest.Text(asked.Decoded(), "approvalId")
	listed := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
	if len(listed) != 1 || programtest.Text(listed[0], "approvalId") != id ||
		programtest.Text(listed[0], "summary") != programtest.Text(asked.Decoded(), "summary") {
		t.Fatalf("listed approvals %v, announced %s", listed, asked.Raw)
	}
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+id+"/decision", programtest.Object{"decision": decision})
	resolved := events.WaitType("approval_resolved").Decoded()
	if resolved["approvalId"] != id || resolved["status"] != "resolved" || resolved["decision"] != decision {
		t.Fatalf("resolved as %v", resolved)
	}
	turnStatus = events.WaitTurn(turn)
	if rest := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any); len(
		rest) != 0 {
		t.Fatalf("still pending: %v", rest)
	}
	return session, events, turnStatus
}

// ST-29, SE-06, SE-08, SE-11: a command waits for its approval and follows the decision.
func TestACommandIsApprovedDeclinedOrCancelled(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		for decision, want := range map[string]struct {
			turn string
			ran  bool
		}{"accept": {"completed", true}, "decline": {"completed", false}, "cancel": {"interrupted", false}} {
			file := filepath.Join(s.Workspace, decision+".txt")
			session, _, status := approve(t, server, "MOCK_CMD[touch "+file+"]", decision)
			if status != want.turn {
				t.Errorf("%s: the turn ended %s, want %s", decision, status, want.turn)
			}
			if _, err := os.Stat(file); (err == nil) != want.ran {
				t.Errorf("%s: the command ran: %v, want %v", decision, err == nil, want.ran)
			}
			entries := server.Transcript(session)
			if got := programtest.Entry(t, entries, "approval.resolved"); !strings.HasPrefix(programtest.Text(got, "messageId"), "approval-") {
				t.Errorf("%s: %v", decision, got)
			}
		}
	})
}

func TestAFileChangeIsApproved(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		_, _, status := approve(t, server, "MOCK_PATCH[made.txt]", "accept")
		if _, err := os.Stat(filepath.Join(s.Workspace, "made.txt")); err != nil || status != "completed" {
			t.Errorf("the turn ended %s, the file: %v", status, err)
		}
	})
}

// ST-31: the agent calls a client's tool, and its result reaches the model.
func TestADynamicToolIsCalled(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(programtest.Object{"dynamicTools": []programtest.Object{{
			"name": "lookup_ticket", "description": "Look up a ticket",
			"inputSchema": programtest.Object{"type": "object", "properties": programtest.Object{"id": programtest.Object{"type": "string"}}},
		}}})
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, `MOCK_CALL[lookup_ticket|{"id":"T-1"}]END`)
		asked := events.WaitType("tool_call_requested").Decoded()
		if asked["tool"] != "lookup_ticket" || programtest.Text(asked, "arguments", "id") != "T-1" {
			t.Fatalf("asked %v", asked)
		}
		id := programtest.Text(asked, "requestId")
		server.Want(http.StatusOK, http.MethodPost, "/api/tool-calls/"+id+"/response", programtest.Object{"text": "ticket is green"})
		if resolved := events.WaitType("tool_call_resolved").Decoded(); resolved["requestId"] != id ||
			resolved["success"] != true {
			t.Fatalf("resolved %v", resolved)
		}
		if status := events.WaitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		if answer := programtest.Entry(t, server.Transcript(session), "agentMessage"); !strings.Contains(programtest.Text(answer, "content"),
			"ticket is green") {
			t.Errorf("the model did not get the result: %v", answer)
		}
	})
}

// ST-30: the runtime asks the user and gets the answer. 0.101 offers the tool only in plan mode.
func TestTheUserIsAsked(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			server := programtest.New(t, programtest.WithEngine(engine)).Start()
			session := server.CreateSession(nil)
			events := server.Follow("threadId=" + session)
			turn := server.Send(session, "MOCK_ASK")
			asked := events.WaitType("tool_user_input_requested").Decoded()
			question := asked["questions"].([]any)[0]
			answers := programtest.Object{programtest.Text(question, "id"): programtest.Object{"answers": []string{"A"}}}
			server.Want(http.StatusOK, http.MethodPost, "/api/tool-input/"+programtest.Text(asked, "requestId")+"/decision",
				programtest.Object{"decision": "accept", "answers": answers})
			if resolved := events.WaitType("tool_user_input_resolved").Decoded(); resolved["status"] != "resolved" {
				t.Fatalf("resolved %v", resolved)
			}
			if status := events.WaitTurn(turn); status != "completed" {
				t.Fatalf("the turn ended %s", status)
			}
		})
	}
}

// SE-05: an interrupted session accepts the next message.
func TestATurnIsInterrupted(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		server.Want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_HOLD[never]")
		if err := s.Model.WaitHeld(t.Context(), "never"); err != nil {
			t.Fatal(err)
		}
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
		if status := events.WaitTurn(turn); status != "interrupted" {
			t.Fatalf("the turn ended %s", status)
		}
		server.Want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
		if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[on we go]")); status != "completed" {
			t.Fatalf("the next turn ended %s", status)
		}
	})
}

// A second message during a turn is steered into it: the same turn id and one completion.
func TestASecondMessageJoinsTheRunningTurn(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		events := server.Follow("threadId=" + session)
		first := server.Send(session, "MOCK_HOLD[first]")
		if err := s.Model.WaitHeld(t.Context(), "first"); err != nil {
			t.Fatal(err)
		}
		second := server.Send(session, "MOCK_REPLY[got both]")
		if second != first {
			t.Fatalf("the second message got turn %s, the first %s", second, first)
		}
		s.Model.Release("first")
		if status := events.WaitTurn(first); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
	})
}

func TestAModelErrorFailsTheTurnAndNotTheSession(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		events := server.Follow("threadId=" + session)
		if status := events.WaitTurn(server.Send(session, "MOCK_HTTP_400")); status != "failed" {
			t.Fatalf("the turn ended %s", status)
		}
		if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[fine again]")); status != "completed" {
			t.Fatalf("the next turn ended %s", status)
		}
	})
}
