package agents

import (
	"regexp"
	"strings"
	"testing"

	"harness/internal/runtime/claude"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/opencode"
	"harness/tests/programtest"
)

// controlled is a session whose agent controls a child.
type controlled struct {
	t      *testing.T
	s      *programtest.Site
	server *programtest.Server
	// runtime is that of the session and of its child; child is "" before its start, mail before the message to it.
	runtime, session, child, mail string
}

// calls makes the agent call a tool of the control in one turn, and returns what its model gets. Nothing is approved.
func (c *controlled) calls(tool, arguments string) (output string) {
	c.t.Helper()
	events := c.server.Follow("threadId=" + c.session)
	defer events.Close()
	turn := sendAfterDeath(c.server, c.session, "MOCK_CALL[harness-control/"+tool+"|"+arguments+"]END")
	if status := events.WaitTurn(turn); status != "completed" {
		c.t.Fatalf("%s: the turn with %s ended %s", c.runtime, tool, status)
	}
	return c.s.LastOutput()
}

// has returns the id of a member of a tool's answer.
func (c *controlled) has(member, output string) string {
	c.t.Helper()
	found := regexp.MustCompile(`"` + member + `":"([^"]+)"`).FindStringSubmatch(output)
	if found == nil {
		c.t.Fatalf("%s: no %s in %s", c.runtime, member, output)
	}
	return found[1]
}

func (c *controlled) starts() {
	output := c.calls("start_session", `{"key":"k","title":"part","message":"MOCK_REPLY[the first answer]"}`)
	if child := c.has("session", output); c.child != "" && child != c.child {
		c.t.Errorf("%s: the same key starts %s, not %s", c.runtime, child, c.child)
	} else if c.child = child; child == c.session {
		c.t.Errorf("%s: the child is its parent", c.runtime)
	}
}

func (c *controlled) mails() {
	output := c.calls("send_message", `{"key":"m","session":"`+c.child+`","text":"MOCK_REPLY[the second answer]"}`)
	if mail := c.has("message", output); c.mail != "" && mail != c.mail {
		c.t.Errorf("%s: the same key sends %s, not %s", c.runtime, mail, c.mail)
	} else {
		c.mail = mail
	}
}

func (c *controlled) waits() {
	output := c.calls("wait", `{"sessions":["`+c.child+`"],"until":"mail"}`)
	if !strings.Contains(output, `"reason":"mail"`) {
		c.t.Errorf("%s: wait returns %s", c.runtime, output)
	}
}

func (c *controlled) reads() {
	output := c.calls("read_transcript", `{"session":"`+c.child+`","limit":50}`)
	for _, text := range []string{"the first answer", "the second answer"} {
		if n := strings.Count(output, "MOCK_REPLY["+text); n != 1 {
			c.t.Errorf("%s: the message for %q is %d times in %s", c.runtime, text, n, output)
		}
	}
	// A turn that the server did not send before its death is interrupted, and its receipt says so.
	receipts := c.calls("receipts", "{}")
	answered, interrupted := strings.Count(receipts, `"state":"answered"`), strings.Count(receipts, `"state":"interrupted"`)
	if n := strings.Count(output, `"text":"the `); n != answered || answered+interrupted != 2 {
		c.t.Errorf("%s: %d answers, but the receipts are %s", c.runtime, n, receipts)
	}
	if family := c.calls("list_sessions", "{}"); strings.Count(family, `"id":`) != 2 {
		c.t.Errorf("%s: the sessions are %s", c.runtime, family)
	}
	if approvals := c.server.Approvals(c.session); len(approvals) != 0 {
		c.t.Errorf("%s: asked for %v", c.runtime, approvals)
	}
}

// MC-33, MC-34: each agent has the control in its MCP configuration, and needs no approval for it. It starts a child,
// writes to it, waits and reads, while the server dies between each two steps: nothing happens twice or is lost.
func TestAgentsControlTheirChildren(t *testing.T) {
	t.Parallel()
	names := []string{codex.Name, claude.Name, opencode.Name, "gemini"}
	s := withEveryRuntime(t, programtest.WithEnv("HARNESS_CONTROL_AGENTS=write"))
	s.Env = append(s.Env, "HARNESS_RUNTIMES="+strings.Join(names, ","))
	server := s.Start()
	server.WaitRuntime()
	var all []*controlled
	for _, name := range names {
		all = append(all, &controlled{t: t, s: s, runtime: name, session: server.CreateSession(programtest.Object{"runtime": name,
			"approvalPolicy": "on-request", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})})
	}
	for n, steps := range [][]func(*controlled){{(*controlled).starts}, {(*controlled).starts, (*controlled).mails},
		{(*controlled).mails, (*controlled).waits}, {(*controlled).reads}} {
		if n > 0 {
			server.Kill()
			server = s.Start()
			server.WaitRuntime()
		}
		for _, one := range all {
			one.server = server
			for _, step := range steps {
				step(one)
			}
		}
	}
	server.Stop()
}
