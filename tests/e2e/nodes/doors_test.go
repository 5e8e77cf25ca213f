package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"harness/tests/programtest"
)

// door is a client's connection to a front end's protocol.
type door struct {
	t    *testing.T
	conn *websocket.Conn
	seen []string // messages that no one asked for yet
	next int
}

// openDoor connects a client to a server.
func openDoor(t *testing.T, server *programtest.Server, path string) *door {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 26)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &door{t: t, conn: conn}
}

func (d *door) send(message string) {
	d.t.Helper()
	if err := d.conn.Write(d.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		d.t.Fatal(err)
	}
}

// until returns the next message that contains all texts. The messages before it stay.
func (d *door) until(texts ...string) string {
	d.t.Helper()
	fits := func(message string) bool {
		for _, text := range texts {
			if !strings.Contains(message, text) {
				return false
			}
		}
		return true
	}
	for i, message := range d.seen {
		if fits(message) {
			d.seen = append(d.seen[:i:i], d.seen[i+1:]...)
			return message
		}
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), programtest.Patience)
	defer cancel()
	for {
		_, text, err := d.conn.Read(ctx)
		if err != nil {
			d.t.Fatalf("no message has %q: %v; so far: %s", texts, err, strings.Join(d.seen, "\n"))
		}
		if message := string(text); fits(message) {
			return message
		}
		d.seen = append(d.seen, string(text))
	}
}

// ask sends a request, and returns its id.
func (d *door) ask(method, params string) string {
	d.t.Helper()
	d.next++
	id := fmt.Sprintf(`"id":"ask-%d"`, d.next)
	d.send(`{"jsonrpc":"2.0",` + id + `,"method":"` + method + `","params":` + params + `}`)
	return id
}

// call returns the result of a request.
func (d *door) call(method, params string) string {
	d.t.Helper()
	answer := d.until(d.ask(method, params))
	if !strings.Contains(answer, `"result"`) {
		d.t.Fatalf("%s is answered %s", method, answer)
	}
	return answer
}

// decide answers the request in a message.
func (d *door) decide(message, result string) {
	d.t.Helper()
	var asked struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(message), &asked); err != nil {
		d.t.Fatal(err)
	}
	d.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":` + result + `}`)
}

// FE-60: codex's front ends work at any node: turn, live text, approval, steering, interruption and fork of another
// node's session. While its node is away, a turn is refused with the time of a retry.
func TestAFrontEndOfCodexAtAnotherNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(untrusted)
	d := openDoor(t, n.b, "/")
	d.call("initialize", `{"clientInfo":{"name":"codex-tui","version":"0.171.0"},"capabilities":{"experimentalApi":true}}`)
	named := `"threadId":"` + session + `"`
	d.call("thread/resume", `{`+named+`}`)
	d.call("thread/items/list", `{`+named+`,"limit":100,"sortDirection":"desc"}`) // as front ends do
	say := func(method, text, more string) string {
		return d.ask(method, `{`+named+`,"clientUserMessageId":"`+text+`"`+more+`,"input":[{"type":"text","text":"`+text+`"}]}`)
	}
	sent := func(answer string) string {
		t.Helper()
		var in struct {
			Result struct{ Turn struct{ ID string } }
		}
		if err := json.Unmarshal([]byte(answer), &in); err != nil || in.Result.Turn.ID == "" {
			t.Fatalf("a turn is answered %s, %v", answer, err)
		}
		return in.Result.Turn.ID
	}

	sent(d.until(say("turn/start", "MOCK_SLOW[20,30]", "")))
	d.until("item/agentMessage/delta", "word3")
	d.until("turn/completed", `"completed"`)
	if history := d.call("thread/items/list", `{`+named+`,"limit":100,"sortDirection":"desc"}`); !strings.Contains(history, `"clientId":"MOCK_SLOW[20,30]"`) {
		t.Errorf("the history lacks the client's id of its message: %s", history)
	}

	ran := filepath.Join(n.siteA.Workspace, "ran.txt")
	sent(d.until(say("turn/start", "MOCK_CMD[echo once >> "+ran+"]", "")))
	d.decide(d.until("item/commandExecution/requestApproval"), `{"decision":"accept"}`)
	d.until("turn/completed", `"completed"`)
	if text, err := os.ReadFile(ran); err != nil || string(text) != "once\n" {
		t.Errorf("the approved command wrote %q, %v", text, err)
	}

	for _, way := range []string{"steered", "stopped"} {
		turn := sent(d.until(say("turn/start", "MOCK_HOLD["+way+"]", "")))
		if err := n.siteA.Model.WaitHeld(t.Context(), way); err != nil {
			t.Fatal(err)
		}
		ends := `"completed"`
		if way == "steered" {
			if answer := d.until(say("turn/steer", "faster", `,"expectedTurnId":"`+turn+`"`)); !strings.Contains(answer, turn) {
				t.Errorf("steering is answered %s", answer)
			}
		} else {
			ends = `"interrupted"`
			d.call("turn/interrupt", `{`+named+`,"turnId":"`+turn+`"}`)
		}
		n.siteA.Model.Release(way)
		d.until("turn/completed", turn, ends)
	}
	if calls := n.siteB.Calls(session); len(calls) > 0 {
		t.Errorf("the codex of the other node got %v", calls)
	}
	d.call("turn/interrupt", `{`+named+`,"turnId":"none"}`) // it ended by itself
	forked := d.call("thread/fork", `{`+named+`}`)
	if !strings.Contains(forked, `"forkedFromId":"`+session+`"`) {
		t.Errorf("a fork is answered %s", forked)
	}

	n.a.Kill()
	refused := d.until(say("turn/start", "MOCK_REPLY[away]", ""))
	if !strings.Contains(refused, `"code":-32600`) || !strings.Contains(refused, `"retry_after_ms"`) || !strings.Contains(refused, nodeID(n.siteA)) {
		t.Errorf("with the owner killed, a turn is answered %s", refused)
	}
	n.a = n.siteA.Start()
	n.a.WaitRuntime()
	sent(d.until(say("turn/start", "MOCK_REPLY[back]", "")))
	d.until("turn/completed", `"completed"`)
	d.call("thread/delete", `{`+named+`}`)
	n.a.Want(http.StatusGone, http.MethodPost, "/api/sessions/"+session+"/messages", programtest.Object{"text": "hi"})
}

// FE-61: clients of ACP work at any node: prompt, permission, cancellation and a picture for another node's session.
func TestAClientOfACPAtAnotherNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(untrusted)
	d := openDoor(t, n.b, "/acp?runtime=codex")
	d.call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	d.call("session/load", `{"sessionId":"`+session+`","cwd":"/","mcpServers":[]}`)
	named := `"sessionId":"` + session + `"`
	policy := func(value, mode string) {
		n.a.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/approval-policy", programtest.Object{"approvalPolicy": value})
		d.until("current_mode_update", `"`+mode+`"`)
	}
	policy("on-request", "custom")
	policy("untrusted", "ask")
	prompt := func(text, more string) string {
		return d.ask("session/prompt", `{`+named+`,"prompt":[{"type":"text","text":"`+text+`"}`+more+`]}`)
	}
	const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	id := prompt("MOCK_REPLY[seen]", `,{"type":"image","mimeType":"image/png","data":"`+dot+`"}`)
	d.until("agent_message_chunk", "seen")
	d.until(id, `"end_turn"`)

	ran := filepath.Join(n.siteA.Workspace, "ran.txt")
	id = prompt("MOCK_CMD[echo once >> "+ran+"]", "")
	asked := d.until("session/request_permission")
	var offered struct {
		Params struct {
			Options []struct{ OptionID, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(asked), &offered); err != nil {
		t.Fatal(err)
	}
	once := slices.IndexFunc(offered.Params.Options, func(o struct{ OptionID, Kind string }) bool { return o.Kind == "allow_once" })
	d.decide(asked, `{"outcome":{"outcome":"selected","optionId":"`+offered.Params.Options[once].OptionID+`"}}`)
	d.until(id, `"end_turn"`)
	if text, err := os.ReadFile(ran); err != nil || string(text) != "once\n" {
		t.Errorf("the approved command wrote %q, %v; it was asked %s", text, err, asked)
	}

	id = prompt("MOCK_HOLD[on]", "")
	if err := n.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	d.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{` + named + `}}`)
	d.until(id, `"cancelled"`)
	n.siteA.Model.Release("on")

	n.a.Kill()
	if refused := d.until(prompt("MOCK_REPLY[away]", "")); !strings.Contains(refused, `"code":-32603`) || !strings.Contains(refused, `"retry_after_ms"`) {
		t.Errorf("with the owner killed, a prompt is answered %s", refused)
	}
	n.a = n.siteA.Start()
	n.a.WaitRuntime()
	d.until(prompt("MOCK_REPLY[back]", ""), `"end_turn"`)
	d.call("session/delete", `{`+named+`}`)
}

// FE-62: a run of AG-UI at another node than its session's is streamed to its end. While that node is away it is 503,
// with the time of a retry.
func TestARunOfAGUIAtAnotherNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(nil)
	run := func(id, text string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.b.URL+"/agui/"+session, strings.NewReader(
			`{"threadId":"`+session+`","runId":"`+id+`","state":{},"tools":[],"context":[],"forwardedProps":{},`+
				`"messages":[{"id":"`+id+`","role":"user","content":"`+text+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := n.b.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return answer, string(body)
	}
	whole := `earlier"},{"id":"old","role":"assistant","content":"` + strings.Repeat("x", 2<<20) + // clients send the whole conversation
		`"},{"id":"last","role":"user","content":"MOCK_REPLY[seen]`
	if answer, body := run("one", whole); answer.StatusCode != http.StatusOK || !strings.Contains(body, "seen") ||
		!strings.Contains(body, "RUN_FINISHED") {
		t.Errorf("a run is answered %s %.2000s", answer.Status, body)
	}
	n.a.Kill()
	answer, body := run("two", "MOCK_REPLY[away]")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("with the owner killed, a run is answered %s, %v, %s", answer.Status, answer.Header, body)
	}
	n.a = n.siteA.Start()
	n.a.WaitRuntime()
	if answer, body := run("three", "MOCK_REPLY[back]"); answer.StatusCode != http.StatusOK || !strings.Contains(body, "back") {
		t.Errorf("with the owner back, a run is answered %s %s", answer.Status, body)
	}
}

// FE-66: a front end's next turn makes its node take over a session whose node is lost, and is refused until then. A
// node without agents asks one that has them: for new sessions, turns and models.
func TestAFrontEndOutlivesTheNodeOfItsSession(t *testing.T) {
	t.Parallel()
	n := newNodes(t, movable())
	front := programtest.New(t, movable(), programtest.WithDatabaseOf(n.siteA), programtest.WithEnv("HARNESS_ROLES=api")).Start()
	session := n.a.CreateSession(programtest.Object{"cwd": t.TempDir()})
	events := n.b.Follow("threadId=" + session)
	turn := n.a.Send(session, "MOCK_REPLY[before]")
	events.WaitTurn(turn)
	n.kept(t, session, turn)

	d, f := openDoor(t, n.b, "/"), openDoor(t, front, "/")
	for _, one := range []*door{d, f} {
		one.call("initialize", `{"clientInfo":{"name":"codex-tui","version":"0.171.0"},"capabilities":{}}`)
		one.call("thread/resume", `{"threadId":"`+session+`"}`)
	}
	if models := f.call("model/list", `{}`); !strings.Contains(models, `"mock-model"`) {
		t.Errorf("a node without agents lists the models %s", models)
	}
	n.loseA(t)
	say := func(d *door, text string) (answer string) {
		return d.until(d.ask("turn/start", `{"threadId":"`+session+`","clientUserMessageId":"`+text+`","input":[{"type":"text","text":"`+text+`"}]}`))
	}
	if refused := say(d, "MOCK_REPLY[after]"); !strings.Contains(refused, `"retry_after_ms"`) {
		t.Errorf("with the node lost, a turn is answered %s", refused)
	}
	n.b.Eventually("the session is taken over", func() bool { return strings.Contains(say(d, "MOCK_REPLY[after]"), `"inProgress"`) })
	f.until("turn/completed", `"completed"`)
	if answer := say(f, "MOCK_REPLY[last]"); !strings.Contains(answer, `"inProgress"`) {
		t.Errorf("at a node without agents a turn is answered %s", answer)
	}
	f.until("turn/completed", `"completed"`)
	if made := f.call("thread/start", `{"model":"codex","sandbox":"danger-full-access"}`); !strings.Contains(made, `"modelProvider":"codex"`) {
		t.Errorf("at a node without agents a new session is %s", made)
	}
}
