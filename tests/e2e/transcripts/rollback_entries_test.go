package transcripts

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// saidIn returns the contents of a session's transcript, in order. They must be the same in both kinds of reads.
func saidIn(i *programtest.Server, session string) []string {
	i.T.Helper()
	read := func(path string) (texts []string) {
		for _, entry := range i.Want(http.StatusOK, http.MethodGet, path, nil)["transcript"].([]any) {
			texts = append(texts, programtest.Text(entry, "content"))
		}
		return texts
	}
	whole, window := read("/api/sessions/"+session), read("/api/sessions/"+session+"?limit=1000")
	if !slices.Equal(whole, window) {
		i.T.Errorf("the whole says %q, the window %q", whole, window)
	}
	return whole
}

// says sends a message whose answer is a distinct text, and waits for the end.
func says(i *programtest.Server, events *programtest.Follower, session, word string) (turn string) {
	i.T.Helper()
	turn = i.Send(session, "MOCK_REPLY["+word+"]")
	events.WaitTurn(turn)
	return turn
}

func dialogue(words ...string) (texts []string) {
	for _, word := range words {
		texts = append(texts, "MOCK_REPLY["+word+"]", word)
	}
	return texts
}

// Rolled-back turns leave the transcript permanently, with the entries that clients added to them. Later messages
// follow the remaining entries, also after restarts of everything and in forks. Clients get the ids of the removed
// turns. The journal keeps them.
func TestRolledBackTurnsLeaveTheTranscript(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		path := "/api/sessions/" + session
		events := server.Follow("after=latest&threadId=" + session)
		check := func(when string, want ...string) {
			t.Helper()
			if got := saidIn(server, session); !slices.Equal(got, dialogue(want...)) {
				t.Errorf("%s: %q, want %q", when, got, dialogue(want...))
			}
		}
		var turns []string
		for _, word := range []string{"one", "two", "three"} {
			turns = append(turns, says(server, events, session, word))
		}
		note := programtest.Object{"messageId": "note", "turnId": turns[2], "role": "system", "type": "note", "content": "a note",
			"status": "complete"}
		server.Want(http.StatusOK, http.MethodPost, path+"/transcript/upsert", note)
		failed := server.Send(session, "MOCK_HTTP_400")
		if status := events.WaitTurn(failed); status != "failed" {
			t.Fatalf("the turn ended %s", status)
		}

		server.Want(http.StatusOK, http.MethodPost, path+"/rollback", programtest.Object{"numTurns": 3})
		check("after the rollback", "one")
		rolledBack := events.WaitType("session_rolled_back").Decoded()
		if got := rolledBack["turnIds"].([]any); len(got) != 3 || got[0] != turns[1] || got[1] != turns[2] || got[2] != failed ||
			rolledBack["sessionId"] != session {
			t.Errorf("published %v, want %v and %s", rolledBack, turns[1:], failed)
		}
		late := programtest.Object{"messageId": "late", "turnId": turns[2], "role": "system", "type": "note", "content": "late",
			"status": "complete"}
		server.Want(http.StatusOK, http.MethodPost, path+"/transcript/upsert", late)
		check("after a late entry of a turn that went", "one")

		says(server, events, session, "four")
		check("after the next turn", "one", "four")
		says(server, events, session, "five")
		server.Want(http.StatusOK, http.MethodPost, path+"/rollback", nil)
		check("after the second rollback", "one", "four")

		fork := programtest.Text(server.Want(http.StatusOK, http.MethodPost, path+"/fork", programtest.Object{}), "session", "sessionId")
		if got := saidIn(server, fork); !slices.Equal(got, dialogue("one", "four")) {
			t.Errorf("the fork says %q", got)
		}
		server.Stop()
		s.EndRuntimes()
		server = s.Start()
		server.WaitRuntime()
		check("after a restart", "one", "four")
		if got := saidIn(server, fork); !slices.Equal(got, dialogue("one", "four")) {
			t.Errorf("after a restart the fork says %q", got)
		}
		events = server.Follow("after=latest&threadId=" + session)
		says(server, events, session, "six")
		check("after a restart and a turn", "one", "four", "six")

		server.Want(http.StatusOK, http.MethodPost, path+"/rollback", programtest.Object{"numTurns": 3})
		check("after everything was taken back")
		says(server, events, session, "seven")
		check("after a new beginning", "seven")
		server.Stop()

		kept := 0
		log := journal.New(dbtest.Connect(t, s.Store()), journal.Options{})
		for after := int64(0); ; {
			records, err := log.ReadSession(t.Context(), session, after, 500)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) == 0 {
				break
			}
			for _, record := range records {
				after = record.Seq
				if strings.Contains(string(record.Payload), "item/completed") &&
					strings.Contains(string(record.Payload), "MOCK_REPLY[two]") {
					kept++
				}
			}
		}
		if kept == 0 {
			t.Error("the journal has lost the turn that was taken back")
		}
	})
}
