package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"harness/internal/dbtest"
	"harness/journal"
)

// row finds a session in the list.
func (i *instance) row(session string) object {
	i.t.Helper()
	for _, one := range i.want(http.StatusOK, http.MethodGet, "/api/sessions", nil)["data"].([]any) {
		if text(one, "sessionId") == session {
			return one.(object)
		}
	}
	i.t.Fatalf("session %s is not listed", session)
	return nil
}

// pages reads a session's transcript back in windows.
func (i *instance) pages(session string, limit int) (entries []any) {
	i.t.Helper()
	for query := fmt.Sprintf("?limit=%d", limit); ; {
		answer := i.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+query, nil)
		entries = append(slices.Clone(answer["transcript"].([]any)), entries...)
		before := text(answer, "window", "before")
		if before == "" {
			return entries
		}
		query = fmt.Sprintf("?limit=%d&before=%s", limit, before)
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A turn that fails says why and what to do: in the transcript as a whole and in windows, live, in lists, once in the
// log, and after a restart. One that was interrupted on purpose has not failed.
func TestAFailedTurnIsVisible(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(nil)
		path := "/api/sessions/" + session
		events := server.follow("threadId=" + session)
		check := func(turn, words string) string {
			t.Helper()
			told := events.wait("the failure", func(f frame) bool {
				return f.Type == "transcript_updated" && text(f.payload(), "entry", "messageId") == "turn-error-"+turn
			})
			failed := told.payload()["entry"].(object)
			content := text(failed, "content")
			if failed["role"] != "system" || failed["type"] != "turn.error" || failed["status"] != "error" ||
				failed["turnId"] != turn ||
				!strings.Contains(content, words) || !strings.Contains(content, "end the message again") {
				t.Errorf("told %v, want the words %q and what to do", failed, words)
			}
			events.waitTurn(turn)
			for _, query := range []string{"", "?limit=1"} {
				answer := server.want(http.StatusOK, http.MethodGet, path+query, nil)
				entries := answer["transcript"].([]any)
				if last := entries[len(entries)-1]; encoded(t, last) != encoded(t, failed) {
					t.Errorf("%q reads %v, told was %v", query, last, failed)
				}
				for _, one := range []object{answer["session"].(object), server.row(session)} {
					if one["state"] != "error" || one["activeTurnId"] != nil || text(one, "lastError", "turnId") != turn ||
						text(one, "lastError", "message") != content {
						t.Errorf("the session is %v", one)
					}
				}
			}
			return encoded(t, failed)
		}
		first := server.send(session, "MOCK_HTTP_400")
		failures := []string{check(first, "mock model was told to fail")}

		held := server.send(session, "MOCK_HOLD[failing]")
		events.waitType("app_server.item.agent_message.delta")
		if one := server.row(session); one["state"] != "running" || one["activeTurnId"] != held || one["lastError"] != nil ||
			one["pendingCount"] != 0.0 {
			t.Errorf("in a turn the session is %v", one)
		}
		if err := syscall.Kill(server.runtimePID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		failures = append(failures, check(held, "signal SIGKILL"))
		server.waitRuntime()

		stopped := server.send(session, "MOCK_HOLD[stopping]")
		events.waitType("app_server.item.agent_message.delta")
		server.want(http.StatusOK, http.MethodPost, path+"/interrupt", nil)
		events.waitTurn(stopped)
		if one := server.row(session); one["state"] != "idle" || one["lastError"] != nil {
			t.Errorf("after an interrupt the session is %v", one)
		}
		logged := func() int {
			server.mu.Lock()
			defer server.mu.Unlock()
			return strings.Count(server.log.String(), "a turn failed")
		}
		server.eventually("the log tells of the failures", func() bool { return logged() >= len(failures) })
		if n := logged(); n != len(failures) {
			t.Errorf("%d lines of the log tell of %d failures", n, len(failures))
		}

		server.stop()
		server = s.start()
		var found []string
		for _, one := range server.pages(session, 2) {
			if text(one, "type") == "turn.error" {
				found = append(found, encoded(t, one))
			}
		}
		if !slices.Equal(found, failures) {
			t.Errorf("after a restart the failures are\n%v, want\n%v", found, failures)
		}
	})
}

// A list, a window and the whole agree on what waits for a person.
func TestReadsAgreeOnWhatWaits(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(object{"approvalPolicy": "untrusted"})
		events := server.follow("threadId=" + session)
		turn := server.send(session, "MOCK_CMD[touch "+filepath.Join(s.workspace, "asked")+"]")
		events.waitType("approval")
		for _, query := range []string{"", "?limit=1"} {
			answer := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+query, nil)
			for _, one := range []object{answer["session"].(object), server.row(session)} {
				if one["state"] != "waiting" || one["activeTurnId"] != turn || one["pendingCount"] != 1.0 ||
					one["lastError"] != nil {
					t.Errorf("%q: the session is %v", query, one)
				}
			}
		}
		pending := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
		server.decide(text(pending[0], "approvalId"))
		events.waitTurn(turn)
		if one := server.row(session); one["state"] != "idle" || one["activeTurnId"] != nil || one["pendingCount"] != 0.0 {
			t.Errorf("afterwards the session is %v", one)
		}
		server.stop()
	})
}

// Reading a session, also one whose history is taken in from elsewhere, tells nobody anything and journals nothing.
func TestReadingChangesNothing(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(object{"approvalPolicy": "never"})
		events := server.follow("threadId=" + session)
		for _, message := range []string{"MOCK_REPLY[one]", "MOCK_CMD[echo two]", "MOCK_HTTP_400"} {
			events.waitTurn(server.send(session, message))
		}
		here := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
		server.stop()

		// Another server, which knows nothing of what this one stored.
		other := *s
		other.dataDir = filepath.Join(t.TempDir(), "other")
		if s.databaseURL != "" {
			other.databaseURL = dbtest.URL(t, dbtest.Engines()[1])
		}
		other.env = append(slices.Clone(s.env), "DATA_DIR="+other.dataDir, "DATABASE_URL="+other.databaseURL)
		t.Cleanup(other.endRuntimes)
		server = other.start()
		server.waitRuntime()
		elsewhere := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
		want, got := contents(here), contents(elsewhere)
		if strings.HasPrefix(text(elsewhere, "thread", "cliVersion"), "0.101.") {
			want, got = messages(want), messages(got) // all its history has
		}
		if !slices.Equal(want, got) {
			t.Errorf("the history taken in reads\n%q, want\n%q", got, want)
		}
		events = server.follow("")
		before := other.journaled()
		for range 3 {
			for _, query := range []string{"", "?limit=2"} {
				server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+query, nil)
			}
			server.row(session)
		}
		if back := server.pages(session, 2); encoded(t, back) != encoded(t, elsewhere["transcript"]) {
			t.Errorf("windows show %v, the whole %v", back, elsewhere["transcript"])
		}
		after := other.journaled()
		if len(after) != len(before) {
			t.Errorf("reading journaled %q", after[len(before):])
		}
		server.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "fence"})
		events.wait("the fence", func(f frame) bool { return strings.Contains(f.raw, "fence") })
		for _, seen := range append(after, events.types()) {
			if strings.Contains(strings.ToLower(seen), "deprecation") {
				t.Errorf("reading was told of: %s", seen)
			}
		}
		server.stop()
	})
}

// contents are the words of a read's entries.
func contents(answer object) (words []string) {
	for _, one := range answer["transcript"].([]any) {
		words = append(words, text(one, "type")+": "+text(one, "content"))
	}
	return words
}

// messages are the words of people and of the model among contents.
func messages(contents []string) []string {
	return slices.DeleteFunc(contents, func(one string) bool {
		return !strings.HasPrefix(one, "userMessage") && !strings.HasPrefix(one, "agentMessage")
	})
}

// journaled are the payloads of all events.
func (s *site) journaled() (payloads []string) {
	s.t.Helper()
	log := journal.New(dbtest.Connect(s.t, s.store()), journal.Options{})
	for after := int64(0); ; {
		records, err := log.Read(s.t.Context(), journal.Query{After: after})
		if err != nil {
			s.t.Fatal(err)
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
