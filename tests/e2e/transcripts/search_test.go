package transcripts

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// A server is killed right after it acknowledged entries, mostly before they are in the index. The next server finds
// each of them in its first search. It does not find deleted entries, and no query causes an error.
func TestSearchFindsWhatWasAcknowledgedBeforeAKill(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		const each, kills = 25, 2
		find := func(text string) []string {
			t.Helper()
			answer := server.Want(http.StatusOK, http.MethodGet, "/api/search?limit=100&q="+url.QueryEscape(text), nil)
			if answer["behind"] != false {
				t.Errorf("%q: behind", text)
			}
			var entries []string
			for _, hit := range answer["data"].([]any) {
				hit := hit.(map[string]any)
				if hit["sessionId"] != session {
					t.Errorf("found in %v", hit["sessionId"])
				}
				entries = append(entries, fmt.Sprint(hit["entryId"]))
			}
			return entries
		}
		for kill := range kills {
			for n := range each {
				server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", programtest.Object{
					"messageId": fmt.Sprintf("m%d-%d", kill, n), "turnId": "t", "role": "user", "type": "userMessage", "status": "complete",
					"content": fmt.Sprintf("the walrus number%dx%d said <b>so</b>", kill, n)})
			}
			server.Kill()
			server = s.Start()
			if found := find("WALRUS"); len(found) != (kill+1)*each {
				t.Fatalf("found %d of %d entries: %v", len(found), (kill+1)*each, found)
			}
			if found := find(fmt.Sprintf("walrus number%dx7", kill)); len(found) != 1 || found[0] != fmt.Sprintf("m%d-7", kill) {
				t.Errorf("found %v", found)
			}
		}
		for _, text := range []string{`"`, "'", "*", "NEAR(", `\`, "", " ", "%00", "\U0001f600", strings.Repeat("x", 501),
			strings.Repeat("a ", 200) + "b", `walrus" OR "x`, "walrus' | !x:*", "\xff walrus", "-walrus", "words:walrus", "日本"} {
			status, _ := server.Call(http.MethodGet, "/api/search?q="+url.QueryEscape(text), nil)
			if status != http.StatusOK && status != http.StatusBadRequest {
				t.Errorf("%q: status %d", text, status)
			}
		}
		server.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+session, nil)
		if found := find("walrus"); len(found) != 0 {
			t.Errorf("found of a deleted session: %v", found)
		}
	})
}
