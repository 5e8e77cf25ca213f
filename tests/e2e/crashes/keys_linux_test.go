package crashes

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime/process/shim"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// keyed is a message with a key, and a site whose server is killed during the message.
type keyed struct {
	*programtest.Site
	server        *programtest.Server
	stall         *dbtest.Stall
	session, path string
	// body is the message. Its session has an earlier turn.
	body programtest.Object
}

// newKeyed makes a site that stalls updates of a table, with an idle session. recorded selects the wrapper that
// records codex's calls, which must start instead of codex.
func newKeyed(t *testing.T, engine database.Engine, stalls string, recorded bool) *keyed {
	t.Helper()
	k := &keyed{Site: programtest.New(t, programtest.WithEngine(engine)),
		body: programtest.Object{"text": "MOCK_REPLY[once]"}}
	if recorded {
		k.RecordCalls()
	}
	k.Start().Stop() // it creates the tables
	k.stall = dbtest.NewStall(t, k.Store())
	k.stall.Updates(stalls)
	k.server = k.Start()
	k.session = k.server.CreateSession(nil)
	k.path = "/api/sessions/" + k.session + "/messages"
	k.server.Follow("threadId=" + k.session).WaitTurn(k.server.Send(k.session, "MOCK_REPLY[before]"))
	return k
}

// post sends the message with its key, and reports whether the response was a replay.
func (k *keyed) post() (status int, answer programtest.Object, replayed bool, err error) {
	body, err := json.Marshal(k.body)
	if err != nil {
		return 0, nil, false, err
	}
	ctx, cancel := context.WithTimeout(k.T.Context(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.server.URL+k.path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, false, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "key-1")
	response, err := k.server.Client().Do(request)
	if err != nil {
		return 0, nil, false, err
	}
	defer response.Body.Close()
	return response.StatusCode, answer, response.Header.Get("Idempotency-Replayed") == "true",
		json.NewDecoder(response.Body).Decode(&answer)
}

// killed sends the message, kills the server at a point before its response, and starts the next one.
func (k *keyed) killed(point string, reached func() bool) {
	k.T.Helper()
	ended := make(chan error, 1)
	go func() {
		for {
			if status, _, _, err := k.post(); err != nil || status != http.StatusServiceUnavailable {
				ended <- err
				return
			}
		}
	}()
	k.server.Eventually(point, reached)
	k.server.Kill()
	if err := <-ended; err == nil {
		k.T.Fatal("it was answered before the server was killed")
	}
	k.stall.End()
	k.server = k.Start()
}

// again repeats the message until the server knows the outcome.
func (k *keyed) again() (status int, answer programtest.Object, replayed bool) {
	k.T.Helper()
	k.server.Eventually("it is answered", func() bool {
		var err error
		if status, answer, replayed, err = k.post(); err != nil {
			k.T.Fatal(err)
		}
		return status != http.StatusServiceUnavailable
	})
	return status, answer, replayed
}

// once fails unless every repeat of the message returns the one turn that it started.
func (k *keyed) once(replayed bool) {
	k.T.Helper()
	var turn string
	for i := range 3 {
		status, answer, before := k.again()
		if status != http.StatusAccepted || before != (replayed || i > 0) || i > 0 && programtest.Text(answer, "turnId") != turn {
			k.T.Fatalf("the message is answered %d %v, as before: %v; its turn was %s", status, answer, before, turn)
		}
		turn = programtest.Text(answer, "turnId")
	}
	if status := k.server.Follow("after=0&threadId=" + k.session).WaitTurn(turn); status != "completed" {
		k.T.Errorf("its turn ended %s", status)
	}
	if n := k.stall.Count(`select count(*) from turns where session_id = '` + k.session + `'`); n != 2 {
		k.T.Errorf("there are %d turns, want the one before it and its own", n)
	}
	var turns []string
	for _, entry := range k.server.Entries(k.session, "userMessage") {
		if programtest.Text(entry, "content") == k.body["text"] {
			turns = append(turns, programtest.Text(entry, "turnId"))
		}
	}
	if len(turns) != 1 || turns[0] != turn {
		k.T.Errorf("it is in the turns %q, want %s", turns, turn)
	}
}

// calls returns how often codex was called with a method for the session.
func (k *keyed) calls(method string) (n int) {
	for _, line := range k.Calls(k.session) {
		if strings.Contains(line, `"`+method+`"`) {
			n++
		}
	}
	return n
}

// A server is killed after its turn was stored and before the response was stored. The same key returns the same
// turn.
func TestAKeyGivesTheTurnThatWasStored(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		k := newKeyed(t, engine, "idempotency_keys", false)
		k.killed("the turn is stored", func() bool { return k.stall.Count(`select count(*) from message_keys where made <> ''`) == 1 })
		k.once(true)
	})
}

// A server is killed after codex got the message and before the turn was stored. codex runs the turn, and the next
// server finds it.
func TestAKeyGivesTheTurnThatWasBegun(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		k := newKeyed(t, engine, "message_keys", true)
		k.killed("codex has begun the turn", func() bool { return k.Model.Asked("once") != "" })
		k.once(true)
		if n := k.calls("turn/start"); n != 2 {
			t.Errorf("codex was asked for %d turns, want the one before it and its own", n)
		}
	})
}

// A server is killed after it sent the message to the frozen codex. While codex does not respond, it is unknown
// whether the turn started. When resumed, codex starts it. When killed, codex never did, and the next server starts
// it.
func TestAKeyWhoseCodexSaysNothing(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"awake": syscall.SIGCONT, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
				k := newKeyed(t, engine, "message_keys", false)
				pid, f := k.server.SignalRuntime(syscall.SIGSTOP), shimOf(k.Site)
				k.killed("turn/start is on its way to codex", func() bool {
					state, err := shim.Status(t.Context(), f)
					return err == nil && len(state.Calls) == 1 && strings.Contains(state.Calls[0].Label, "turn/start")
				})
				k.server.Eventually("it is asked to retry", func() bool {
					status, answer, _, err := k.post()
					if err != nil || status != http.StatusServiceUnavailable {
						t.Fatalf("it is answered %d %v, %v", status, answer, err)
					}
					return strings.Contains(programtest.Text(answer, "message"), "not known yet")
				})
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
				k.once(signal == syscall.SIGCONT)
			})
		})
	}
}

// Whether a steering message was delivered is unknown, so it is not sent again.
func TestAKeyThatWasSteeredIsUnknown(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		k := newKeyed(t, engine, "message_keys", true)
		turn := k.server.Send(k.session, "MOCK_HOLD[on]")
		if err := k.Model.WaitHeld(t.Context(), "on"); err != nil {
			t.Fatal(err)
		}
		k.killed("codex got it", func() bool { return k.calls("turn/steer") == 1 })
		for range 2 {
			if status, answer, _ := k.again(); status != http.StatusConflict || programtest.Text(answer, "code") != "idempotency_outcome_unknown" {
				t.Errorf("it is answered %d %v", status, answer)
			}
		}
		k.Model.Release("on")
		if status := k.server.Follow("after=0&threadId=" + k.session).WaitTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
		if n := k.calls("turn/steer"); n != 1 {
			t.Errorf("codex got it %d times", n)
		}
	})
}

// A queued message is stored with its key and is queued once.
func TestAKeyOfAMessageThatWaits(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		k := newKeyed(t, engine, "idempotency_keys", false)
		turn := k.server.Send(k.session, "MOCK_HOLD[on]")
		k.path = "/api/sessions/" + k.session + "/queue"
		k.killed("it waits", func() bool { return k.stall.Count(`select count(*) from queued_messages`) == 1 })
		var id string
		for i := range 3 {
			status, answer, replayed := k.again()
			if status != http.StatusAccepted || !replayed || i > 0 && programtest.Text(answer, "id") != id {
				t.Errorf("it is answered %d %v, as before: %v", status, answer, replayed)
			}
			id = programtest.Text(answer, "id")
		}
		if n := k.stall.Count(`select count(*) from queued_messages where id = '` + id + `'`); n != 1 {
			t.Errorf("%d messages wait by its id", n)
		}
		k.Model.Release("on")
		events := k.server.Follow("after=0&threadId=" + k.session)
		events.WaitTurn(turn)
		k.server.Eventually("it is sent", func() bool { return k.stall.Count(`select count(*) from turns`) == 3 })
		if status, _, replayed := k.again(); status != http.StatusAccepted || !replayed {
			t.Errorf("once it was sent it is answered %d", status)
		}
	})
}

// A decision cannot be made twice. A repeat after a kill returns the decision, which has reached codex.
func TestAKeyOfADecision(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		k := newKeyed(t, engine, "idempotency_keys", false)
		session := k.server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
		events := k.server.Follow("threadId=" + session)
		turn := k.server.Send(session, "MOCK_CMD[echo granted]")
		approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
		k.path, k.body = "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"}
		k.killed("it is decided", func() bool {
			return k.stall.Count(`select count(*) from interactive_requests where status = 'resolved'`) == 1
		})
		for range 2 {
			status, answer, _ := k.again()
			if status != http.StatusNotFound || programtest.Text(answer, "code") != "already_resolved" ||
				programtest.Text(answer, "resolution", "decision") != "accept" {
				t.Errorf("it is answered %d %v", status, answer)
			}
		}
		if status := k.server.Follow("after=0&threadId=" + session).WaitTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
	})
}
