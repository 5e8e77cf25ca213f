package transcripts

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// row finds a session in the list.
func row(i *programtest.Server, session string) programtest.Object {
	i.T.Helper()
	for _, one := range i.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)["data"].([]any) {
		if programtest.Text(one, "sessionId") == session {
			return one.(programtest.Object)
		}
	}
	i.T.Fatalf("session %s is not listed", session)
	return nil
}

// pages reads a session's transcript backward in windows.
func pages(i *programtest.Server, session string, limit int) (entries []any) {
	i.T.Helper()
	for query := fmt.Sprintf("?limit=%d", limit); ; {
		answer := i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+query, nil)
		entries = append(slices.Clone(answer["transcript"].([]any)), entries...)
		before := programtest.Text(answer, "window", "before")
		if before == "" {
			return entries
		}
		query = fmt.Sprintf("?limit=%d&before=%s", limit, before)
	}
}

// A failed turn reports the reason and the remedy: in the whole transcript and in windows, live, in lists, once in
// the log, and after a restart. A deliberately interrupted turn has not failed.
func TestAFailedTurnIsVisible(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		path := "/api/sessions/" + session
		events := server.Follow("threadId=" + session)
		check := func(turn, words string) string {
			t.Helper()
			shown := events.Wait("the failure", func(f programtest.Frame) bool {
				return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "entry", "messageId") == "turn-error-"+turn
			})
			failed := shown.Decoded()["entry"].(programtest.Object)
			content := programtest.Text(failed, "content")
			if failed["role"] != "system" || failed["type"] != "turn.error" || failed["status"] != "error" ||
				failed["turnId"] != turn ||
				!strings.Contains(content, words) || !strings.Contains(content, "end the message again") {
				t.Errorf("shown %v, want the words %q and what to do", failed, words)
			}
			events.WaitTurn(turn)
			for _, query := range []string{"", "?limit=1"} {
				answer := server.Want(http.StatusOK, http.MethodGet, path+query, nil)
				entries := answer["transcript"].([]any)
				if last := entries[len(entries)-1]; programtest.Encoded(t, last) != programtest.Encoded(t, failed) {
					t.Errorf("%q reads %v, published was %v", query, last, failed)
				}
				for _, one := range []programtest.Object{answer["session"].(programtest.Object), row(server, session)} {
					if one["state"] != "error" || one["activeTurnId"] != nil || programtest.Text(one, "lastError", "turnId") != turn ||
						programtest.Text(one, "lastError", "message") != content {
						t.Errorf("the session is %v", one)
					}
				}
			}
			return programtest.Encoded(t, failed)
		}
		first := server.Send(session, "MOCK_HTTP_400")
		failures := []string{check(first, "mock model fails as asked")}

		held := server.Send(session, "MOCK_HOLD[failing]")
		events.WaitType("app_server.item.agent_message.delta")
		if one := row(server, session); one["state"] != "running" || one["activeTurnId"] != held || one["lastError"] != nil ||
			one["pendingCount"] != 0.0 {
			t.Errorf("in a turn the session is %v", one)
		}
		server.KillRuntime()
		failures = append(failures, check(held, "signal SIGKILL"))
		server.WaitRuntime()

		stopped := server.Send(session, "MOCK_HOLD[stopping]")
		events.WaitType("app_server.item.agent_message.delta")
		server.Want(http.StatusOK, http.MethodPost, path+"/interrupt", nil)
		events.WaitTurn(stopped)
		if one := row(server, session); one["state"] != "idle" || one["lastError"] != nil {
			t.Errorf("after an interrupt the session is %v", one)
		}
		logged := func() int {
			return strings.Count(server.Log(), "a turn failed")
		}
		server.Eventually("the log has the failures", func() bool { return logged() >= len(failures) })
		if n := logged(); n != len(failures) {
			t.Errorf("%d lines of the log report %d failures", n, len(failures))
		}

		server.Stop()
		server = s.Start()
		var found []string
		for _, one := range pages(server, session, 2) {
			if programtest.Text(one, "type") == "turn.error" {
				found = append(found, programtest.Encoded(t, one))
			}
		}
		if !slices.Equal(found, failures) {
			t.Errorf("after a restart the failures are\n%v, want\n%v", found, failures)
		}
	})
}

// A list, a window and the whole agree on the requests that wait for a person.
func TestReadsAgreeOnWhatWaits(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_CMD[touch "+filepath.Join(s.Workspace, "asked")+"]")
		events.WaitType("approval")
		for _, query := range []string{"", "?limit=1"} {
			answer := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+query, nil)
			for _, one := range []programtest.Object{answer["session"].(programtest.Object), row(server, session)} {
				if one["state"] != "waiting" || one["activeTurnId"] != turn || one["pendingCount"] != 1.0 ||
					one["lastError"] != nil {
					t.Errorf("%q: the session is %v", query, one)
				}
			}
		}
		pending := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
		server.Decide(programtest.Text(pending[0], "approvalId"))
		events.WaitTurn(turn)
		if one := row(server, session); one["state"] != "idle" || one["activeTurnId"] != nil || one["pendingCount"] != 0.0 {
			t.Errorf("afterwards the session is %v", one)
		}
		server.Stop()
	})
}

// Reading a session, even with an imported history, publishes and journals nothing.
func TestReadingChangesNothing(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(programtest.Object{"approvalPolicy": "never"})
		events := server.Follow("threadId=" + session)
		for _, message := range []string{"MOCK_REPLY[one]", "MOCK_CMD[echo two]", "MOCK_HTTP_400"} {
			events.WaitTurn(server.Send(session, message))
		}
		here := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
		server.Stop()

		// Another server, which has none of this server's data.
		other := *s
		other.DataDir = filepath.Join(t.TempDir(), "other")
		if s.DatabaseURL != "" {
			other.DatabaseURL = dbtest.URL(t, dbtest.Engines()[1])
		}
		other.Env = append(slices.Clone(s.Env), "DATA_DIR="+other.DataDir, "DATABASE_URL="+other.DatabaseURL)
		t.Cleanup(other.EndRuntimes)
		server = other.Start()
		server.WaitRuntime()
		elsewhere := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
		want, got := contents(here), contents(elsewhere)
		if strings.HasPrefix(programtest.Text(elsewhere, "thread", "cliVersion"), "0.101.") {
			want, got = messages(want), messages(got) // all that its history has
		}
		if !slices.Equal(want, got) {
			t.Errorf("the imported history reads\n%q, want\n%q", got, want)
		}
		events = server.Follow("")
		before := journaled(&other)
		for range 3 {
			for _, query := range []string{"", "?limit=2"} {
				server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+query, nil)
			}
			row(server, session)
		}
		if back := pages(server, session, 2); programtest.Encoded(t, back) != programtest.Encoded(t, elsewhere["transcript"]) {
			t.Errorf("windows show %v, the whole %v", back, elsewhere["transcript"])
		}
		after := journaled(&other)
		if len(after) != len(before) {
			t.Errorf("reading journaled %q", after[len(before):])
		}
		server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "fence"})
		events.Wait("the fence", func(f programtest.Frame) bool { return strings.Contains(f.Raw, "fence") })
		for _, seen := range append(after, events.Types()) {
			if strings.Contains(strings.ToLower(seen), "deprecation") {
				t.Errorf("a reader got: %s", seen)
			}
		}
		server.Stop()
	})
}

// contents returns the contents of a read's entries.
func contents(answer programtest.Object) (words []string) {
	for _, one := range answer["transcript"].([]any) {
		words = append(words, programtest.Text(one, "type")+": "+programtest.Text(one, "content"))
	}
	return words
}

// messages returns the messages of people and of the model among contents.
func messages(contents []string) []string {
	return slices.DeleteFunc(contents, func(one string) bool {
		return !strings.HasPrefix(one, "userMessage") && !strings.HasPrefix(one, "agentMessage")
	})
}

// journaled returns the payloads of all events.
func journaled(s *programtest.Site) (payloads []string) {
	s.T.Helper()
	log := journal.New(dbtest.Connect(s.T, s.Store()), journal.Options{})
	for after := int64(0); ; {
		records, err := log.Read(s.T.Context(), journal.Query{After: after})
		if err != nil {
			s.T.Fatal(err)
		}
		if len(records) == 0 {
			return payloads
		}
		for _, r := range records {
			after = r.Pos
			payloads = append(payloads, string(r.Payload))
		}
	}
}
