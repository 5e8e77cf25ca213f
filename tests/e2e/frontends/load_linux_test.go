package frontends

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// pixel is a picture of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// withFour makes a site with codex, Claude Code, Gemini CLI and OpenCode.
func withFour(t *testing.T) *programtest.Site {
	t.Helper()
	s := programtest.WithOpenCode(t)
	s.Env = append(s.Env, "HARNESS_RUNTIMES=codex,claude,gemini,opencode", "CLAUDE_BIN="+agenttest.Binary(t, "claude"),
		"ANTHROPIC_API_KEY="+programtest.ClaudeKey, "ANTHROPIC_BASE_URL="+s.Model.Root(), "GEMINI_BIN="+agenttest.Binary(t, "gemini"),
		"GEMINI_API_KEY=key-of-gemini", "GOOGLE_GEMINI_BASE_URL="+s.Model.Root())
	return s
}

// FE-90, FE-92: the SDK loads a session of each runtime over stdio and a websocket: the replay has what REST reads,
// each once and in order. Every kind of update that codex-acp and claude-agent-acp were recorded with comes here, too.
func TestTheSDKLoadsSessionsOfEveryRuntime(t *testing.T) {
	t.Parallel()
	s := withFour(t)
	port := freePort(t)
	server := s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
	clients := startSDK(s)
	command := func(runtime string) []string {
		return []string{programtest.Program(t), "acp", "--runtime", runtime, "--url", "http://127.0.0.1:" + port}
	}
	var everything []came
	for _, runtime := range []string{"codex", "claude", "gemini", "opencode"} {
		session := server.CreateSession(programtest.Object{"runtime": runtime, "approvalPolicy": "untrusted",
			"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
		writer := clients.open(runtime, command(runtime), "")
		writer.call("session/resume", programtest.Object{"sessionId": session, "cwd": s.Workspace})
		for _, words := range []string{"MOCK_CMD[echo once >> " + runtime + ".txt]", "MOCK_REPLY[hello from " + runtime + "]"} {
			answer, before := writer.call("session/prompt", say(session, words))
			if answer.stopped() != "end_turn" {
				t.Fatalf("%s: %s is answered %s %+v", runtime, words, answer.Result, answer.Error)
			}
			everything = append(everything, before...)
		}
		if text, err := os.ReadFile(filepath.Join(s.Workspace, runtime+".txt")); err != nil || string(text) != "once\n" {
			t.Errorf("%s: the command wrote %q, %v", runtime, text, err)
		}
		want := readOverREST(server, session)
		if len(want) < 5 {
			t.Errorf("%s: REST reads %q", runtime, want)
		}
		for way, client := range map[string]*connection{
			"stdio":     clients.open(runtime+"-stdio", command(runtime), ""),
			"websocket": clients.open(runtime+"-socket", nil, "ws://127.0.0.1:"+port+"/acp?runtime="+runtime),
		} {
			answer, replay := client.call("session/load", programtest.Object{"sessionId": session, "cwd": s.Workspace, "mcpServers": []any{}})
			if got := replayed(t, of(replay, client), session); answer.Error != nil || !slices.Equal(got, want) {
				t.Errorf("%s over %s replays\n%q, REST reads\n%q", runtime, way, got, want)
			}
			everything = append(everything, replay...)
		}
	}
	configured := clients.open("configured", command("codex"), "")
	session := configured.start(s.Workspace)
	other := clients.open("other", command("codex"), "")
	other.call("session/resume", programtest.Object{"sessionId": session, "cwd": s.Workspace})
	answer, before := configured.call("session/set_mode", programtest.Object{"sessionId": session, "modeId": "plan"})
	if answer.Error != nil {
		t.Errorf("the mode is refused: %+v", answer.Error)
	}
	_, after := clients.until("a client learned the other's mode", func(one came) bool {
		return one.On == other.name && one.Update != nil && strings.Contains(string(one.Update.Update), `"config_option_update"`)
	})
	requireRecordedKinds(t, slices.Concat(everything, before, after))
	server.Stop()
}

// of keeps what came on a connection.
func of(all []came, client *connection) []came {
	return slices.DeleteFunc(all, func(one came) bool { return one.On != client.name })
}

// readOverREST returns the messages and tools of a session, each with its id.
func readOverREST(server *programtest.Server, session string) (items []string) {
	for _, entry := range server.Transcript(session) {
		id, kind := programtest.Text(entry, "messageId"), programtest.Text(entry, "type")
		switch kind {
		case "userMessage", "agentMessage":
			items = append(items, fmt.Sprintf("%s %s %s", kind, id, programtest.Text(entry, "content")))
		case "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "webSearch":
			items = append(items, "tool "+id)
		}
	}
	return items
}

// replayed returns the same of a replay.
func replayed(t *testing.T, all []came, session string) (items []string) {
	t.Helper()
	for _, u := range updates(t, all, session) {
		var block struct{ Text string }
		switch u.SessionUpdate {
		case "user_message_chunk", "agent_message_chunk":
			if err := json.Unmarshal(u.Content, &block); err != nil {
				t.Error(err)
			}
			kind := strings.TrimSuffix(u.SessionUpdate, "_message_chunk") + "Message"
			items = append(items, fmt.Sprintf("%s %s %s", kind, u.MessageID, block.Text))
		case "tool_call":
			items = append(items, "tool "+u.ToolCallID)
		}
	}
	return items
}

// requireRecordedKinds checks that every recorded kind of update came with its members.
func requireRecordedKinds(t *testing.T, all []came) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "acp-updates.json"))
	if err != nil {
		t.Fatal(err)
	}
	lacking := programtest.Decode[map[string][]string](t, text)
	for _, one := range all {
		if one.Update == nil {
			continue
		}
		members := programtest.Decode[map[string]any](t, one.Update.Update)
		kind := fmt.Sprint(members["sessionUpdate"])
		lacking[kind] = slices.DeleteFunc(lacking[kind], func(name string) bool { _, has := members[name]; return has })
	}
	maps.DeleteFunc(lacking, func(_ string, members []string) bool { return len(members) == 0 })
	if len(lacking) > 0 {
		t.Errorf("no update had %v", lacking)
	}
}

// FE-91: pictures and embedded files of an editor reach the model, a replay has the picture, and a session names the MCP
// servers that its agent is not given.
func TestWhatAnEditorEmbedsReachesTheModel(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	port := freePort(t)
	server := s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
	clients := startSDK(s)
	client := clients.open("editor", nil, "ws://127.0.0.1:"+port+"/acp?runtime=codex")
	made, said := client.call("session/new", programtest.Object{"cwd": s.Workspace, "mcpServers": []any{
		programtest.Object{"name": "mine", "command": "/bin/mine", "args": []any{}, "env": []any{}}}})
	session := programtest.Decode[struct{ SessionID string }](t, made.Result).SessionID
	answer, before := client.call("session/prompt", programtest.Object{"sessionId": session, "prompt": []any{
		programtest.Object{"type": "text", "text": "MOCK_REPLY[seen]"},
		programtest.Object{"type": "image", "mimeType": "image/png", "data": pixel},
		programtest.Object{"type": "resource", "resource": programtest.Object{"uri": "file:///w/unsaved.go", "mimeType": "text/plain",
			"text": "package unsaved"}},
		programtest.Object{"type": "resource_link", "uri": "file:///w/linked.go", "name": "linked.go"}}})
	if answer.stopped() != "end_turn" {
		t.Fatalf("the prompt is answered %+v", answer)
	}
	if notices := text(t, slices.Concat(said, before), session, "agent_thought_chunk"); !strings.Contains(notices, "mine") {
		t.Errorf("the session does not name the server that its agent lacks: %q", notices)
	}
	var asked string
	for _, one := range s.Model.Requests() {
		asked += programtest.Encoded(t, one)
	}
	for _, want := range []string{"package unsaved", "file:///w/unsaved.go", "file:///w/linked.go", pixel} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not sent %s", want)
		}
	}
	again := clients.open("again", nil, "ws://127.0.0.1:"+port+"/acp?runtime=codex")
	_, replay := again.call("session/load", programtest.Object{"sessionId": session, "cwd": s.Workspace, "mcpServers": []any{}})
	if !strings.Contains(story(replay), `"mimeType":"image/png","type":"image"`) || !strings.Contains(story(replay), pixel) {
		t.Errorf("the replay lacks the picture: %s", story(replay))
	}
	server.Stop()
}
