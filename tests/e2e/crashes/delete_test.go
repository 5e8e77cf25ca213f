package crashes

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// threadFiles returns codex's files of a conversation.
func threadFiles(s *programtest.Site, id string) (files []string) {
	s.T.Helper()
	for _, assignment := range s.Env {
		home, is := strings.CutPrefix(assignment, "CODEX_HOME=")
		if !is {
			continue
		}
		err := filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.Contains(entry.Name(), id) {
				files = append(files, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it was removed during the scan
			}
			return err
		})
		if err != nil {
			s.T.Fatal(err)
		}
	}
	return files
}

// A frozen codex does not block the deletion of chats: one with a running turn, and all of a project at once. The
// caller gets a response within 10 s, and the chats are deleted permanently. codex deletes them once it runs again,
// even after a restart of the server.
func TestAFrozenCodexKeepsNoChatFromBeingDeleted(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine))
			server := s.Start()
			project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
				"projectId")
			var chats []string
			for i := range 4 {
				chat := server.CreateSession(nil)
				events := server.Follow("threadId=" + chat)
				if status := events.WaitTurn(server.Send(chat, fmt.Sprintf("MOCK_REPLY[%d]", i))); status != "completed" {
					t.Fatalf("the turn ended %s", status)
				}
				if i > 0 {
					server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+chat+"/project", programtest.Object{"projectId": project})
				}
				chats = append(chats, chat)
			}
			for _, chat := range chats[:2] {
				server.Send(chat, "MOCK_HOLD["+chat+"]")
				if err := s.Model.WaitHeld(t.Context(), chat); err != nil {
					t.Fatal(err)
				}
			}
			for _, chat := range chats {
				if len(threadFiles(s, chat)) == 0 {
					t.Fatalf("codex has no file of chat %s", chat)
				}
			}
			pid := server.SignalRuntime(syscall.SIGSTOP)
			within := func(what string, do func()) {
				began := time.Now()
				do()
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%s took %s", what, took)
				}
			}
			within("deleting a chat with a running turn", func() {
				answer := server.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+chats[0], nil)
				if answer["status"] != "ok" || programtest.Text(answer, "sessionId") != chats[0] || answer["deletedFileCount"] != 0.0 {
					t.Errorf("answered %v", answer)
				}
			})
			within("deleting a project's chats", func() {
				answer := server.Want(http.StatusOK, http.MethodPost, "/api/projects/"+project+"/chats/delete-all", programtest.Object{})
				if answer["deletedSessionCount"] != 3.0 {
					t.Errorf("answered %v", answer)
				}
			})
			within("deleting an unknown chat", func() {
				if status, answer := server.Call(http.MethodDelete, "/api/sessions/019a0000-0000-7000-8000-000000000000",
					nil); status == http.StatusOK {
					t.Errorf("answered %v", answer)
				}
			})
			gone := func(server *programtest.Server) {
				t.Helper()
				for _, chat := range chats {
					server.Want(http.StatusGone, http.MethodGet, "/api/sessions/"+chat, nil)
				}
			}
			gone(server)

			server.Kill()
			server = s.Start()
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			server.Eventually("codex has no file of a deleted chat", func() bool {
				for _, chat := range chats {
					if len(threadFiles(s, chat)) > 0 {
						return false
					}
				}
				return true
			})
			gone(server)
			if answer := server.Want(http.StatusOK, http.MethodGet, "/api/sessions?includeSystemOwned=true", nil); len(
				answer["data"].([]any)) != 0 {
				t.Errorf("listed %v", answer["data"])
			}
			server.Stop()
		})
	}
}
