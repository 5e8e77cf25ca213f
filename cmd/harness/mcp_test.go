package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"harness/internal/dbtest"
)

// eachMCP runs a test with a real codex that has a real MCP server, on both engines.
func eachMCP(t *testing.T, test func(t *testing.T, s *site)) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, withEngine(engine), withMCP()))
		})
	}
}

// told is what the model was told about its last tool call.
func (s *site) told() string {
	s.t.Helper()
	outputs := s.model.Outputs()
	if len(outputs) == 0 {
		s.t.Fatal("the model was told nothing")
	}
	return outputs[len(outputs)-1].Text
}

// listed is the only pending request of a list.
func (i *instance) listed(session, list string) object {
	i.t.Helper()
	data, _ := i.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/"+list, nil)["data"].([]any)
	if len(data) != 1 {
		i.t.Fatalf("%d requests in %s, want 1: %v", len(data), list, data)
	}
	return data[0].(object)
}

// A tool of an MCP server that does not say it only reads is asked about like a command: shown in the stream and in
// REST, decided once, with a reason, for a call or for the session.
func TestAnMCPToolIsAnApproval(t *testing.T) {
	eachMCP(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(object{"approvalPolicy": "on-request"})
		events := server.follow("threadId=" + session)
		run := func(decision object, said string) {
			t.Helper()
			turn := server.send(session, "MOCK_CALL[tiny/wipe|{}]END")
			if decision != nil {
				shown := events.waitType("approval").payload()
				if listed := server.listed(session, "approvals"); !reflect.DeepEqual(listed, shown) {
					t.Errorf("shown %v, listed %v", shown, listed)
				}
				if offered := fmt.Sprint(shown["availableDecisions"]); offered != "[accept acceptForSession decline cancel]" ||
					text(shown, "summary") != "MCP tool approval required: tiny/wipe" || text(shown, "turnId") != turn {
					t.Errorf("shown %v", shown)
				}
				server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+text(shown, "approvalId")+"/decision", decision)
			}
			if status := events.waitTurn(turn); status != "completed" {
				t.Errorf("%v: the turn ended %s", decision, status)
			}
			if told := s.told(); !strings.HasSuffix(told, said) {
				t.Errorf("%v: the model was told %q, want %q", decision, told, said)
			}
		}
		run(object{"decision": "decline", "message": "not on a Friday"}, "user rejected MCP tool call")
		ended := entry(t, server.transcript(session), "approval.resolved")
		if text(ended, "content") != "Approval resolved (decline): not on a Friday" ||
			!strings.Contains(text(ended, "details"), `"message": "not on a Friday"`) {
			t.Errorf("the transcript says %v", ended)
		}
		run(object{"decision": "accept"}, "wiped 1")
		run(object{"decision": "accept", "scope": "session"}, "wiped 2")
		run(nil, "wiped 3")
	})
}

// A form of an MCP server is shown as questions and filled in by the answers; what it would not take is refused and it
// stays open.
func TestAFormOfAnMCPServerIsFilledIn(t *testing.T) {
	eachMCP(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(object{"approvalPolicy": "on-request"})
		events := server.follow("threadId=" + session)
		turn := server.send(session, "MOCK_CALL[tiny/form|{}]END")
		shown := events.waitType("tool_user_input_requested").payload()
		if listed := server.listed(session, "tool-input"); !reflect.DeepEqual(listed, shown) {
			t.Errorf("shown %v, listed %v", shown, listed)
		}
		questions, _ := json.Marshal(shown["questions"])
		const want = `{"header":"Name","id":"name","isOther":false,"isSecret":false,"options":null,"question":"Your full name"}`
		if !strings.Contains(string(questions), want) {
			t.Errorf("the questions are %s", questions)
		}
		if asked := entry(t, server.transcript(session), "tool_input.request"); !strings.Contains(text(asked, "details"),
			`"question": "Your full name"`) {
			t.Errorf("the transcript says %v", asked)
		}

		decide := "/api/tool-input/" + text(shown, "requestId") + "/decision"
		for _, wrong := range []struct {
			body object
			says string
		}{
			{object{"decision": "accept"}, `the form requires "name"`},
			{object{"decision": "accept", "answers": object{"name": answers("Ann"), "age": answers("old")}},
				`"age" is a whole number, not "old"`},
			{object{"decision": "accept", "answers": object{"name": answers("Ann"), "colour": answers("green")}},
				`"colour" has no choice "green"`},
			{object{"decision": "accept", "answers": object{"name": answers("Ann"), "shoe": answers("9")}},
				`the form has no field "shoe"`},
			{object{"decision": "accept", "response": []string{"Ann"}}, "a form is answered with an object of its fields"},
			{object{"decision": "accept", "response": object{"action": "decline"}},
				`its action is "decline", the decision "accept"`},
		} {
			refused := server.want(http.StatusBadRequest, http.MethodPost, decide, wrong.body)
			if text(refused, "code") != "invalid_request" || !strings.Contains(fmt.Sprint(refused["issues"]), wrong.says) {
				t.Errorf("%v is refused with %v", wrong.body, refused)
			}
		}
		server.want(http.StatusOK, http.MethodPost, decide,
			object{"decision": "accept", "answers": object{"name": answers("Ann"), "age": answers("7")}})
		if status := events.waitTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
		if told := s.told(); !strings.HasSuffix(told, `the user said {"action":"accept","content":{"age":7,"name":"Ann"}}`) {
			t.Errorf("the model was told %q", told)
		}
	})
}

func answers(texts ...string) object { return object{"answers": texts} }

// What is asked while the server dies is decided by the next one: for a tool, and for permissions, whose answer says
// what was asked for.
func TestMCPToolsAndPermissionsAreDecidedAfterAKill(t *testing.T) {
	eachMCP(t, func(t *testing.T, s *site) {
		for message, said := range map[string]string{
			"MOCK_CALL[tiny/wipe|{}]END": "wiped 1",
			`MOCK_CALL[request_permissions|{"reason":"why","permissions":{"file_system":{"write":["/opt"]}}}]END`: `{"permissions":{"network":null,"file_system":{"write":["/opt"]}},"scope":"turn"}`,
		} {
			server := s.start()
			session := server.createSession(object{"approvalPolicy": "on-request"})
			turn := server.send(session, message)
			server.follow("threadId=" + session + "&after=0").waitType("approval")
			server.kill()

			server = s.start()
			events := server.follow("threadId=" + session)
			approval := text(server.listed(session, "approvals"), "approvalId")
			server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", object{"decision": "accept"})
			if status := events.waitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			if told := s.told(); !strings.HasSuffix(told, said) {
				t.Errorf("the model was told %q, want %q", told, said)
			}
			server.stop()
		}
	})
}

// The decisions codex offers for a command are shown, and one of them can be chosen as it is; another is refused with
// those it offers.
func TestAnOfferedDecisionIsChosen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	session := server.createSession(object{"approvalPolicy": "untrusted"})
	events := server.follow("threadId=" + session)
	const command = "MOCK_CMD[git config --list --file /dev/null]"
	turn := server.send(session, command)
	shown := events.waitType("approval").payload()
	var amendment any
	offered, _ := shown["availableDecisions"].([]any)
	for _, one := range offered {
		if members, is := one.(object); is {
			amendment = members
		}
	}
	if amendment == nil || !reflect.DeepEqual(server.listed(session, "approvals"), shown) {
		t.Fatalf("codex offers %v in %v", offered, shown)
	}
	decide := "/api/approvals/" + text(shown, "approvalId") + "/decision"
	refused := server.want(http.StatusBadRequest, http.MethodPost, decide,
		object{"decision": "accept", "choice": object{"acceptForEver": true}})
	if !strings.Contains(fmt.Sprint(refused["issues"]), "acceptWithExecpolicyAmendment") {
		t.Errorf("refused with %v", refused)
	}
	server.want(http.StatusOK, http.MethodPost, decide, object{"decision": "accept", "choice": amendment})
	if resolved := events.waitType("approval_resolved").payload(); !reflect.DeepEqual(resolved["choice"], amendment) {
		t.Errorf("the end is told as %v", resolved)
	}
	events.waitTurn(turn)
	if status := events.waitTurn(server.send(session, command)); status != "completed" {
		t.Errorf("asked again, it ended %s", status)
	}
	const another = "MOCK_CMD[git config --list --file /dev/zero]"
	turn = server.send(session, another)
	decide = "/api/approvals/" + text(events.waitType("approval").payload(), "approvalId") + "/decision"
	refused = server.want(http.StatusBadRequest, http.MethodPost, decide, object{"decision": "accept", "option": "none"})
	if !strings.Contains(fmt.Sprint(refused["issues"]), "acceptWithExecpolicyAmendment") {
		t.Errorf("refused with %v", refused)
	}
	server.want(http.StatusOK, http.MethodPost, decide,
		object{"decision": "accept", "option": "acceptWithExecpolicyAmendment"})
	events.waitTurn(turn)
	if status := events.waitTurn(server.send(session, another)); status != "completed" {
		t.Errorf("asked again, it ended %s", status)
	}
}
