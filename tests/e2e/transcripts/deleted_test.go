package transcripts

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/programtest"
)

// After a clean stop, no file of the server contains text of a deleted session, whatever its origin: written by a
// client or by the agent, in the search index, in the log, or in unused pages.
func TestNoWordOfADeletedSessionIsLeft(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEngine(database.SQLite), programtest.WithEnv("HARNESS_KEEP_NATIVE=ring"))
	server := s.Start()
	gone, kept := server.CreateSession(nil), server.CreateSession(nil)
	say := func(session, id, content string) {
		t.Helper()
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", programtest.Object{
			"messageId": id, "turnId": "t", "role": "user", "type": "userMessage", "status": "complete", "content": content})
	}
	for n := range 40 {
		say(gone, fmt.Sprint("g", n), fmt.Sprintf("the quetzalcoatl%d flew %s", n, strings.Repeat("away ", n*50)))
		say(kept, fmt.Sprint("k", n), fmt.Sprintf("the armadillo%d stayed", n))
	}
	events := server.Follow("threadId=" + gone)
	if status := events.WaitTurn(server.Send(gone, "MOCK_REPLY[the xoloitzcuintli barked]")); status != "completed" {
		t.Fatalf("the turn ended %s", status)
	}
	for _, word := range []string{"quetzalcoatl7", "xoloitzcuintli", "armadillo7"} { // so that they are in the index
		if hits := server.Want(http.StatusOK, http.MethodGet, "/api/search?q="+word, nil)["data"].([]any); len(hits) == 0 {
			t.Fatalf("%s is not found", word)
		}
	}
	server.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+gone, nil)
	for n := range 40 {
		say(kept, fmt.Sprint("later", n), fmt.Sprintf("and the pangolin%d came", n))
	}
	server.Stop()
	found := map[string]bool{}
	err := filepath.WalkDir(s.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, word := range []string{"quetzalcoatl", "xoloitzcuintli", "armadillo", "pangolin"} {
			if count := bytes.Count(bytes.ToLower(content), []byte(word)); count > 0 {
				found[word] = true
				if word == "quetzalcoatl" || word == "xoloitzcuintli" {
					t.Errorf("%s has %q %d times", path, word, count)
				}
			}
		}
		return err
	})
	if err != nil || !found["armadillo"] || !found["pangolin"] {
		t.Errorf("what was not deleted: %v (%v)", found, err)
	}
}
