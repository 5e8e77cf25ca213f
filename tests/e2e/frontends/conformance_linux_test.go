package frontends

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// conforming are acpx's cases that hold, by the part of the id behind "acp.v1.".
func conforming() map[string]func(c *cases) {
	ends := func(words string, more ...string) func(*cases) {
		return func(c *cases) {
			id := c.client.start(c.site.Workspace)
			for _, one := range append([]string{words}, more...) {
				answer, before := c.client.call("session/prompt", say(id, one))
				c.require(answer.stopped() == "end_turn", "%q ends %+v", one, answer)
				c.require(text(c.t, before, id, "agent_message_chunk") != "", "%q has no update before its end", one)
				for _, other := range before {
					c.require(other.Update == nil || other.Update.SessionID == id, "an update is of another session: %+v", other)
				}
			}
		}
	}
	refused := func(method string, params programtest.Object, code int) func(*cases) {
		return func(c *cases) {
			answer, _ := c.client.call(method, params)
			c.require(answer.Error != nil && answer.Error.Code == code, "%s %v is answered %+v", method, params, answer)
		}
	}
	servers := []any{}
	return map[string]func(*cases){
		"initialize.handshake":                 func(c *cases) { c.acpSDK.open("handshake", c.command, "") }, // open checks it
		"session.new.basic":                    func(c *cases) { c.client.start(c.site.Workspace) },
		"session.prompt.single_turn":           ends("MOCK_REPLY[hello]"),
		"session.update.termination":           ends("MOCK_SLOW[3,5]"),
		"session.prompt.multi_turn":            ends("MOCK_REPLY[first]", "MOCK_REPLY[second]"),
		"session.prompt.echo_empty":            ends("echo"),
		"session.prompt.unrecognized":          ends("what no model has a rule for"),
		"session.prompt.structured_blocks":     (*cases).blocks,
		"session.cancel.in_flight":             func(c *cases) { c.cancelled("in_flight") },
		"session.cancel.followup_prompt":       func(c *cases) { c.followed("followup") },
		"session.cancel.idle":                  (*cases).idle,
		"session.prompt.background_completion": (*cases).background,
		"errors.invalid_params":                refused("session/new", programtest.Object{"cwd": 42, "mcpServers": servers}, -32602),
		"errors.invalid_params.cwd_null":       refused("session/new", programtest.Object{"cwd": nil, "mcpServers": servers}, -32602),
		"errors.invalid_prompt_session_type":   refused("session/prompt", programtest.Object{"sessionId": 42, "prompt": servers}, -32602),
		"errors.unknown_session":               refused("session/prompt", say("no-such-session", "hello"), -32002),
	}
}

// deliberate are acpx's cases that want the client's own files read and written. Agents work on the server's files.
func deliberate() map[string]func(c *cases) {
	return map[string]func(*cases){
		"errors.permission_denied":       func(c *cases) { c.asks("cat kept.txt", "reject_once", "kept") },
		"errors.permission_denied.write": func(c *cases) { c.asks("echo changed > kept.txt", "reject_once", "kept") },
		"permissions.read.approved":      func(c *cases) { c.asks("cat kept.txt", "allow_once", "kept") },
		"permissions.write.approved":     func(c *cases) { c.asks("echo changed > kept.txt", "allow_once", "changed") },
	}
}

// cases are what the cases share: one client with the files that acpx's client offers.
type cases struct {
	*acpSDK
	site    *programtest.Site
	client  *connection
	command []string
}

func (c *cases) require(holds bool, format string, args ...any) {
	c.t.Helper()
	if !holds {
		c.t.Errorf(format, args...)
	}
}

// blocks sends a prompt of a text and a link.
func (c *cases) blocks() {
	id := c.client.start(c.site.Workspace)
	answer, before := c.client.call("session/prompt", programtest.Object{"sessionId": id, "prompt": []any{
		programtest.Object{"type": "text", "text": "MOCK_REPLY[structured]"},
		programtest.Object{"type": "resource_link", "uri": "file:///w/a.go", "name": "a.go"}}})
	c.require(answer.stopped() == "end_turn" && text(c.t, before, id, "agent_message_chunk") == "structured", "it ends %+v", answer)
}

// cancelled cancels a prompt in a text, and returns its session.
func (c *cases) cancelled(hold string) (session string) {
	session = c.client.start(c.site.Workspace)
	prompt := c.client.begin("session/prompt", say(session, "MOCK_HOLD["+hold+"]"))
	if err := c.site.Model.WaitHeld(c.t.Context(), hold); err != nil {
		c.t.Fatal(err)
	}
	c.order(programtest.Object{"on": c.client.name, "notify": "session/cancel", "params": programtest.Object{"sessionId": session}})
	answer, _ := c.client.end(prompt)
	c.require(answer.stopped() == "cancelled", "the prompt ends %+v", answer)
	return session
}

// followed sends another prompt behind a cancelled one.
func (c *cases) followed(hold string) {
	id := c.cancelled(hold)
	answer, before := c.client.call("session/prompt", say(id, "MOCK_REPLY[after it]"))
	c.require(answer.stopped() == "end_turn" && text(c.t, before, id, "agent_message_chunk") == "after it", "it ends %+v", answer)
}

// idle cancels where nothing runs.
func (c *cases) idle() {
	id := c.client.start(c.site.Workspace)
	c.order(programtest.Object{"on": c.client.name, "notify": "session/cancel", "params": programtest.Object{"sessionId": id}})
	answer, _ := c.client.call("session/prompt", say(id, "MOCK_REPLY[still here]"))
	c.require(answer.stopped() == "end_turn", "the next prompt ends %+v", answer)
}

// background awaits a prompt behind other requests.
func (c *cases) background() {
	id := c.client.start(c.site.Workspace)
	prompt := c.client.begin("session/prompt", say(id, "MOCK_HOLD[background]"))
	if err := c.site.Model.WaitHeld(c.t.Context(), "background"); err != nil {
		c.t.Fatal(err)
	}
	listed, _ := c.client.call("session/list", programtest.Object{})
	c.require(listed.Error == nil, "the list is %+v", listed)
	c.site.Model.Release("background")
	answer, _ := c.client.end(prompt)
	c.require(answer.stopped() == "end_turn", "the prompt ends %+v", answer)
}

// asks runs a command that needs a permission, and checks the server's file and that the client's were not used.
func (c *cases) asks(command, permit, left string) {
	kept := filepath.Join(c.site.Workspace, "kept.txt")
	if err := os.WriteFile(kept, []byte("kept\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	id := c.client.start(c.site.Workspace)
	c.client.call("session/set_mode", programtest.Object{"sessionId": id, "modeId": "ask"})
	c.order(programtest.Object{"on": c.client.name, "permit": permit})
	answer, before := c.client.call("session/prompt", say(id, "MOCK_CMD["+command+"]"))
	c.require(answer.stopped() == "end_turn", "the prompt ends %+v", answer)
	c.require(!slices.ContainsFunc(before, func(one came) bool { return one.Used != "" }), "the client's files were used")
	c.require(slices.ContainsFunc(before, func(one came) bool { return one.Asked != nil }), "the client was not asked")
	content, err := os.ReadFile(kept)
	c.require(err == nil && strings.TrimSpace(string(content)) == left, "the file is %q, %v", content, err)
}

// FE-93: acpx's conformance profile acp-core-v1 has 20 cases. 16 hold. The other 4 want the client's files used, and do
// here what docs/front-ends.md names. The steps are our rendering by the ids and the specification, not acpx's runner.
func TestTheConformanceProfileOfACPX(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	port := freePort(t)
	server := s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
	c := &cases{acpSDK: startSDK(s), site: s,
		command: []string{programtest.Program(t), "acp", "--runtime", "claude", "--url", "http://127.0.0.1:" + port}}
	c.client = c.open("client", c.command, "")
	hold, other := conforming(), deliberate()
	if len(hold) != 16 || len(other) != 4 {
		t.Errorf("%d cases hold, %d are deliberate", len(hold), len(other))
	}
	for _, group := range []map[string]func(*cases){hold, other} {
		for id, run := range group {
			t.Run("acp.v1."+id, func(t *testing.T) {
				c.t = t
				run(c)
			})
		}
	}
	server.Stop()
}
