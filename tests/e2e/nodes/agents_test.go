package nodes

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/internal/platform/auth"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// controlled opens a session whose agent may call tools of the control without approval.
var controlled = programtest.Object{"approvalPolicy": "on-request", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"}

// descends makes one session the child of another one, as if it had moved to its node after its start.
func (n *nodes) descends(t *testing.T, child, parent string) {
	t.Helper()
	err := dbtest.Connect(t, n.siteA.Store()).Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(), `insert into session_lineage values ($1, $2, $2, 1, '', $1, '', 0)`, child, parent)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// calls makes the agent of a session call a tool of the control, and returns what its model gets.
func calls(t *testing.T, server *programtest.Server, site *programtest.Site, session, tool, arguments string) string {
	t.Helper()
	events := server.Follow("threadId=" + session)
	defer events.Close()
	turn := server.Send(session, "MOCK_CALL[harness-control/"+tool+"|"+arguments+"]END")
	if status := events.WaitTurn(turn); status != "completed" {
		t.Fatalf("the turn with %s ended %s", tool, status)
	}
	return site.LastOutput()
}

// agentsReachOtherNodes: an agent writes to, reads, interrupts, renames and archives a session below its own at another
// node, and that session's agent answers it. Sessions of others do not exist for it there, either (MC-40).
func (n *nodes) agentsReachOtherNodes(t *testing.T) {
	t.Helper()
	parent, child, other := n.a.CreateSession(controlled), n.b.CreateSession(controlled), n.b.CreateSession(controlled)
	n.descends(t, child, parent)
	ofParent := func(tool, arguments string) string { return calls(t, n.a, n.siteA, parent, tool, arguments) }

	sent := ofParent("send_message", `{"key":"k","session":"`+child+`","text":"MOCK_REPLY[the answer from afar]"}`)
	mail := regexp.MustCompile(`"message":"([^"]+)"`).FindStringSubmatch(sent)
	if mail == nil {
		t.Fatalf("a message to another node is answered %s", sent)
	}
	if waited := ofParent("wait", `{"sessions":["`+child+`"],"until":"mail"}`); !strings.Contains(waited, `"reason":"mail"`) {
		t.Errorf("wait returns %s", waited)
	}
	if again := ofParent("send_message", `{"key":"k","session":"`+child+`","text":"MOCK_REPLY[the answer from afar]"}`); !strings.Contains(again, mail[1]) ||
		!strings.Contains(again, "answered") {
		t.Errorf("the same message again is %s", again)
	}
	if read := ofParent("read_transcript", `{"session":"`+child+`"}`); strings.Count(read, `"text":"the answer from afar`) != 1 {
		t.Errorf("read at another node: %s", read)
	}
	answer := calls(t, n.b, n.siteB, child, "send_message", `{"key":"r","session":"`+parent+`","text":"MOCK_REPLY[thanks]","reply_to":"`+mail[1]+`"}`)
	if !strings.Contains(answer, `"reply_to":"`+mail[1]) {
		t.Errorf("an answer to another node is %s", answer)
	}
	for tool, arguments := range map[string]string{"send_message": `,"key":"o","text":"hi"`, "interrupt": "", "archive": "", "rename": `,"title":"x"`,
		"read_transcript": ""} {
		if got := ofParent(tool, `{"session":"`+other+`"`+arguments+`}`); !strings.Contains(got, `session_not_found`) {
			t.Errorf("%s of another session is %s", tool, got)
		}
	}

	events := n.b.Follow("threadId=" + child)
	turn := n.b.Send(child, "MOCK_HOLD[afar]")
	if err := n.siteB.Model.WaitHeld(t.Context(), "afar"); err != nil {
		t.Fatal(err)
	}
	now := ofParent("send_message", `{"key":"n","session":"`+child+`","text":"MOCK_REPLY[at once]","when":"now"}`)
	if !strings.Contains(now, `"turn":"`) {
		t.Errorf("a message for now is %s", now)
	}
	n.siteB.Model.Release("afar")
	events.FindTurn(turn)
	turn = n.b.Send(child, "MOCK_HOLD[stopped afar]")
	if err := n.siteB.Model.WaitHeld(t.Context(), "stopped afar"); err != nil {
		t.Fatal(err)
	}
	if stopped := ofParent("interrupt", `{"session":"`+child+`"}`); !strings.Contains(stopped, turn) {
		t.Errorf("an interrupt at another node is %s", stopped)
	}
	if status := events.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the interrupted turn ended %s", status)
	}
	n.siteB.Model.Release("stopped afar")
	ofParent("rename", `{"session":"`+child+`","title":"renamed from afar"}`)
	ofParent("archive", `{"session":"`+child+`"}`)
	read, err := database.ReadTexts(t.Context(), dbtest.Connect(t, n.siteA.Store()).Read(), "read a session",
		`select id from sessions where id = $1 and archived = 1 and name = 'renamed from afar'`, child)
	if err != nil || len(read) != 1 {
		t.Errorf("the session is not renamed and archived (%v)", err)
	}
}

// queuesElsewhere: a person's message behind the running turn of a session at another node is queued there, and sent
// once (MC-41).
func (n *nodes) queuesElsewhere(t *testing.T) {
	t.Helper()
	session := n.a.CreateSession(untrusted)
	events := n.b.Follow("threadId=" + session)
	person, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: n.b.URL + "/mcp/control"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = person.Close() }()
	turn := n.b.Send(session, "MOCK_HOLD[before]")
	if err := n.siteA.Model.WaitHeld(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}
	send := func() string {
		sent, err := person.CallTool(t.Context(), &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"key": "k",
			"session": session, "text": "MOCK_REPLY[said behind it]", "when": "after_turn"}})
		if err != nil || sent.IsError {
			t.Fatalf("a message behind a turn: %+v, %v", sent, err)
		}
		return programtest.Encoded(t, sent.StructuredContent)
	}
	first, again := send(), send()
	if !strings.Contains(first, `"state":"queued"`) || first != again {
		t.Errorf("a message behind a turn is %s, and again %s", first, again)
	}
	n.siteA.Model.Release("before")
	events.FindTurn(turn)
	n.b.Eventually("the queued message is answered", func() bool { return len(n.b.Entries(session, "agentMessage")) == 2 })
}

// stolen sends claims about agents that no honest node signs, or that another node's rules refuse, to a (MC-42). client
// has the identity of b, which owns ofB; the session below belongs to a.
func (n *nodes) stolen(t *testing.T, client *forward.Client, ofB, below string) {
	t.Helper()
	n.descends(t, below, ofB)
	other, deleted := n.a.CreateSession(nil), n.b.CreateSession(nil)
	n.descends(t, other, deleted)
	n.b.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+deleted, nil)
	write := forward.Agent{Session: ofB, Write: true}
	operation := func(name, session string) string {
		return `{"Name":"` + name + `","Session":"` + session + `","Subject":"by an agent"}`
	}
	const operations = "/door/operations"
	for what, test := range map[string]struct {
		agent      forward.Agent
		path, body string
		want       string
	}{
		"as it should be":           {write, operations, operation("rename", below), `"by an agent"`},
		"a session of another tree": {write, operations, operation("rename", other), `session_not_found`},
		"mail to another tree":      {write, operations, `{"Name":"deliver mail","Mail":{"Key":"k","To":"` + other + `","Text":"hi"}}`, `session_not_found`},
		"a session of the receiver": {forward.Agent{Session: below, Write: true}, operations, operation("rename", below), `not_owner`},
		"a deleted session":         {forward.Agent{Session: deleted, Write: true}, operations, operation("rename", other), `session_deleted`},
		"an unknown session":        {forward.Agent{Session: "none", Write: true}, operations, operation("rename", below), `session_not_found`},
		"a turn that is over":       {forward.Agent{Session: ofB, Turn: "over", Write: true}, operations, operation("rename", below), `no_active_turn`},
		"an agent that reads":       {forward.Agent{Session: ofB}, operations, operation("rename", below), `method_not_supported`},
		"a deletion":                {write, operations, operation("delete", below), `403`},
		"a message as a person":     {write, operations, operation("send", below), `403`},
		"a session of its own":      {write, operations, operation("create", ""), `403`},
		"a route of people":         {write, "/api/sessions/" + below + "/rename", `{"title":"by an agent"}`, `403`},
		"a decision":                {write, "/api/approvals/x/decision", `{"decision":"accept"}`, `403`},
		"a call of JSON-RPC":        {write, "/rpc", `{"jsonrpc":"2.0","id":1,"method":"session/stop","params":{"session_id":"` + below + `"}}`, `403`},
	} {
		ctx := forward.WithAgent(auth.WithPrincipal(t.Context(), auth.AgentPrincipal(test.agent.Session)), test.agent)
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, test.path, nil)
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Ask(request, nodeID(n.siteA), test.body)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		text, err := io.ReadAll(answer.Body)
		if answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if got := answer.Status + " " + string(text); !strings.Contains(got, test.want) {
			t.Errorf("%s is answered %s, without %s", what, got, test.want)
		}
	}
}
