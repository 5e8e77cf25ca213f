package agents

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime/codex"
	"harness/tests/programtest"
)

// codexItself is codex with its own protocol.
func codexItself() driven {
	return driven{codex.Name, func(command string) string { return "MOCK_CMD[" + command + "]" }, "",
		programtest.Object{"approvalPolicy": "never", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"}, nil}
}

// isRewound (WT-15) takes a session back to before its second turn, undoes that, and takes it back again. Bytes, modes
// and links are as they were each time, and the agent then knows nothing of the second turn.
func (c driven) isRewound(t *testing.T, server *programtest.Server, events *programtest.Follower) {
	body := programtest.Object{"runtime": c.name}
	for name, level := range c.levels {
		body[name] = level
	}
	session := server.CreateSession(body)
	file := filepath.Join(server.Workspace, "rewound-"+c.name)
	asked := 0
	turn := func(text string) string {
		turn := server.Send(session, text)
		for f := nextOf(events, session, turn, asked); f.Type == "approval"; f = nextOf(events, session, turn, asked) {
			asked++
			server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(f.Decoded(), "approvalId")+"/decision",
				programtest.Object{"decision": "accept"})
		}
		if status := events.FindTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		return turn
	}
	turn(c.command("printf one > " + file))
	before := statesOf(t, file)
	second := turn(c.command(fmt.Sprintf("printf two > %[1]s; chmod +x %[1]s; ln -s %[1]s %[1]s.link; printf x > %[1]s.new", file)))
	after := statesOf(t, file)
	if before == after {
		t.Fatalf("the second turn changed nothing: %s", after)
	}
	rewind := func(body programtest.Object, states string, has bool) programtest.Object {
		done := server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/rewind", body)
		if got := statesOf(t, file); got != states {
			t.Errorf("%v: the files are %s, want %s", body, got, states)
		}
		shown := slices.ContainsFunc(server.Transcript(session), func(entry programtest.Object) bool { return entry["turnId"] == second })
		if shown != has {
			t.Errorf("%v: the transcript shows the second turn: %v", body, shown)
		}
		return done
	}
	if planned := rewind(programtest.Object{"turnId": second, "dryRun": true}, after, true); programtest.Text(planned, "files") != "3" {
		t.Errorf("planned: %v", planned)
	}
	done := rewind(programtest.Object{"turnId": second}, before, false)
	if how := programtest.Text(done, "conversation"); (how == "rolledBack") != (c.name == codex.Name) || how == "kept" {
		t.Errorf("the conversation is %s", how)
	}
	rewind(programtest.Object{"undo": programtest.Text(done, "rewindId")}, after, true)
	rewind(programtest.Object{"turnId": second}, before, false)
	reply := "taken back by " + c.name
	turn("MOCK_REPLY[" + reply + "]")
	found := false
	for _, request := range server.Model.Requests() {
		if text := string(request.Body); strings.Contains(text, reply+"]") {
			found = true
			if !strings.Contains(text, "printf one") || strings.Contains(text, file+".new") {
				t.Errorf("after the rewind the model gets %s", text)
			}
		}
	}
	if !found {
		t.Error("the model got no message after the rewind")
	}
}

// nextOf waits for a session's next approval, after a number of earlier ones, or for the end of a turn.
func nextOf(events *programtest.Follower, session, turn string, before int) programtest.Frame {
	return events.Find("an approval, or the end of "+turn, func(f programtest.Frame) bool {
		if f.ThreadID == nil || *f.ThreadID != session {
			return false
		}
		if f.Type == "approval" {
			before--
		}
		return before < 0 || programtest.Text(f.Decoded(), "method") == "turn/completed" && programtest.Text(f.Decoded(), "params", "turn", "id") == turn
	})
}

// statesOf lists the files with a prefix: modes, links and contents.
func statesOf(t *testing.T, prefix string) string {
	t.Helper()
	found, err := filepath.Glob(prefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range found {
		info, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(name)
		to, _ := os.Readlink(name)
		all = append(all, fmt.Sprintf("%s %v %q %s", filepath.Base(name), info.Mode(), text, to))
	}
	return strings.Join(all, ", ")
}
