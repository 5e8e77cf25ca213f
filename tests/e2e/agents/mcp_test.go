package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// eachMCP runs a test with a real codex and a real MCP server, on both engines.
func eachMCP(t *testing.T, test func(t *testing.T, s *programtest.Site)) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			test(t, programtest.New(t, programtest.WithEngine(engine), programtest.WithMCP()))
		})
	}
}

// listed returns the only pending request of a list.
func listed(i *programtest.Server, session, list string) programtest.Object {
	i.T.Helper()
	data, _ := i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/"+list, nil)["data"].([]any)
	if len(data) != 1 {
		i.T.Fatalf("%d requests in %s, want 1: %v", len(data), list, data)
	}
	return data[0].(programtest.Object)
}

// A tool of an MCP server that is not marked read-only needs an approval, like a command. The stream and REST show
// it. A client decides it once, with a reason, for a call or for the session.
func TestAnMCPToolIsAnApproval(t *testing.T) {
	eachMCP(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(programtest.Object{"approvalPolicy": "on-request"})
		events := server.Follow("threadId=" + session)
		run := func(decision programtest.Object, said string) {
			t.Helper()
			turn := server.Send(session, "MOCK_CALL[tiny/wipe|{}]END")
			if decision != nil {
				shown := events.WaitType("approval").Decoded()
				if listed := listed(server, session, "approvals"); !reflect.DeepEqual(listed, shown) {
					t.Errorf("shown %v, listed %v", shown, listed)
				}
				if offered := fmt.Sprint(shown["availableDecisions"]); offered != "[accept acceptForSession decline cancel]" ||
					programtest.Text(shown, "summary") != "MCP tool approval required: tiny/wipe" || programtest.Text(shown, "turnId") != turn {
					t.Errorf("shown %v", shown)
				}
				server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(shown, "approvalId")+"/decision", decision)
			}
			if status := events.WaitTurn(turn); status != "completed" {
				t.Errorf("%v: the turn ended %s", decision, status)
			}
			if got := s.LastOutput(); !strings.HasSuffix(got, said) {
				t.Errorf("%v: the model got %q, want %q", decision, got, said)
			}
		}
		run(programtest.Object{"decision": "decline", "message": "not on a Friday"}, "user rejected MCP tool call")
		ended := programtest.Entry(t, server.Transcript(session), "approval.resolved")
		if programtest.Text(ended, "content") != "Approval resolved (decline): not on a Friday" ||
			!strings.Contains(programtest.Text(ended, "details"), `"message": "not on a Friday"`) {
			t.Errorf("the transcript says %v", ended)
		}
		run(programtest.Object{"decision": "accept"}, "wiped 1")
		run(programtest.Object{"decision": "accept", "scope": "session"}, "wiped 2")
		run(nil, "wiped 3")
	})
}

// The server shows a form of an MCP server as questions, and the answers fill it in. An invalid answer is refused,
// and the form stays open.
func TestAFormOfAnMCPServerIsFilledIn(t *testing.T) {
	eachMCP(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(programtest.Object{"approvalPolicy": "on-request"})
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_CALL[tiny/form|{}]END")
		shown := events.WaitType("tool_user_input_requested").Decoded()
		if listed := listed(server, session, "tool-input"); !reflect.DeepEqual(listed, shown) {
			t.Errorf("shown %v, listed %v", shown, listed)
		}
		questions, _ := json.Marshal(shown["questions"])
		const want = `{"header":"Name","id":"name","isOther":false,"isSecret":false,"options":null,"question":"Your full name"}`
		if !strings.Contains(string(questions), want) {
			t.Errorf("the questions are %s", questions)
		}
		if asked := programtest.Entry(t, server.Transcript(session), "tool_input.request"); !strings.Contains(programtest.Text(asked, "details"),
			`"question": "Your full name"`) {
			t.Errorf("the transcript says %v", asked)
		}

		decide := "/api/tool-input/" + programtest.Text(shown, "requestId") + "/decision"
		for _, wrong := range []struct {
			body programtest.Object
			says string
		}{
			{programtest.Object{"decision": "accept"}, `the form requires "name"`},
			{programtest.Object{"decision": "accept", "answers": programtest.Object{"name": answers("Ann"), "age": answers("old")}},
				`"age" is a whole number, not "old"`},
			{programtest.Object{"decision": "accept", "answers": programtest.Object{"name": answers("Ann"), "colour": answers("green")}},
				`"colour" has no choice "green"`},
			{programtest.Object{"decision": "accept", "answers": programtest.Object{"name": answers("Ann"), "shoe": answers("9")}},
				`the form has no field "shoe"`},
			{programtest.Object{"decision": "accept", "response": []string{"Ann"}}, "a form is answered with an object of its fields"},
			{programtest.Object{"decision": "accept", "response": programtest.Object{"action": "decline"}},
				`its action is "decline", the decision "accept"`},
		} {
			refused := server.Want(http.StatusBadRequest, http.MethodPost, decide, wrong.body)
			if programtest.Text(refused, "code") != "invalid_request" || !strings.Contains(fmt.Sprint(refused["issues"]), wrong.says) {
				t.Errorf("%v is refused with %v", wrong.body, refused)
			}
		}
		server.Want(http.StatusOK, http.MethodPost, decide,
			programtest.Object{"decision": "accept", "answers": programtest.Object{"name": answers("Ann"), "age": answers("7")}})
		if status := events.WaitTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
		if got := s.LastOutput(); !strings.HasSuffix(got, `the user said {"action":"accept","content":{"age":7,"name":"Ann"}}`) {
			t.Errorf("the model got %q", got)
		}
	})
}

func answers(texts ...string) programtest.Object { return programtest.Object{"answers": texts} }

// The next server decides requests that were pending when the server died, for a tool and for permissions. The answer
// to the permissions repeats the requested ones.
func TestMCPToolsAndPermissionsAreDecidedAfterAKill(t *testing.T) {
	eachMCP(t, func(t *testing.T, s *programtest.Site) {
		for message, said := range map[string]string{
			"MOCK_CALL[tiny/wipe|{}]END": "wiped 1",
			`MOCK_CALL[request_permissions|{"reason":"why","permissions":{"file_system":{"write":["/opt"]}}}]END`: `{"permissions":{"network":null,"file_system":{"write":["/opt"]}},"scope":"turn"}`,
		} {
			server := s.Start()
			session := server.CreateSession(programtest.Object{"approvalPolicy": "on-request"})
			turn := server.Send(session, message)
			server.Follow("threadId=" + session + "&after=0").WaitType("approval")
			server.Kill()

			server = s.Start()
			events := server.Follow("threadId=" + session)
			approval := programtest.Text(listed(server, session, "approvals"), "approvalId")
			server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
			if status := events.WaitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			if got := s.LastOutput(); !strings.HasSuffix(got, said) {
				t.Errorf("the model got %q, want %q", got, said)
			}
			server.Stop()
		}
	})
}

// The server shows the decisions that codex offers for a command, and a client can choose one of them unchanged. The
// refusal of any other decision lists the offered ones.
func TestAnOfferedDecisionIsChosen(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	const command = "MOCK_CMD[git config --list --file /dev/null]"
	turn := server.Send(session, command)
	shown := events.WaitType("approval").Decoded()
	var amendment any
	offered, _ := shown["availableDecisions"].([]any)
	for _, one := range offered {
		if members, is := one.(programtest.Object); is {
			amendment = members
		}
	}
	if amendment == nil || !reflect.DeepEqual(listed(server, session, "approvals"), shown) {
		t.Fatalf("codex offers %v in %v", offered, shown)
	}
	decide := "/api/approvals/" + programtest.Text(shown, "approvalId") + "/decision"
	refused := server.Want(http.StatusBadRequest, http.MethodPost, decide,
		programtest.Object{"decision": "accept", "choice": programtest.Object{"acceptForEver": true}})
	if !strings.Contains(fmt.Sprint(refused["issues"]), "acceptWithExecpolicyAmendment") {
		t.Errorf("refused with %v", refused)
	}
	server.Want(http.StatusOK, http.MethodPost, decide, programtest.Object{"decision": "accept", "choice": amendment})
	if resolved := events.WaitType("approval_resolved").Decoded(); !reflect.DeepEqual(resolved["choice"], amendment) {
		t.Errorf("the end is reported as %v", resolved)
	}
	events.WaitTurn(turn)
	if status := events.WaitTurn(server.Send(session, command)); status != "completed" {
		t.Errorf("asked again, it ended %s", status)
	}
	const another = "MOCK_CMD[git config --list --file /dev/zero]"
	turn = server.Send(session, another)
	decide = "/api/approvals/" + programtest.Text(events.WaitType("approval").Decoded(), "approvalId") + "/decision"
	refused = server.Want(http.StatusBadRequest, http.MethodPost, decide, programtest.Object{"decision": "accept", "option": "none"})
	if !strings.Contains(fmt.Sprint(refused["issues"]), "acceptWithExecpolicyAmendment") {
		t.Errorf("refused with %v", refused)
	}
	server.Want(http.StatusOK, http.MethodPost, decide,
		programtest.Object{"decision": "accept", "option": "acceptWithExecpolicyAmendment"})
	events.WaitTurn(turn)
	if status := events.WaitTurn(server.Send(session, another)); status != "completed" {
		t.Errorf("asked again, it ended %s", status)
	}
}
