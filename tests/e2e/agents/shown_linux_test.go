package agents

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// readsImage returns the prompt that makes a model read an image, for runtimes with a tool for that.
func readsImage(runtime, file string) string {
	switch runtime {
	case "claude", "claude-acp":
		return `MOCK_CALL[Read|{"file_path":"` + file + `"}]END`
	case "opencode":
		return `MOCK_CALL[read|{"filePath":"` + file + `"}]END`
	}
	return ""
}

// The transcript of any runtime shows what happened. Readers of the session can read the pictures of people and
// tools, also on the next server. A stop shows its author and time. A declined change is marked as declined.
func TestWhatIsShownIsWhatHappened(t *testing.T) {
	t.Parallel()
	s := withEveryRuntime(t)
	server := s.Start()
	server.WaitRuntime()
	events := server.Follow("after=0")
	file := filepath.Join(s.Workspace, "seen.png")
	picture, _ := pictureURL(t)
	_, data, _ := strings.Cut(picture, ",")
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	all := append(everyRuntime(), driven{name: "codex", levels: programtest.Object{"approvalPolicy": "untrusted",
		"filesystemSandbox": "read-only", "networkAccess": "restricted"}})
	shown := map[string][]string{}
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			body := programtest.Object{"runtime": one.name}
			for name, level := range one.levels {
				body[name] = level
			}
			session := server.CreateSession(body)
			other := server.CreateSession(body)
			shown[session] = showsPictures(t, server, events, one.name, session, picture, file)
			for _, path := range shown[session] {
				requirePicture(t, server, path, content)
				server.Want(http.StatusNotFound, http.MethodGet, strings.Replace(path, session, other, 1), nil)
			}
			showsStop(t, server, events, one.name, session)
			showsDecline(t, server, events, one.name, session)
		})
	}
	server.Kill()
	server = s.Start()
	for session, paths := range shown {
		for _, path := range paths {
			requirePicture(t, server, path, content)
		}
		if now := namedPictures(server, session); fmt.Sprint(now) != fmt.Sprint(paths) {
			t.Errorf("after a restart the pictures are %v, not %v", now, paths)
		}
	}
	server.Stop()
}

// showsPictures sends a picture, and makes a tool read one if the runtime has such a tool.
func showsPictures(t *testing.T, server *programtest.Server, events *programtest.Follower, name, session, picture, file string) []string {
	t.Helper()
	can := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if programtest.Text(can, "capabilities", "images") != "true" {
		server.Want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/messages",
			programtest.Object{"text": "look", "images": []string{picture}})
		return nil
	}
	answer := server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages",
		programtest.Object{"text": "MOCK_REPLY[seen] look", "images": []string{picture}})
	events.FindTurn(programtest.Text(answer, "turnId"))
	want := 1
	if read := readsImage(name, file); read != "" {
		want = 2
		events.FindTurn(server.Send(session, read)) // a read in its folder needs no approval
	}
	found := namedPictures(server, session)
	if len(found) != want {
		t.Errorf("the transcript names %d pictures, not %d: %v", len(found), want, server.Transcript(session))
	}
	for _, entry := range server.Transcript(session) {
		if text := programtest.Text(entry, "content"); strings.Contains(text, "data:image/") || strings.HasSuffix(text, "[image]") {
			t.Errorf("an entry says %q of a picture", text)
		}
	}
	return found
}

// namedPictures returns the addresses of pictures in a transcript, in the whole and in a window.
func namedPictures(server *programtest.Server, session string) (found []string) {
	named := regexp.MustCompile(`(?m)^\[image\] (/api/sessions/` + session + `/images/[0-9a-f-]{36})$`)
	for _, entry := range server.Transcript(session) {
		for _, one := range named.FindAllStringSubmatch(programtest.Text(entry, "content"), -1) {
			found = append(found, one[1])
		}
	}
	var window []string
	answer := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"?limit=200", nil)
	for _, entry := range answer["transcript"].([]any) {
		for _, one := range named.FindAllStringSubmatch(programtest.Text(entry, "content"), -1) {
			window = append(window, one[1])
		}
	}
	if fmt.Sprint(found) != fmt.Sprint(window) {
		server.T.Errorf("the whole transcript names %v, a window of it %v", found, window)
	}
	return found
}

func requirePicture(t *testing.T, server *programtest.Server, path string, want []byte) {
	t.Helper()
	if status, body := server.Ask(http.MethodGet, path, nil); status != http.StatusOK || body != string(want) {
		t.Errorf("%s answers %d with %d bytes of %d", path, status, len(body), len(want))
	}
}

// showsStop stops a turn.
func showsStop(t *testing.T, server *programtest.Server, events *programtest.Follower, name, session string) {
	t.Helper()
	held := "stop-" + name
	turn := server.Send(session, "MOCK_HOLD["+held+"]")
	if err := server.Model.WaitHeld(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
	events.FindTurn(turn)
	stops := server.Entries(session, "turn.stopped")
	if len(stops) != 1 || programtest.Text(stops[0], "turnId") != turn || programtest.Text(stops[0], "content") != "Stopped by local" ||
		programtest.Text(stops[0], "completedAt") == "" {
		t.Errorf("the transcript says %v of the stop", stops)
	}
}

// showsDecline declines a change of a file.
func showsDecline(t *testing.T, server *programtest.Server, events *programtest.Follower, name, session string) {
	t.Helper()
	made := filepath.Join(server.Workspace, "declined-"+name)
	turn := server.Send(session, "MOCK_PATCH["+made+"]")
	var approval programtest.Object
	server.Eventually("it asks", func() bool {
		for _, one := range server.Approvals(session) {
			approval, _ = one.(map[string]any)
		}
		return approval != nil
	})
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(approval, "approvalId")+"/decision",
		programtest.Object{"decision": "decline"})
	events.FindTurn(turn)
	shown := 0
	for _, entry := range server.Entries(session, "fileChange") {
		if programtest.Text(entry, "turnId") != turn {
			continue
		}
		shown++
		if details := programtest.Text(entry, "details"); !strings.Contains(details, `"status": "declined"`) {
			t.Errorf("a change that was declined is shown as %s", details)
		}
	}
	if shown != 1 {
		t.Errorf("a change that was declined is shown %d times: %v", shown, server.Transcript(session))
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("what was declined was done")
	}
}
