package appserver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/api/appserver"
	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/tests/runtimetest/scripted"
)

// FE-01: every method that the TUI needs to start is answered before any session exists.
func TestAClientStarts(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	for method, want := range map[string]string{
		"account/read":            `"requiresOpenaiAuth":false`,
		"config/read":             `"config":{}`,
		"configRequirements/read": `"requirements":null`,
		"model/list":              `"isDefault":true`,
		"skills/list":             `"data":[]`,
		"plugin/installed":        `"marketplaces":[]`,
		"thread/list":             `"data":[]`,
		"thread/loaded/list":      `"data":[]`,
		"account/bedrock/checkGovCloudRequirements": `"isGovCloud":false`,
		"collaborationMode/list":                    `"data":[]`,
		"hooks/list":                                `"data":[]`,
	} {
		if got := c.call(method, `{}`); !strings.Contains(string(got), want) {
			t.Errorf("%s got %s", method, got)
		}
	}
	if got := c.call("config/read", `{"cwd":"/srv/web"}`); !strings.Contains(string(got), `"/srv/web":{"trust_level":"trusted"}`) {
		t.Errorf("the client asks its user for trust in a folder: %s", got)
	}
	opened := c.call("thread/start", `{"cwd":null,"sandbox":"danger-full-access","dynamicTools":[{"type":"namespace"}]}`)
	for _, want := range []string{`"modelProvider":"` + scripted.Name, `"sandbox":{"type":"dangerFullAccess"}`, `"status":{"type":"idle"}`,
		`"historyMode":"paginated"`} {
		if !strings.Contains(string(opened), want) {
			t.Errorf("the session lacks %s: %s", want, opened)
		}
	}
}

// FE-02: what acts on the machine is refused and counted by name; a name that no protocol has is counted as other.
func TestForeignMethodsAreRefusedAndCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	for name, counted := range map[string]string{"command/exec": "command/exec", "fs/readFile": "fs/readFile",
		"config/batchWrite": "config/batchWrite", "a b": "other", strings.Repeat("x", 200): "other"} {
		if got := c.try(name, `{}`); got.Error == nil || got.Error.Code != -32601 {
			t.Errorf("%s got %s", name, got.Result)
		}
		if got := <-b.refused; got != counted {
			t.Errorf("%s counts as %s", name, got)
		}
	}
	if got := c.try("thread/start", `{"ephemeral":true,"threadSource":"thread_title"}`); got.Error == nil || got.Error.Code != -32601 {
		t.Errorf("a session that is not stored: %s", got.Result)
	}
}

// FE-03: a turn arrives in order: status, turn, the text in deltas and whole, the end.
func TestATurnArrivesInOrder(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	session := c.start()
	turn := c.say(session, "REPLY[hello there]", "m-1")
	frames := c.all("turn/completed")
	text, methods := "", []string{}
	for _, f := range frames {
		methods = append(methods, f.Method)
		if f.Method == "item/agentMessage/delta" {
			var p struct{ Delta string }
			decode(t, f.Params, &p)
			text += p.Delta
		}
	}
	if last := frames[len(frames)-1]; !strings.Contains(string(last.Params), turn) {
		t.Errorf("the turn %s ended as %s", turn, last.Params)
	}
	if text != "hello there" {
		t.Errorf("the deltas are %q", text)
	}
	at := -1
	for _, want := range []string{"thread/status/changed", "turn/started", "item/started", "item/agentMessage/delta", "item/completed",
		"turn/completed"} {
		next := slices.Index(methods[at+1:], want)
		if next < 0 {
			t.Fatalf("no %s in its place: %v", want, methods)
		}
		at += next + 1
	}
}

// FE-04: a message that is sent again has one turn.
func TestAMessageIsSentOnce(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	session := c.start()
	first := c.say(session, "REPLY[one]", "m-1")
	c.until("turn/completed", "")
	if again := c.say(session, "REPLY[one]", "m-1"); again != first {
		t.Errorf("the message began %s and %s", first, again)
	}
}

// FE-05: an approval reaches every client that follows the session, one decides, and the others learn by whom.
func TestOneDecidesAndOthersLearn(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice, bob := b.dial("alice"), b.dial("bob")
	session := alice.start()
	bob.call("thread/resume", `{"threadId":"`+session+`","excludeTurns":true}`)
	bob.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`)
	alice.say(session, "RUN[echo done]", "m-1")
	const method = "item/commandExecution/requestApproval"
	mine, theirs := alice.until(method, ""), bob.until(method, "")
	for _, want := range []string{`"kind":"command"`, `"startedAtMs":`, `"availableDecisions":["accept"`, `"command":"echo done"`} {
		if !strings.Contains(string(mine.Params), want) {
			t.Errorf("the request lacks %s: %s", want, mine.Params)
		}
	}
	bob.send(`{"id":` + string(theirs.ID) + `,"error":{"code":-32000,"message":"no"}}`) // no decision
	alice.send(`{"id":` + string(mine.ID) + `,"result":{"decision":"accept"}}`)
	bob.until("serverRequest/resolved", string(theirs.ID))
	bob.until("warning", "Already accepted by alice.")
	alice.until("turn/completed", "")
	bob.send(`{"id":` + string(theirs.ID) + `,"result":{"decision":"decline"}}`) // it is gone for bob, too: nothing happens
	// An open server names no one.
	nameless := b.dial("")
	nameless.call("thread/resume", `{"threadId":"`+session+`","excludeTurns":true}`)
	nameless.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`)
	alice.say(session, "RUN[echo again]", "m-2")
	theirs = nameless.until(method, "")
	nameless.send(`{"id":` + string(theirs.ID) + `,"result":{"decision":"accept"}}`)
	alice.until("warning", "Already accepted by someone on this machine.")
	history := string(bob.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`))
	if !strings.Contains(history, `"commandActions":[{`) || !strings.Contains(history, `"status":"completed"`) {
		t.Errorf("the history is %s", history)
	}
}

// FE-06: an open request is asked again after a reconnect, and decided once.
func TestAnOpenRequestIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice := b.dial("alice")
	session := alice.start()
	alice.say(session, "RUN[echo done]", "m-1")
	const method = "item/commandExecution/requestApproval"
	alice.until(method, "")
	_ = alice.conn.CloseNow()
	again := b.dial("alice")
	opened := again.call("thread/resume", `{"threadId":"`+session+`"}`)
	if !strings.Contains(string(opened), `"waitingOnApproval"`) {
		t.Errorf("the session is %s", opened)
	}
	asked := again.until(method, "")
	again.send(`{"id":` + string(asked.ID) + `,"result":{"decision":"decline"}}`)
	again.until("turn/completed", "")
}

// FE-07: a question is answered.
func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	session := c.start()
	c.say(session, "ASK", "m-1")
	asked := c.until("item/tool/requestUserInput", `"isBlocking":true`)
	var p struct{ Questions []struct{ ID string } }
	decode(t, asked.Params, &p)
	c.send(`{"id":` + string(asked.ID) + `,"result":{"answers":{"` + p.Questions[0].ID + `":{"answers":["A"]}}}}`)
	if said := c.until("item/completed", "you said"); !strings.Contains(string(said.Params), `[\"A\"]`) {
		t.Errorf("the agent got %s", said.Params)
	}
	c.until("turn/completed", "")
}

// FE-08: a text that ends between a resume and its list is in the list, and not shown once more.
func TestATextThatEndsDuringAResumeIsShownOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *appserver.Options) { o.ListWait = time.Minute })
	alice := b.dial("alice")
	session := alice.start()
	alice.say(session, "HOLD[it]", "m-1")
	if err := b.Agent.AwaitHeld(t.Context(), "it"); err != nil {
		t.Fatal(err)
	}
	alice.until("item/agentMessage/delta", "holding")
	bob := b.dial("bob")
	bob.call("thread/resume", `{"threadId":"`+session+`","excludeTurns":true}`)
	if err := b.Agent.Release("it"); err != nil {
		t.Fatal(err)
	}
	alice.until("turn/completed", "")
	if listed := bob.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`); !strings.Contains(
		string(listed), "holding freed it") {
		t.Errorf("the list lacks the text: %s", listed)
	}
	for _, f := range bob.all("turn/completed") {
		if strings.HasPrefix(f.Method, "item/agentMessage") || strings.HasPrefix(f.Method, "item/completed") {
			t.Errorf("what the list has comes again: %s %s", f.Method, f.Params)
		}
	}
}

// FE-08: a text that grows during a resume is shown once: empty, with what there is, then the rest.
func TestAGrowingTextIsShownOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice := b.dial("alice")
	session := alice.start()
	alice.say(session, "HOLD[it]", "m-1")
	if err := b.Agent.AwaitHeld(t.Context(), "it"); err != nil {
		t.Fatal(err)
	}
	alice.until("item/agentMessage/delta", "holding")
	bob := b.dial("bob")
	bob.call("thread/resume", `{"threadId":"`+session+`","excludeTurns":true}`)
	listed := bob.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`)
	if strings.Contains(string(listed), "holding") {
		t.Errorf("a growing text is listed: %s", listed)
	}
	if err := b.Agent.Release("it"); err != nil {
		t.Fatal(err)
	}
	text, started := "", 0
	for _, f := range bob.all("turn/completed") {
		switch f.Method {
		case "item/started":
			if strings.Contains(string(f.Params), "agentMessage") {
				started++
			}
		case "item/agentMessage/delta":
			var p struct{ Delta string }
			decode(t, f.Params, &p)
			text += p.Delta
		}
	}
	if text != "holding freed it" || started != 1 {
		t.Errorf("the text is %q, begun %d times", text, started)
	}
}

// FE-09: a client that reads no history gets what was held. FE-08: a list that comes late lacks the items that the client has
// by then; the next list has them.
func TestHeldEventsComeWithoutAList(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *appserver.Options) { o.ListWait = time.Millisecond })
	alice, bob := b.dial("alice"), b.dial("bob")
	session := alice.start()
	bob.call("thread/resume", `{"threadId":"`+session+`"}`)
	alice.say(session, "REPLY[hi]", "m-1")
	bob.until("turn/completed", "")
	for _, want := range []int{0, 2} {
		var page struct{ Data []any }
		decode(t, bob.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`), &page)
		if len(page.Data) != want {
			t.Errorf("a list has %d items, want %d: %v", len(page.Data), want, page.Data)
		}
	}
}

// FE-10: after a reconnect the history has the user's message under the client's own id.
func TestTheHistoryHasTheClientsID(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	session := c.start()
	turn := c.say(session, "REPLY[hi]", "my-own-id")
	c.until("turn/completed", "")
	var page struct {
		Data []struct {
			TurnID string
			Item   struct{ Type, ClientID, Text string }
		}
	}
	decode(t, c.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`), &page)
	n := len(page.Data)
	if n < 2 || page.Data[0].Item.Text != "hi" || page.Data[n-1].Item.ClientID != "my-own-id" || page.Data[n-1].TurnID != turn {
		t.Errorf("the history is %+v", page.Data)
	}
	turns := c.call("thread/turns/list", `{"threadId":"`+session+`","limit":1}`)
	if !strings.Contains(string(turns), turn) || !strings.Contains(string(turns), `"completed"`) {
		t.Errorf("the turns are %s", turns)
	}
}

// FE-11: histories are read by pages, each item once.
func TestHistoriesHavePages(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	session := c.start()
	var turns []string
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		turns = append(turns, c.say(session, "REPLY[number "+n+"]", "m-"+n))
		c.until("turn/completed", "")
	}
	slices.Reverse(turns)
	var got []string
	pages := func(method string, visit func(data json.RawMessage)) {
		cursor := "null"
		for n := 0; n < 20; n++ {
			var page struct {
				Data       json.RawMessage
				NextCursor *string
			}
			decode(t, c.call(method, `{"threadId":"`+session+`","limit":2,"sortDirection":"desc","cursor":`+cursor+`}`), &page)
			visit(page.Data)
			if page.NextCursor == nil {
				return
			}
			text, _ := json.Marshal(*page.NextCursor)
			cursor = string(text)
		}
		t.Errorf("%s has no last page", method)
	}
	pages("thread/turns/list", func(data json.RawMessage) {
		var list []struct{ ID string }
		decode(t, data, &list)
		for _, one := range list {
			got = append(got, one.ID)
		}
	})
	if !slices.Equal(got, turns) {
		t.Errorf("the turns are %v, not %v", got, turns)
	}
	seen := map[string]int{}
	pages("thread/items/list", func(data json.RawMessage) {
		var list []struct{ Item struct{ ID string } }
		decode(t, data, &list)
		for _, one := range list {
			seen[one.Item.ID]++
		}
	})
	if len(seen) != 10 {
		t.Errorf("the items are %v", seen)
	}
}

// FE-12: a viewer reads and follows, is asked nothing, and changes nothing.
func TestAViewerOnlyReads(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice, eve := b.dial("alice"), b.dialAs("eve", auth.RoleMember)
	eve.call("initialize", `{}`)
	session := alice.start()
	eve.call("thread/resume", `{"threadId":"`+session+`"}`)
	eve.call("thread/items/list", `{"threadId":"`+session+`"}`)
	for _, method := range []string{"thread/start", "turn/start", "turn/interrupt", "thread/settings/update", "thread/delete"} {
		if got := eve.try(method, `{"threadId":"`+session+`"}`); got.Error == nil || !strings.Contains(got.Error.Message, "viewer") {
			t.Errorf("%s of a viewer got %s", method, got.Result)
		}
	}
	alice.say(session, "RUN[echo done]", "m-1")
	asked := alice.until("item/commandExecution/requestApproval", "")
	eve.send(`{"id":` + string(asked.ID) + `,"result":{"decision":"accept"}}`)
	eve.call("thread/read", `{"threadId":"`+session+`"}`)
	if open, err := b.Requests(t.Context(), session, runtime.RequestApproval); err != nil || len(open) != 1 {
		t.Errorf("the request of a viewer's answer: %v, %v", open, err)
	}
	alice.send(`{"id":` + string(asked.ID) + `,"result":{"decision":"cancel"}}`)
	for _, f := range eve.all("turn/completed") {
		if len(f.ID) > 0 {
			t.Errorf("a viewer was asked: %s", f.Params)
		}
	}
}

// FE-13: an agent and an unknown role get nothing; a client says who it is first.
func TestAgentsGetNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for _, role := range []auth.Role{auth.RoleAgent, auth.RoleCI, ""} {
		if got := b.dialAs("agent", role).try("initialize", `{}`); got.Error == nil {
			t.Errorf("role %q got %s", role, got.Result)
		}
	}
	if got := b.dialAs("alice", auth.RoleOperator).try("thread/list", `{}`); got.Error == nil || got.Error.Code != -32600 {
		t.Errorf("a client that never initialized got %s", got.Result)
	}
}

// FE-14: a level that the runtime does not enforce is refused, with the flag that works.
func TestWeakLevelsAreRefused(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	got := c.try("thread/start", `{"sandbox":"read-only","approvalPolicy":"untrusted"}`)
	if got.Error == nil || !strings.Contains(got.Error.Message, "start with -s danger-full-access") {
		t.Errorf("the answer is %s %+v", got.Result, got.Error)
	}
}

// FE-15: a steered message is shown at once, and its echo is not a second one. Esc ends the turn.
func TestASteeredMessageIsShownOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	session := c.start()
	turn := c.say(session, "HOLD[it]", "m-1")
	if err := b.Agent.AwaitHeld(t.Context(), "it"); err != nil {
		t.Fatal(err)
	}
	c.call("turn/steer", `{"threadId":"`+session+`","expectedTurnId":"`+turn+
		`","clientUserMessageId":"m-2","input":[{"type":"text","text":"REPLY[steered]","text_elements":[]}]}`)
	c.until("item/completed", "m-2")
	c.call("turn/interrupt", `{"threadId":"`+session+`","turnId":"`+turn+`"}`)
	c.until("turn/completed", `"interrupted"`)
	shown := 0
	for _, f := range c.all("turn/completed") { // the runtime cannot steer: the message is sent after the turn
		if f.Method == "item/completed" && strings.Contains(string(f.Params), "userMessage") {
			shown++
		}
	}
	if shown != 0 {
		t.Errorf("the message was shown %d more times", shown)
	}
}

// FE-16: what a runtime cannot compact is said in a turn, because the TUI ends on an error.
func TestCompactingNeverFails(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	session := c.start()
	c.call("thread/compact/start", `{"threadId":"`+session+`"}`)
	c.until("error", "nothing was done")
	c.until("turn/completed", `"failed"`)
}

// FE-17: a session's settings change, except its runtime.
func TestSettingsChange(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	session := c.start()
	c.call("thread/settings/update", `{"threadId":"`+session+`","model":"thorough"}`)
	c.until("thread/settings/updated", `"model":"thorough"`)
	c.call("thread/settings/update", `{"threadId":"`+session+`","sandboxPolicy":{"type":"readOnly"}}`)
	c.until("thread/settings/updated", `"dangerFullAccess"`)
	c.until("warning", "")
}

// FE-18: sessions are listed, renamed, archived and deleted; lists about other things are empty.
func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.dial("alice")
	session := c.start()
	c.say(session, "REPLY[hi]", "m-1")
	c.until("turn/completed", "")
	c.call("thread/name/set", `{"threadId":"`+session+`","name":"my work"}`)
	c.until("thread/name/updated", "my work")
	for params, there := range map[string]bool{`{"limit":25,"sortKey":"updated_at","sourceKinds":["cli","vscode"]}`: true, `{}`: true,
		`{"searchTerm":"my work"}`: true, `{"searchTerm":"other"}`: false, `{"sourceKinds":["subAgentThreadSpawn"]}`: false,
		`{"sectionId":"x"}`: false, `{"archived":true}`: false} {
		if got := string(c.call("thread/list", params)); strings.Contains(got, session) != there {
			t.Errorf("%s lists %s", params, got)
		}
	}
	c.call("thread/readState/update", `{"threadId":"`+session+`","operation":{"type":"read"}}`)
	c.call("thread/archive", `{"threadId":"`+session+`"}`)
	if got := string(c.call("thread/list", `{"archived":true}`)); !strings.Contains(got, session) {
		t.Errorf("archived: %s", got)
	}
	c.call("thread/unarchive", `{"threadId":"`+session+`"}`)
	c.call("thread/delete", `{"threadId":"`+session+`"}`)
	for _, method := range []string{"thread/read", "thread/resume"} {
		if got := c.try(method, `{"threadId":"`+session+`"}`); got.Error == nil {
			t.Errorf("%s of a deleted session: %s", method, got.Result)
		}
	}
	if got := c.try("thread/resume", `{"threadId":"00000000-0000-7000-8000-000000000000"}`); got.Error == nil ||
		!strings.Contains(got.Error.Message, "no rollout found") {
		t.Errorf("an unknown session: %+v", got)
	}
}

// FE-19: a socket gets nothing of a session it left, and ids are echoed as they came.
func TestAClientLeavesASession(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	alice, bob := b.dial("alice"), b.dial("bob")
	session := alice.start()
	bob.call("thread/resume", `{"threadId":"`+session+`"}`)
	bob.call("thread/items/list", `{"threadId":"`+session+`"}`)
	if got := bob.call("thread/unsubscribe", `{"threadId":"`+session+`"}`); !strings.Contains(string(got), `"unsubscribed"`) {
		t.Errorf("got %s", got)
	}
	alice.say(session, "REPLY[hi]", "m-1")
	alice.until("turn/completed", "")
	for _, id := range []string{`7`, `"word-5f847b35"`, `9007199254740993`} {
		bob.send(`{"id":` + id + `,"method":"account/read","params":{}}`)
		if got := bob.read(); string(got.ID) != id || got.Method != "" {
			t.Errorf("%s is answered by %+v", id, got)
		}
	}
}

// FE-20: a message that is not JSON ends the socket.
func TestAnythingButJSONEndsTheSocket(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	c.send("hello")
	if _, _, err := c.conn.Read(t.Context()); websocket.CloseStatus(err) != 1007 {
		t.Errorf("the socket ends with %v", err)
	}
}
