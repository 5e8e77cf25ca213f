package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/database"
	"harness/internal/codextest"
	"harness/internal/dbtest"
)

// eachSite runs a test with the real codex on both engines, and with the oldest codex supported on SQLite.
func eachSite(t *testing.T, test func(t *testing.T, s *site), options ...siteOption) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, append(options, withEngine(engine))...))
		})
	}
	t.Run("oldest codex", func(t *testing.T) {
		t.Parallel()
		test(t, newSite(t, append(options, withEngine(database.SQLite), withCodex(codextest.Oldest))...))
	})
}

// entry finds the first transcript entry of a type.
func entry(t *testing.T, entries []object, entryType string) object {
	t.Helper()
	for _, e := range entries {
		if e["type"] == entryType {
			return e
		}
	}
	t.Fatalf("no %s in the transcript %v", entryType, entries)
	return nil
}

func TestAMessageIsAnsweredOnTheStreamAndStored(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(nil)
		events := server.follow("threadId=" + session)
		turn := server.send(session, "MOCK_SLOW[5,10] please")
		if status := events.waitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		deltas := ""
		for _, f := range events.all() {
			if f.Type == "notification" && text(f.payload(), "method") == "item/agentMessage/delta" {
				deltas += text(f.payload(), "params", "delta")
			}
			if f.Pos != 0 || f.Seq != 0 {
				t.Fatalf("a client that did not ask got positions: %s", f.raw)
			}
		}
		entries := server.transcript(session)
		if entry(t, entries, "userMessage")["content"] != "MOCK_SLOW[5,10] please" {
			t.Errorf("user message: %v", entries[0])
		}
		answer := entry(t, entries, "agentMessage")
		if answer["content"] != deltas || deltas == "" || answer["status"] != "complete" {
			t.Errorf("answer %v, streamed %q", answer, deltas)
		}
		server.stop()
	})
}

// approve sends a message that needs an approval and decides it.
func approve(t *testing.T, server *instance, message, decision string) (session string, events *follower,
	turnStatus string) {
	t.Helper()
	session = server.createSession(object{"approvalPolicy": "untrusted"})
	events = server.follow("threadId=" + session)
	turn := server.send(session, message)
	asked := events.waitType("approval")
	id := text(asked.payload(), "approvalId")
	listed := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
	if len(listed) != 1 || text(listed[0], "approvalId") != id ||
		text(listed[0], "summary") != text(asked.payload(), "summary") {
		t.Fatalf("listed approvals %v, announced %s", listed, asked.raw)
	}
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+id+"/decision", object{"decision": decision})
	resolved := events.waitType("approval_resolved").payload()
	if resolved["approvalId"] != id || resolved["status"] != "resolved" || resolved["decision"] != decision {
		t.Fatalf("resolved as %v", resolved)
	}
	turnStatus = events.waitTurn(turn)
	if rest := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any); len(
		rest) != 0 {
		t.Fatalf("still pending: %v", rest)
	}
	return session, events, turnStatus
}

// ST-29, SE-06, SE-08, SE-11: a command waits for its approval and does as decided.
func TestACommandIsApprovedDeclinedOrCancelled(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		for decision, want := range map[string]struct {
			turn string
			ran  bool
		}{"accept": {"completed", true}, "decline": {"completed", false}, "cancel": {"interrupted", false}} {
			file := filepath.Join(s.workspace, decision+".txt")
			session, _, status := approve(t, server, "MOCK_CMD[touch "+file+"]", decision)
			if status != want.turn {
				t.Errorf("%s: the turn ended %s, want %s", decision, status, want.turn)
			}
			if _, err := os.Stat(file); (err == nil) != want.ran {
				t.Errorf("%s: the command ran: %v, want %v", decision, err == nil, want.ran)
			}
			entries := server.transcript(session)
			if got := entry(t, entries, "approval.resolved"); !strings.HasPrefix(text(got, "messageId"), "approval-") {
				t.Errorf("%s: %v", decision, got)
			}
		}
	})
}

func TestAFileChangeIsApproved(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		_, _, status := approve(t, server, "MOCK_PATCH[made.txt]", "accept")
		if _, err := os.Stat(filepath.Join(s.workspace, "made.txt")); err != nil || status != "completed" {
			t.Errorf("the turn ended %s, the file: %v", status, err)
		}
	})
}

// ST-31: a client's own tool is called and its result reaches the model.
func TestADynamicToolIsCalled(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(object{"dynamicTools": []object{{
			"name": "lookup_ticket", "description": "Look up a ticket",
			"inputSchema": object{"type": "object", "properties": object{"id": object{"type": "string"}}},
		}}})
		events := server.follow("threadId=" + session)
		turn := server.send(session, `MOCK_CALL[lookup_ticket|{"id":"T-1"}]END`)
		asked := events.waitType("tool_call_requested").payload()
		if asked["tool"] != "lookup_ticket" || text(asked, "arguments", "id") != "T-1" {
			t.Fatalf("asked %v", asked)
		}
		id := text(asked, "requestId")
		server.want(http.StatusOK, http.MethodPost, "/api/tool-calls/"+id+"/response", object{"text": "ticket is green"})
		if resolved := events.waitType("tool_call_resolved").payload(); resolved["requestId"] != id ||
			resolved["success"] != true {
			t.Fatalf("resolved %v", resolved)
		}
		if status := events.waitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		if answer := entry(t, server.transcript(session), "agentMessage"); !strings.Contains(text(answer, "content"),
			"ticket is green") {
			t.Errorf("the model did not get the result: %v", answer)
		}
	})
}

// ST-30: the runtime asks the user and gets the answer. 0.101 offers the tool in plan mode only.
func TestTheUserIsAsked(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			server := newSite(t, withEngine(engine)).start()
			session := server.createSession(nil)
			events := server.follow("threadId=" + session)
			turn := server.send(session, "MOCK_ASK")
			asked := events.waitType("tool_user_input_requested").payload()
			question := asked["questions"].([]any)[0]
			answers := object{text(question, "id"): object{"answers": []string{"A"}}}
			server.want(http.StatusOK, http.MethodPost, "/api/tool-input/"+text(asked, "requestId")+"/decision",
				object{"decision": "accept", "answers": answers})
			if resolved := events.waitType("tool_user_input_resolved").payload(); resolved["status"] != "resolved" {
				t.Fatalf("resolved %v", resolved)
			}
			if status := events.waitTurn(turn); status != "completed" {
				t.Fatalf("the turn ended %s", status)
			}
		})
	}
}

// SE-05: an interrupted session accepts the next message.
func TestATurnIsInterrupted(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(nil)
		server.want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
		events := server.follow("threadId=" + session)
		turn := server.send(session, "MOCK_HOLD[never]")
		if err := s.model.WaitHeld(t.Context(), "never"); err != nil {
			t.Fatal(err)
		}
		server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
		if status := events.waitTurn(turn); status != "interrupted" {
			t.Fatalf("the turn ended %s", status)
		}
		server.want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
		if status := events.waitTurn(server.send(session, "MOCK_REPLY[on we go]")); status != "completed" {
			t.Fatalf("the next turn ended %s", status)
		}
	})
}

// A second message during a turn is steered into it: same turn id, one completion.
func TestASecondMessageJoinsTheRunningTurn(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(nil)
		events := server.follow("threadId=" + session)
		first := server.send(session, "MOCK_HOLD[first]")
		if err := s.model.WaitHeld(t.Context(), "first"); err != nil {
			t.Fatal(err)
		}
		second := server.send(session, "MOCK_REPLY[both heard]")
		if second != first {
			t.Fatalf("the second message got turn %s, the first %s", second, first)
		}
		s.model.Release("first")
		if status := events.waitTurn(first); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
	})
}

func TestAModelErrorFailsTheTurnAndNotTheSession(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(nil)
		events := server.follow("threadId=" + session)
		if status := events.waitTurn(server.send(session, "MOCK_HTTP_400")); status != "failed" {
			t.Fatalf("the turn ended %s", status)
		}
		if status := events.waitTurn(server.send(session, "MOCK_REPLY[fine again]")); status != "completed" {
			t.Fatalf("the next turn ended %s", status)
		}
	})
}
