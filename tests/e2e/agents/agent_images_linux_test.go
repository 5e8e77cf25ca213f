package agents

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// picturing is an ACP agent that answers every message with a text, an image and another text.
const picturing = `#!/bin/sh
say() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":%s}}}\n' "$1"; }
while IFS= read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
	*'"session/new"'*) result='{"sessionId":"s"}' ;;
	*'"session/prompt"'*)
		say '{"type":"text","text":"look:"}'
		say "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"$PICTURE\"}"
		say '{"type":"text","text":"done"}'
		result='{"stopReason":"end_turn"}' ;;
	*) result='{}' ;;
	esac
	[ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// The server stores an image in an agent's own message with the session, like images of people and tools.
func TestAnAgentsOwnImageIsShown(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	url, _ := pictureURL(t)
	_, data, _ := strings.Cut(url, ",")
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "picturing")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(picturing, "$PICTURE", data)), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	start := func() *programtest.Server {
		return s.Start("HARNESS_RUNTIMES=codex,acp:own", `HARNESS_ACP_AGENTS={"own":{"command":["`+script+`"]}}`)
	}
	server := start()
	server.WaitRuntime()
	events := server.Follow("after=0")
	session := server.CreateSession(programtest.Object{"runtime": "acp:own", "approvalPolicy": "on-request",
		"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
	if status := events.FindTurn(server.Send(session, "show")); status != "completed" {
		t.Fatalf("the turn ended %s", status)
	}
	var said []string
	for _, entry := range server.Transcript(session) {
		if programtest.Text(entry, "role") == "assistant" {
			said = append(said, programtest.Text(entry, "content"))
		}
	}
	paths := namedPictures(server, session)
	if len(paths) != 1 || strings.Join(said, "|") != "look:|[image] "+paths[0]+"|done" {
		t.Fatalf("the agent said %q, with the pictures %v", said, paths)
	}
	requirePicture(t, server, paths[0], content)
	server.Want(http.StatusNotFound, http.MethodGet, strings.Replace(paths[0], session, server.CreateSession(programtest.Object{}), 1), nil)
	server.Kill()
	server = start()
	requirePicture(t, server, paths[0], content)
	server.Stop()
}
