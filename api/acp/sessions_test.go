package acp_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
)

// FE-40: load replays the whole transcript, each text once, also one that grows, and goes on from there.
func TestLoadReplaysEverythingOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	id := c.start()
	c.prompt(id, "REPLY[first]", "k-1")
	c.answer("k-1")
	c.prompt(id, "RUN[echo done]", "k-2")
	asked := c.until("session/request_permission", "")
	c.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"accept"}}}`)
	c.answer("k-2")
	c.prompt(id, "HOLD[it]", "k-3")
	c.until("session/update", "holding")
	bob := b.dial("bob")
	bob.call("session/load", `{"sessionId":"`+id+`","cwd":"/","mcpServers":[]}`)
	if err := b.Agent.Release("it"); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(texts(t, bob.seen, "agent_message_chunk"), "freed it") {
		bob.seen = append(bob.seen, bob.read())
	}
	c.reply("k-3")
	bob.call("session/list", `{}`)
	if got := texts(t, bob.seen, "user_message_chunk"); got != "REPLY[first]RUN[echo done]HOLD[it]" {
		t.Errorf("the users' messages are %q", got)
	}
	if got := texts(t, bob.seen, "agent_message_chunk"); got != "firstit ranholding freed it" {
		t.Errorf("the agent's messages are %q", got)
	}
	story, _ := json.Marshal(bob.seen)
	if n := strings.Count(string(story), `"exit_code"`); n != 1 {
		t.Errorf("the command is shown %d times: %s", n, story)
	}
}

// FE-41: a client that lost its connection gets what it lacks, once, and not its own message, also if it had no update
// of its turn.
func TestResumeSendsWhatAClientLacks(t *testing.T) {
	t.Parallel()
	for _, hadNothing := range []bool{false, true} {
		resumeAfterALoss(t, hadNothing)
	}
}

func resumeAfterALoss(t *testing.T, hadNothing bool) {
	t.Helper()
	b := setup(t, nil)
	c := b.dial("alice")
	id := c.start()
	c.prompt(id, "HOLD[it]", "k-1")
	update := c.until("session/update", "holding")
	var about struct {
		Meta struct {
			Harness struct {
				Pos, End int64
				Text     string
			}
		} `json:"_meta"`
	}
	decode(t, update.Params, &about)
	got := about.Meta.Harness
	if hadNothing {
		got.Pos = 0
	}
	_ = c.conn.CloseNow()
	if err := b.Agent.Release("it"); err != nil {
		t.Fatal(err)
	}
	again := b.dial("alice")
	key, _ := json.Marshal(got.Text)
	again.call("session/resume", `{"sessionId":"`+id+`","cwd":"/","_meta":{"harness":{"after":`+strconv.FormatInt(got.Pos, 10)+
		`,"texts":{`+string(key)+`:`+strconv.FormatInt(got.End, 10)+`},"keys":["k-1"]}}}`)
	again.prompt(id, "HOLD[it]", "k-1")
	answer := again.reply("k-1")
	if !strings.Contains(string(answer.Result), `"end_turn"`) {
		t.Errorf("the answer is %s %+v", answer.Result, answer.Error)
	}
	again.call("session/list", `{}`)
	if text := texts(t, again.seen, "agent_message_chunk"); text != "freed it" {
		t.Errorf("the client gets %q", text)
	}
	if text := texts(t, again.seen, "user_message_chunk"); text != "" {
		t.Errorf("the client gets its own message: %q", text)
	}
}

// FE-42: a viewer reads and follows; it is asked nothing and changes nothing. An agent gets nothing.
func TestRolesLimitClients(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice, eve := b.dial("alice"), b.dialAs("eve", auth.RoleMember)
	eve.call("initialize", hello)
	id := alice.start()
	eve.call("session/load", `{"sessionId":"`+id+`","cwd":"/","mcpServers":[]}`)
	for _, method := range []string{"session/new", "session/prompt", "session/set_mode", "session/set_config_option", "session/delete",
		"session/fork"} {
		if got := eve.try(method, `{"sessionId":"`+id+`","cwd":"/"}`); got.Error == nil || !strings.Contains(got.Error.Message, "viewer") {
			t.Errorf("%s of a viewer got %s", method, got.Result)
		}
	}
	alice.prompt(id, "RUN[echo done]", "k-1")
	asked := alice.until("session/request_permission", "")
	eve.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"accept"}}}`)
	eve.call("session/list", `{}`)
	alice.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"decline"}}}`)
	alice.answer("k-1")
	for at, ended := 0, false; !ended; at++ {
		if at == len(eve.seen) {
			eve.seen = append(eve.seen, eve.read())
		}
		got := eve.seen[at]
		if got.Method == "session/request_permission" {
			t.Errorf("a viewer is asked: %s", got.Params)
		}
		ended = got.Method == "session/update" && strings.Contains(string(got.Params), "then not")
	}
	for _, role := range []auth.Role{auth.RoleAgent, auth.RoleCI, ""} {
		if got := b.dialAs("agent", role).try("initialize", hello); got.Error == nil {
			t.Errorf("role %q got %s", role, got.Result)
		}
	}
}

// FE-43: sessions are listed, closed and deleted. Closing ends only what this client asked for.
func TestSessionsAreListedAndClosed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c, bob := b.dial("alice"), b.dial("bob")
	id := c.start()
	for params, listed := range map[string]bool{`{}`: true, `{"cwd":"` + c.cwd + `"}`: true, `{"cwd":"/elsewhere"}`: false} {
		if got := string(c.call("session/list", params)); strings.Contains(got, id) != listed {
			t.Errorf("the list of %s is %s", params, got)
		}
	}
	bob.call("session/resume", `{"sessionId":"`+id+`","cwd":"/"}`)
	c.prompt(id, "HOLD[it]", "k-1")
	bob.until("session/update", "holding")
	bob.call("session/close", `{"sessionId":"`+id+`"}`)
	if found, err := b.Read(t.Context(), id, session.Reading{}); err != nil || found.Session.Activity.ActiveTurnID == "" {
		t.Errorf("another client's close ended the turn: %v", err)
	}
	c.call("session/close", `{"sessionId":"`+id+`"}`)
	if answer := c.reply("k-1"); !strings.Contains(string(answer.Result), `"cancelled"`) {
		t.Errorf("the prompt got %s", answer.Result)
	}
	c.call("session/delete", `{"sessionId":"`+id+`"}`)
	if got := c.try("session/load", `{"sessionId":"`+id+`","cwd":"/","mcpServers":[]}`); got.Error == nil || got.Error.Code != -32002 {
		t.Errorf("a deleted session is %s", got.Result)
	}
}

// FE-44: model and effort are options, and every client learns a change at once, whichever client made it. MCP servers of the
// client are named as unused.
func TestOptionsChange(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c, bob := b.dial("alice"), b.dial("bob")
	made := string(c.call("session/new", `{"cwd":"`+c.cwd+`","mcpServers":[{"name":"mine","command":"x","args":[],"env":[]}]}`))
	c.until("session/update", "MCP server mine")
	for _, want := range []string{`"currentModeId":"ask"`, `"category":"model"`, `"currentValue":"quick"`} {
		if !strings.Contains(made, want) {
			t.Errorf("the session lacks %s: %s", want, made)
		}
	}
	var opened struct{ SessionID string }
	decode(t, json.RawMessage(made), &opened)
	id := opened.SessionID
	bob.call("session/resume", `{"sessionId":"`+id+`","cwd":"/"}`)
	set := func(option, value, want string) {
		t.Helper()
		got := string(c.call("session/set_config_option", `{"sessionId":"`+id+`","configId":"`+option+`","value":"`+value+`"}`))
		if !strings.Contains(got, want) {
			t.Errorf("after %s %s the options are %s", option, value, got)
		}
	}
	set("model", "thorough", `"currentValue":"thorough"`)
	bob.until("session/update", `"config_option_update"`)
	set("effort", "high", `"currentValue":"high"`)
	if _, err := b.EditControls(t.Context(), id, session.ControlEdit{Edit: func(now session.Controls) session.Controls {
		model := "quick"
		now.Model = &model
		return now
	}}); err != nil {
		t.Fatal(err)
	}
	bob.until("session/update", `"currentValue":"quick"`)
	c.call("session/set_mode", `{"sessionId":"`+id+`","modeId":"ask"}`)
}

// FE-45: what an editor embeds is part of the message.
func TestAPromptEmbedsResources(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	id := c.start()
	c.send(`{"jsonrpc":"2.0","id":"k-1","method":"session/prompt","params":{"sessionId":"` + id + `","prompt":[
		{"type":"text","text":"fix"},{"type":"resource_link","uri":"file:///a.go","name":"a.go"},
		{"type":"resource","resource":{"uri":"file:///b.go","text":"package b"}}]}}`)
	c.answer("k-1")
	detail, err := b.Read(t.Context(), id, session.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	want := "fix\n[a.go](file:///a.go)\n<resource uri=\"file:///b.go\">\npackage b\n</resource>"
	if got := detail.Transcript[0].Content; got != want {
		t.Errorf("the message is %q", got)
	}
}
