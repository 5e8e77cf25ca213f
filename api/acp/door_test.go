package acp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/runtimetest/scripted"
)

// FE-30: a client initializes first; every version is answered 1, and only what works is offered.
func TestAClientInitializes(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dialAs("alice", auth.RoleOperator)
	if got := c.try("session/list", `{}`); got.Error == nil || got.Error.Code != -32600 {
		t.Errorf("a client that never initialized got %s", got.Result)
	}
	if got := c.try("initialize", `{}`); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("a client without a version got %s", got.Result)
	}
	got := string(c.call("initialize", `{"protocolVersion":2,"clientCapabilities":{}}`))
	for _, want := range []string{`"protocolVersion":1`, `"loadSession":true`, `"authMethods":[]`, `"http":false`, `"name":"harness"`, scripted.Name} {
		if !strings.Contains(got, want) {
			t.Errorf("initialize lacks %s: %s", want, got)
		}
	}
	if strings.Contains(got, `"fork"`) {
		t.Errorf("a runtime that cannot fork offers it: %s", got)
	}
	for text, code := range map[string]int{`[{"jsonrpc":"2.0","id":1,"method":"session/list"}]`: -32600, `{"jsonrpc"`: -32700} {
		c.send(text)
		if f := c.read(); f.Error == nil || f.Error.Code != code || string(f.ID) != "null" {
			t.Errorf("%s got %+v", text, f.Error)
		}
	}
}

// FE-31: what this server does not offer is refused and counted; wrong parameters and unknown sessions have their codes.
func TestWrongCallsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	id := c.start()
	for name, counted := range map[string]string{"authenticate": "authenticate", "session/nope": "other"} {
		if got := c.try(name, `{}`); got.Error == nil || got.Error.Code != -32601 {
			t.Errorf("%s got %s", name, got.Result)
		}
		if got := <-b.refused; got != counted {
			t.Errorf("%s counts as %s", name, got)
		}
	}
	for _, one := range []struct {
		method, params string
		code           int
	}{
		{"session/new", `{"cwd":"relative","mcpServers":[]}`, -32602},
		{"session/new", `{"mcpServers":[]}`, -32602},
		{"session/new", `{"cwd":null,"mcpServers":[]}`, -32602},
		{"session/load", `{"sessionId":"nope","cwd":"/","mcpServers":[]}`, -32002},
		{"session/resume", `{"sessionId":"nope","cwd":"/"}`, -32002},
		{"session/close", `{"sessionId":"nope"}`, -32002},
		{"session/delete", `{"sessionId":"nope"}`, -32002},
		{"session/fork", `{"sessionId":"` + id + `","cwd":"/"}`, -32601},
		{"session/prompt", `{"sessionId":"nope","prompt":[{"type":"text","text":"hi"}]}`, -32002},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[]}`, -32602},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":"hi"}`, -32602},
		{"session/prompt", `{"sessionId":"` + id + `","prompt":[{"type":"audio"}]}`, -32602},
		{"session/prompt", `{"prompt":[]}`, -32602},
		{"session/set_mode", `{"sessionId":"` + id + `","modeId":"plan"}`, -32602},
		{"session/set_config_option", `{"sessionId":"` + id + `","configId":"speed","value":"1"}`, -32602},
		{"session/set_config_option", `{"sessionId":"` + id + `","configId":"model","value":"none"}`, -32602},
	} {
		if got := c.try(one.method, one.params); got.Error == nil || got.Error.Code != one.code {
			t.Errorf("%s %s got %s %+v", one.method, one.params, got.Result, got.Error)
		}
	}
}

// FE-32: only an upgrade for a runtime of this server is served.
func TestOnlyUpgradesAreServed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, one := range []struct {
		query, upgrade string
		status         int
	}{{"", "", http.StatusMethodNotAllowed}, {"?runtime=none", "websocket", http.StatusNotFound}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+one.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Upgrade", one.upgrade)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != one.status {
			t.Errorf("%+v got %s", one, answer.Status)
		}
	}
}

// FE-33: a prompt's text comes in chunks, once, and its answer after them.
func TestAPromptIsAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	id := c.start()
	c.prompt(id, "REPLY[hello there]", "k-1")
	answer, before := c.answer("k-1")
	if !strings.Contains(string(answer.Result), `"stopReason":"end_turn"`) {
		t.Errorf("the answer is %s %+v", answer.Result, answer.Error)
	}
	if got := texts(t, before, "agent_message_chunk"); got != "hello there" {
		t.Errorf("the text is %q", got)
	}
	if got := texts(t, before, "user_message_chunk"); got != "" {
		t.Errorf("the client's own message is shown: %q", got)
	}
	c.prompt(id, "FAIL[500]", "k-2")
	if answer, _ := c.answer("k-2"); answer.Error == nil || answer.Error.Code != -32603 {
		t.Errorf("a failed turn is %s", answer.Result)
	}
}

// FE-34: a prompt that is sent again with its key is one turn, and is answered also when the turn has ended.
func TestAPromptWithAKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	id := c.start()
	c.prompt(id, "HOLD[it]", "k-1")
	if err := b.Agent.AwaitHeld(t.Context(), "it"); err != nil {
		t.Fatal(err)
	}
	_ = c.conn.CloseNow()
	again := b.dial("alice")
	again.call("session/resume", `{"sessionId":"`+id+`","cwd":"/"}`)
	again.prompt(id, "HOLD[it]", "k-1")
	again.call("session/list", `{}`)
	if err := b.Agent.Release("it"); err != nil {
		t.Fatal(err)
	}
	if answer, _ := again.answer("k-1"); !strings.Contains(string(answer.Result), `"end_turn"`) {
		t.Errorf("the repeated prompt got %s %+v", answer.Result, answer.Error)
	}
	last := b.dial("alice")
	last.prompt(id, "HOLD[it]", "k-1")
	if answer, _ := last.answer("k-1"); !strings.Contains(string(answer.Result), `"end_turn"`) {
		t.Errorf("the prompt of an ended turn got %s %+v", answer.Result, answer.Error)
	}
	detail, err := b.Read(t.Context(), id, session.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, entry := range detail.Transcript {
		if entry.Role == "user" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the message was sent %d times", said)
	}
}

// FE-35: cancel ends the turn of the prompt, which is answered cancelled; without a prompt it does nothing.
func TestAPromptIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	id := c.start()
	c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
	c.prompt(id, "HOLD[it]", "k-1")
	if err := b.Agent.AwaitHeld(t.Context(), "it"); err != nil {
		t.Fatal(err)
	}
	c.prompt(id, "HOLD[two]", "k-2") // the agent cannot be steered
	c.call("session/list", `{}`)
	b.Until("a queued message", func(ctx context.Context) bool {
		queued, err := b.Queued(ctx, id)
		return err == nil && len(queued) == 1
	})
	c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
	for _, key := range []string{"k-1", "k-2"} {
		if answer := c.reply(key); !strings.Contains(string(answer.Result), `"cancelled"`) {
			t.Errorf("%s got %s %+v", key, answer.Result, answer.Error)
		}
	}
	found, err := b.Read(t.Context(), id, session.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range found.Transcript {
		if strings.Contains(entry.Content, "HOLD[two]") {
			t.Errorf("the cancelled message was sent: %+v", entry)
		}
	}
}

// FE-36: a prompt behind another client's turn is answered at the end of its own.
func TestAQueuedPromptIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	id := c.start()
	b.Say(id, "HOLD[it]")
	if err := b.Agent.AwaitHeld(t.Context(), "it"); err != nil {
		t.Fatal(err)
	}
	c.prompt(id, "REPLY[queued]", "k-1")
	b.Until("a queued message", func(ctx context.Context) bool {
		queued, err := b.Queued(ctx, id)
		return err == nil && len(queued) == 1
	})
	if err := b.Agent.Release("it"); err != nil {
		t.Fatal(err)
	}
	answer, before := c.answer("k-1")
	if !strings.Contains(string(answer.Result), `"end_turn"`) {
		t.Errorf("the answer is %s %+v", answer.Result, answer.Error)
	}
	if got := texts(t, before, "agent_message_chunk"); got != "holding freed itqueued" {
		t.Errorf("the texts are %q", got)
	}
	if got := texts(t, before, "user_message_chunk"); got != "HOLD[it]" {
		t.Errorf("the other client's message is %q", got)
	}
}

// FE-37: a request reaches every client; one selects an option, and it is withdrawn from the others. What is no
// decision leaves it open.
func TestAPermissionIsDecidedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice, bob := b.dial("alice"), b.dial("bob")
	id := alice.start()
	bob.call("session/resume", `{"sessionId":"`+id+`","cwd":"/"}`)
	alice.prompt(id, "RUN[echo done]", "k-1")
	mine, theirs := alice.until("session/request_permission", ""), bob.until("session/request_permission", "")
	for _, want := range []string{`"title":"echo done"`, `"kind":"execute"`, `"optionId":"accept"`, `"optionId":"accept:session"`,
		`"kind":"reject_once"`} {
		if !strings.Contains(string(mine.Params), want) {
			t.Errorf("the request lacks %s: %s", want, mine.Params)
		}
	}
	for _, result := range []string{`"error":{"code":-32000,"message":"no"}`, `"result":{"outcome":{"outcome":"cancelled"}}`,
		`"result":{"outcome":{"outcome":"selected","optionId":"none"}}`} {
		bob.send(`{"jsonrpc":"2.0","id":` + string(theirs.ID) + `,` + result + `}`)
	}
	bob.call("session/list", `{}`)
	if open, err := b.Requests(t.Context(), id, runtime.RequestApproval); err != nil || len(open) != 1 {
		t.Errorf("the request is no longer open: %v, %v", open, err)
	}
	alice.send(`{"jsonrpc":"2.0","id":` + string(mine.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"accept"}}}`)
	bob.until("$/cancel_request", string(theirs.ID))
	answer, before := alice.answer("k-1")
	if !strings.Contains(string(answer.Result), `"end_turn"`) {
		t.Errorf("the answer is %s %+v", answer.Result, answer.Error)
	}
	story, _ := json.Marshal(before)
	for _, want := range []string{`"status":"completed"`, `"exit_code":0`, "done"} {
		if !strings.Contains(string(story), want) {
			t.Errorf("the updates lack %s: %s", want, story)
		}
	}
	for _, f := range before {
		if f.Method == "$/cancel_request" {
			t.Errorf("the client that decided gets %s", f.Params)
		}
	}
	bob.send(`{"jsonrpc":"2.0","id":` + string(theirs.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"decline"}}}`)
	bob.call("session/list", `{}`)
}

// FE-38: an open request is asked again on load; a cancelled prompt cancels it.
func TestAnOpenPermissionIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice := b.dial("alice")
	id := alice.start()
	alice.prompt(id, "RUN[echo done]", "k-1")
	alice.until("session/request_permission", "")
	_ = alice.conn.CloseNow()
	again := b.dial("alice")
	again.call("session/load", `{"sessionId":"`+id+`","cwd":"/","mcpServers":[]}`)
	asked := again.until("session/request_permission", "")
	again.prompt(id, "RUN[echo done]", "k-1")
	again.call("session/list", `{}`)
	again.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + id + `"}}`)
	again.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"outcome":{"outcome":"cancelled"}}}`)
	if answer := again.reply("k-1"); !strings.Contains(string(answer.Result), `"cancelled"`) {
		t.Errorf("the answer is %s %+v", answer.Result, answer.Error)
	}
}

// FE-39: a question is a form for a client that shows forms; any other learns where to answer.
func TestAQuestionIsAForm(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c, plain := b.dial("alice"), b.dialAs("bob", auth.RoleOperator)
	plain.call("initialize", `{"protocolVersion":1}`)
	id := c.start()
	plain.call("session/resume", `{"sessionId":"`+id+`","cwd":"/"}`)
	c.prompt(id, "ASK", "k-1")
	asked := c.until("elicitation/create", `"mode":"form"`)
	var p struct {
		RequestedSchema struct {
			Properties map[string]json.RawMessage
		}
	}
	decode(t, asked.Params, &p)
	name := ""
	for name = range p.RequestedSchema.Properties {
		if !strings.HasSuffix(name, "_other") {
			break
		}
	}
	plain.until("session/update", "harness approvals")
	c.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"action":"accept","content":{"` + name + `":"A"}}}`)
	if _, before := c.answer("k-1"); !strings.Contains(texts(t, before, "agent_message_chunk"), `"answers":["A"]`) {
		t.Errorf("the agent said %q", texts(t, before, "agent_message_chunk"))
	}
}
