package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// checkAnswers: typed text and answers reach the agent as intended, and pages and lists are accurate.
func checkAnswers(t *testing.T, server *programtest.Server, socket *rpcSocket, space string) {
	session := programtest.Text(socket.call("session/start", programtest.Object{"workspace_id": space, "mode": "new"}), "session_id")
	socket.call("workspace/session/watch", programtest.Object{"workspace_id": space, "session_id": session, "agent_type": "scripted"})
	says := func(words string) {
		t.Helper()
		socket.waitFor("event/claude_message", func(p programtest.Object) bool { return strings.Contains(fmt.Sprint(p["content"]), words) })
		socket.waitFor("event/claude_status", func(p programtest.Object) bool { return programtest.Text(p, "state") == "idle" })
	}
	if typed := socket.call("session/input", programtest.Object{"session_id": session, "input": "REPLY[typed words]"}); programtest.Text(typed,
		"status") != "sent" || programtest.Text(typed, "agent_type") != "scripted" {
		t.Errorf("%v", typed)
	}
	says("typed words")
	for _, one := range []struct {
		method string
		params programtest.Object
		runs   bool
	}{
		{"session/respond", programtest.Object{"type": "permission", "response": "no"}, false},
		{"session/respond", programtest.Object{"type": "permission", "response": "yes"}, true},
		{"session/input", programtest.Object{"key": "n"}, false},
		{"session/input", programtest.Object{"key": "y"}, true},
	} {
		file := filepath.Join(server.Workspace, "answered-"+strings.ReplaceAll(one.method, "/", "-")+fmt.Sprint(one.runs))
		socket.call("session/send", programtest.Object{"session_id": session, "prompt": "RUN[touch " + file + "]", "permission_mode": "interactive"})
		socket.waitFor("event/pty_permission", nil)
		one.params["session_id"] = session
		socket.call(one.method, one.params)
		socket.waitFor("event/claude_status", func(p programtest.Object) bool { return programtest.Text(p, "state") == "idle" })
		if _, err := os.Stat(file); (err == nil) != one.runs {
			t.Errorf("after %s %v it ran: %t", one.method, one.params, err == nil)
		}
	}
	checkPages(t, socket, space, session)
	checkLists(t, server, socket, space, session)
}

// checkPages: every page of messages is the part of the whole that it names.
func checkPages(t *testing.T, socket *rpcSocket, space, session string) {
	t.Helper()
	read := func(offset, limit int) (uuids []string, page programtest.Object) {
		page = socket.call("workspace/session/messages", programtest.Object{"workspace_id": space, "session_id": session, "offset": offset,
			"limit": limit})
		for i, one := range page["messages"].([]any) {
			uuids = append(uuids, programtest.Text(one, "uuid"))
			if programtest.Text(one, "id") != fmt.Sprint(offset+i+1) {
				t.Errorf("message %d of the page at %d is %v", i, offset, one)
			}
		}
		return uuids, page
	}
	all, _ := read(0, 100)
	for offset := 0; offset <= len(all); offset += 2 {
		part, page := read(offset, 2)
		end := min(offset+2, len(all))
		if !slices.Equal(part, all[offset:end]) || programtest.Text(page, "offset") != fmt.Sprint(offset) ||
			programtest.Text(page, "limit") != "2" || programtest.Text(page, "total") != fmt.Sprint(len(all)) ||
			programtest.Text(page, "has_more") != fmt.Sprint(end < len(all)) {
			t.Errorf("at %d: %v of %v", offset, page, all)
		}
	}
	if len(all) < 6 {
		t.Errorf("only %d messages", len(all))
	}
}

// checkLists: sessions are sorted newest first, with the total number. A client that does not support runtimes gets
// no sessions of runtimes added after its version.
func checkLists(t *testing.T, server *programtest.Server, socket *rpcSocket, space, older string) {
	t.Helper()
	newer := programtest.Text(socket.call("session/start", programtest.Object{"workspace_id": space, "mode": "new"}), "session_id")
	ids := func(page programtest.Object) (list []string) {
		for _, one := range page["sessions"].([]any) {
			list = append(list, programtest.Text(one, "session_id"))
		}
		return list
	}
	history := socket.call("workspace/session/history", programtest.Object{"workspace_id": space, "agent_type": "scripted"})
	listed := ids(history)
	if first, second := slices.Index(listed, newer), slices.Index(listed, older); first != 0 || second < 1 ||
		programtest.Text(history, "total") != fmt.Sprint(len(listed)) {
		t.Errorf("the newest session stands at %d, the older at %d of %v", first, second, history)
	}
	one := socket.call("workspace/session/history", programtest.Object{"workspace_id": space, "agent_type": "scripted", "limit": 1})
	if got := ids(one); !slices.Equal(got, listed[:1]) || programtest.Text(one, "total") != fmt.Sprint(len(listed)) {
		t.Errorf("one of them is %v of %v", one, listed)
	}
	old := dialRPC(server, t, "/ws", nil)
	old.call("initialize", programtest.Object{})
	if shown := ids(old.call("session/list", programtest.Object{})); slices.Contains(shown, newer) {
		t.Errorf("a client of before is shown %v", shown)
	}
	if shown := ids(socket.call("session/list", programtest.Object{})); !slices.Contains(shown, newer) {
		t.Errorf("a client that knows of runtimes is shown %v", shown)
	}
}
