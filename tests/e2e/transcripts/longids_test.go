package transcripts

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// longIDsCodex is a codex whose ids are $LONG and a letter: t for the thread, u for its turn, i for an item
// of it, r for a request. It writes its input to $INPUT, and ends its turn when the request is answered.
const longIDsCodex = `#!/bin/sh
say() { printf '%s\n' "$1"; }
while IFS= read -r line; do
	printf '%s\n' "$line" >> "$INPUT"
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	of='"threadId":"'$LONG't","turnId":"'$LONG'u"'
	case "$line" in
	*'"initialize"'*) say '{"id":'$id',"result":{"userAgent":"harness/0.999.0 (fake)"}}' ;;
	*'"thread/start"'*)
		say '{"id":'$id',"result":{"thread":{"id":"'$LONG't","cwd":"/tmp","createdAt":1700000000,"updatedAt":1700000000}}}'
		say '{"method":"thread/started","params":{"thread":{"id":"'$LONG't","cwd":"/tmp"}}}' ;;
	*'"turn/start"'*)
		say '{"id":'$id',"result":{"turn":{"id":"'$LONG'u","status":"inProgress","items":[]}}}'
		say '{"method":"turn/started","params":{"threadId":"'$LONG't","turn":{"id":"'$LONG'u","status":"inProgress","items":[]}}}'
		say '{"method":"item/started","params":{"item":{"id":"'$LONG'i","type":"agentMessage","text":""},'$of'}}'
		say '{"method":"item/agentMessage/delta","params":{"itemId":"'$LONG'i","delta":"all ",'$of'}}'
		say '{"method":"item/agentMessage/delta","params":{"itemId":"'$LONG'i","delta":"kept",'$of'}}'
		say '{"method":"item/completed","params":{"item":{"id":"'$LONG'i","type":"agentMessage","text":"all kept"},'$of'}}'
		say '{"id":"'$LONG'r","method":"item/commandExecution/requestApproval","params":{"itemId":"'$LONG'c","command":"ls",'$of'}}' ;;
	*'"turn/interrupt"'*)
		say '{"id":'$id',"result":{}}'
		say '{"method":"turn/completed","params":{"threadId":"'$LONG't","turn":{"id":"'$LONG'u","status":"interrupted","items":[]}}}' ;;
	*'"decision"'*)
		say '{"method":"serverRequest/resolved","params":{"threadId":"'$LONG't","requestId":"'$LONG'r"}}'
		say '{"method":"turn/completed","params":{"threadId":"'$LONG't","turn":{"id":"'$LONG'u","status":"completed","items":[]}}}' ;;
	*'"id"'*) say '{"id":'$id',"result":{"data":[],"nextCursor":null}}' ;;
	esac
done
`

// The server stores a runtime's lines even if their ids are too long for an index, and responses have these ids.
func TestIdsOfAnyLengthAreKept(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		for _, end := range []string{"completed", "interrupted"} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/restart=%t", engine, end, restart), func(t *testing.T) {
					t.Parallel()
					keepLongIDs(t, engine, end, restart)
				})
			}
		}
	}
}

func keepLongIDs(t *testing.T, engine database.Engine, end string, restart bool) {
	long := ""
	for len(long) < 4000 { // Postgres accepts long text that compresses well
		long += rand.Text()
	}
	input := filepath.Join(t.TempDir(), "input")
	s := programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("LONG="+long, "INPUT="+input))
	script := filepath.Join(s.Workspace, "codex")
	if err := os.WriteFile(script, []byte(longIDsCodex), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	server := s.Start("CODEX_BIN=" + script)
	session := server.CreateSession(programtest.Object{"cwd": s.Workspace})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "go")
	approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
	if restart {
		server.Kill()
		server = s.Start("CODEX_BIN=" + script)
		server.WaitRuntime()
		events = server.Follow("threadId=" + session + "&after=0")
	}
	outcome, answer := "approval.resolved: Approval resolved (accept)", `{"id":"`+long+`r","result":{"decision":"accept"}}`
	if end == "completed" {
		server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
	} else {
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", programtest.Object{})
		outcome, answer = "approval.resolved: Approval expired", `"method":"turn/interrupt","params":{"threadId":"`+long+
			`t","turnId":"`+long+`u"}`
	}
	// The server publishes codex's line byte for byte.
	want := `{"method":"turn/completed","params":{"threadId":"` + long + `t","turn":{"id":"` + long + `u","status":"` +
		end + `","items":[]}}}`
	events.Wait("the end of the turn", func(f programtest.Frame) bool { return f.Type == "notification" && string(f.Payload) == want })
	if got, err := os.ReadFile(input); err != nil || !strings.Contains(string(got), answer) {
		t.Errorf("codex did not get %.60s... (%v)", answer, err)
	}

	stopped := ""
	if end != "completed" {
		stopped = "\nturn.stopped: Stopped by local, complete in its turn true"
	}
	var shown []string
	for _, entry := range server.Transcript(session) {
		shown = append(shown, fmt.Sprint(entry["type"], ": ", entry["content"], ", ", entry["status"], " in its turn ",
			entry["turnId"] == turn))
	}
	if got, want := strings.Join(shown, "\n"), outcome+", complete in its turn true\n"+
		"agentMessage: all kept, complete in its turn true"+stopped; got != want {
		t.Errorf("the transcript is\n%s\nwant\n%s", got, want)
	}
	if left := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any); len(
		left) != 0 {
		t.Errorf("approvals are still open: %v", left)
	}
	if log := server.LogTail(); strings.Contains(log, "could not be stored") {
		t.Errorf("something was not stored: %s", log)
	}
}
