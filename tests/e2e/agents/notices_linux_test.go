package agents

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// notices are what can go wrong with an agent, and what its session must say about it.
func notices() []notice {
	return []notice{
		{what: "missing login", prompt: "MOCK_HTTP_401[no such key]", remedy: "Log in to the model provider or check its API key"},
		{what: "unknown model", prompt: "MOCK_HTTP_404[no such model]", remedy: "no such model"},
		// Gemini CLI reports none of its retries, for 17 s.
		{what: "rate limit", prompt: "MOCK_HTTP_429[Rate limit reached for requests]", remedy: "limit is reached", except: "gemini"},
		{what: "ended process", kill: true, remedy: "while this turn was running.\n\nSend the message again."},
	}
}

type notice struct {
	what, prompt, remedy string
	except               string // a runtime that cannot say it
	kill                 bool   // the agent's process
}

// saysWhatIsWrong sends a message for each notice. The session must say the reason and the remedy, as its last error and as
// an entry, soon after the agent or its process ended the turn, or reported its first retry.
func saysWhatIsWrong(t *testing.T, server *programtest.Server, runtime string) {
	for _, one := range notices() {
		if one.except == runtime {
			continue
		}
		session := server.CreateSession(programtest.Object{"runtime": runtime, "filesystemSandbox": "danger-full-access",
			"networkAccess": "enabled"})
		frames := server.Follow("threadId=" + session)
		began := time.Now()
		if one.kill {
			name := "dies-" + runtime
			server.Send(session, "MOCK_HOLD["+name+"]")
			server.Eventually("the model is asked", func() bool {
				for _, request := range server.Model.Requests() {
					if strings.Contains(request.UserText, name) {
						return true
					}
				}
				return false
			})
			pid := processOf(server, runtime, session)
			if pid == 0 {
				t.Fatalf("%s has no process", runtime)
			}
			if began = time.Now(); syscall.Kill(pid, syscall.SIGKILL) != nil {
				t.Fatalf("%s: its process %d cannot be killed", runtime, pid)
			}
		} else {
			server.Send(session, one.prompt)
		}
		frames.Find("the notice of "+one.what, func(f programtest.Frame) bool {
			method := programtest.Text(f.Decoded(), "method")
			return method == "turn/completed" || f.Type == "notification" && programtest.Text(f.Decoded(), "params", "willRetry") == "true"
		})
		noticed := time.Now()
		var last, entry string
		if !polling.Until(programtest.Patience, func() bool {
			shown := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
			last, entry = programtest.Text(shown, "session", "lastError", "message"), ""
			for _, kind := range []string{"turn.error", "turn.retrying"} {
				for _, e := range server.Entries(session, kind) {
					entry += programtest.Text(e, "content") + programtest.Text(e, "details")
				}
			}
			return last != "" && strings.Contains(entry, one.remedy)
		}) {
			t.Errorf("%s, %s: the last error is %q, the entries are %q", runtime, one.what, last, entry)
		}
		if took := time.Since(noticed); took > soon {
			t.Errorf("%s, %s: said %s after the notice", runtime, one.what, took)
		}
		t.Logf("%s, %s: noticed after %s, said %s later: %q | %q", runtime, one.what, noticed.Sub(began).Round(time.Millisecond),
			time.Since(noticed).Round(time.Millisecond), last, entry)
		server.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+session, nil)
	}
}
