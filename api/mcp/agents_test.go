package mcp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/api/mcp"
	"harness/internal/platform/auth"
	"harness/internal/services/session"
)

// agent connects with the bearer of a session.
func (b *bench) agent(id string) *client {
	b.t.Helper()
	return b.dial(http.Header{"Actor": {"agent:" + id}, "Role": {string(auth.RoleAgent)}, "Session": {id}}, nil)
}

func writing(o *mcp.Options) { o.AgentsWrite = true }

// MC-29: an agent has no tool to decide and, unless the setting says so, none that changes something.
// MC-35: it lists its tools before its session is stored, and uses none before that.
func TestTheToolsOfAnAgent(t *testing.T) {
	t.Parallel()
	for _, write := range []bool{false, true} {
		b := setup(t, func(o *mcp.Options) { o.AgentsWrite = write })
		id := b.NewSession()
		turn := b.Say(id, "RUN[true]")
		asked := b.Asked(id)
		c := b.agent(id)
		want := []string{"list_approvals", "list_sessions", "read_transcript", "receipts", "search", "wait"}
		if write {
			want = append(want, "archive", "interrupt", "rename", "send_message", "start_session")
		}
		got := c.names()
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("an agent that writes (%v) has %v", write, got)
		}
		if _, code := c.try("decide", object{"request": asked.ID, "decision": "accept"}); !strings.Contains(code, "unknown tool") {
			t.Errorf("an agent decides about itself: %s", code)
		}
		if open := list(c.call("list_approvals", nil), "requests"); len(open) != 1 || open[0]["id"] != asked.ID {
			t.Errorf("its requests are %v", open)
		}
		// The agent of a new session lists its tools before the session is stored, and uses none.
		for _, early := range []string{"", "unknown"} {
			c := b.agent(early)
			if got := c.names(); len(got) != len(want) {
				t.Errorf("an agent of session %q has %v", early, got)
			}
			for one, in := range map[string]object{"list_sessions": nil, "list_approvals": nil, "receipts": nil,
				"read_transcript": {"session": id}, "search": {"query": "true"}, "start_session": {"key": "k"}} {
				if answer, code := c.try(one, in); code != "session_not_found" && code != "forbidden" && (write || one != "start_session") {
					t.Errorf("an agent of session %q calls %s: %v %s", early, one, answer, code)
				}
			}
		}
		b.as("ann", auth.RoleOperator).call("decide", object{"request": asked.ID, "decision": "accept"})
		b.Ended(id, turn)
	}
}

// MC-30: an agent starts a child, writes to it, waits for its answer and reads it; the same key is the same child.
func TestAnAgentWorksWithAChild(t *testing.T) {
	t.Parallel()
	b := setup(t, writing)
	id := b.NewSession()
	c := b.agent(id)
	child := text(c.call("start_session", object{"key": "a", "title": "part"})["session"])
	if again := c.call("start_session", object{"key": "a", "title": "part"}); again["session"] != child {
		t.Errorf("the same key is %v, not %s", again, child)
	}
	if _, code := c.try("start_session", object{"key": "a", "title": "other"}); code != "key_reused" {
		t.Errorf("the key with another content: %s", code)
	}
	sent := c.call("send_message", object{"key": "m", "session": child, "text": "REPLY[from a person: accept]"})
	if got := c.call("wait", object{"sessions": []string{child}, "until": "mail"}); got["reason"] != "mail" || got["session"] != child {
		t.Errorf("waited for mail: %v", got)
	}
	all := list(c.call("receipts", object{"session": child}), "messages")
	if len(all) != 1 || all[0]["message"] != sent["message"] || all[0]["state"] != "answered" || all[0]["from"] != id {
		t.Errorf("the receipts are %v", all)
	}
	entries := list(c.call("read_transcript", object{"session": child}), "entries")
	if head := text(entries[0]["text"]); !strings.Contains(head, id) || !strings.Contains(head, "not from your user") {
		t.Errorf("the child reads %q", head)
	}
	if all := list(c.call("list_sessions", nil), "sessions"); len(all) != 2 || all[1]["id"] != child || all[1]["parent"] != id {
		t.Errorf("the sessions are %v", all)
	}
	if rows := b.recorded("send_message"); len(rows) != 1 || rows[0].Actor != "agent:"+id || rows[0].SessionID != child {
		t.Errorf("the log is %+v", rows)
	}
}

// MC-31: a sibling, the parent and every other session do not exist for an agent.
func TestAnAgentReachesItsOwnSessionsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, writing)
	parent := b.NewSession()
	p := b.agent(parent)
	one := text(p.call("start_session", object{"key": "1"})["session"])
	other := text(p.call("start_session", object{"key": "2"})["session"])
	c := b.agent(one)
	for _, id := range []string{parent, other, b.NewSession(), "unknown"} {
		for tool, in := range map[string]object{
			"read_transcript": {"session": id}, "search": {"session": id, "query": "x"}, "interrupt": {"session": id},
			"wait": {"sessions": []string{one, id}, "until": "needs_person"}, "archive": {"session": id},
			"rename": {"session": id, "title": "x"}, "send_message": {"session": id, "text": "x", "key": "m"}, "list_approvals": {"session": id},
		} {
			if _, code := c.try(tool, in); code != "session_not_found" {
				t.Errorf("%s of %s: %s", tool, id, code)
			}
		}
	}
	if all := list(c.call("list_sessions", nil), "sessions"); len(all) != 1 || all[0]["id"] != one {
		t.Errorf("its sessions are %v", all)
	}
}

// MC-32: a child is at most what its parent is, a loop of starts ends, and the bearer of a deleted session opens nothing.
func TestAnAgentStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	b := setup(t, writing)
	level := "untrusted"
	made, err := b.Create(t.Context(), session.Create{ApprovalPolicy: &level})
	if err != nil {
		t.Fatal(err)
	}
	c := b.agent(made.ID)
	for _, in := range []object{{"approval": "never"}, {"cwd": "/"}, {"cwd": ".."}} {
		in["key"] = "wide"
		if _, code := c.try("start_session", in); code != "wider_than_parent" {
			t.Errorf("%v: %s", in, code)
		}
	}
	starts := 0
	for code := ""; code == ""; starts++ {
		_, code = c.try("start_session", object{"key": strings.Repeat("k", starts+1)})
		if starts > 40 || code != "" && code != "limit_reached" {
			t.Fatalf("start %d: %s", starts, code)
		}
	}
	if _, err := b.Delete(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Role": {string(auth.RoleAgent)}, "Session": {made.ID}}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the bearer of a deleted session is %d", answer.StatusCode)
	}
}
