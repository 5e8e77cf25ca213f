package nodes

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// keyed is a session of a, and a message to it with a key, sent through b.
type keyed struct {
	*nodes
	stall           *dbtest.Stall
	session, before string // and the turn before the message
	events          *programtest.Follower
}

// newKeyed starts nodes with an idle session. stalls is a table whose updates stall, "" for none.
func newKeyed(t *testing.T, stalls string, option programtest.SiteOption) *keyed {
	t.Helper()
	k := &keyed{nodes: &nodes{siteA: programtest.New(t, option, programtest.WithEngine(database.Postgres))}}
	k.siteB = programtest.New(t, option, programtest.WithDatabaseOf(k.siteA))
	k.a, k.b = k.siteA.Start(), k.siteB.Start()
	k.a.WaitRuntime()
	k.b.WaitRuntime()
	k.stall = dbtest.NewStall(t, k.siteA.Store())
	k.session = k.a.CreateSession(programtest.Object{"cwd": t.TempDir()})
	k.events = k.b.Follow("threadId=" + k.session)
	k.before = k.a.Send(k.session, "MOCK_REPLY[before]")
	k.events.WaitTurn(k.before)
	if stalls != "" {
		k.stall.Updates(stalls)
	}
	return k
}

// post sends the message with its key to b, and returns whether the response is a replay, or when to retry.
func (k *keyed) post(t *testing.T) (status int, answer programtest.Object, header http.Header, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.b.URL+"/api/sessions/"+k.session+"/messages",
		strings.NewReader(`{"text":"MOCK_REPLY[once]"}`))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "key-1")
	response, err := k.b.Client().Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	return response.StatusCode, answer, response.Header, json.NewDecoder(response.Body).Decode(&answer)
}

// lostAt sends the message and ends a with end at a point before its response.
func (k *keyed) lostAt(t *testing.T, point string, reached func() bool, end func()) {
	t.Helper()
	ended, lost := make(chan int, 1), make(chan struct{})
	go func() {
		for {
			status, _, _, err := k.post(t)
			if err != nil {
				status = -1
			}
			select {
			case <-lost:
			default:
				if status == http.StatusServiceUnavailable {
					continue // on a busy machine, the node may not be sure of its lease
				}
			}
			ended <- status
			return
		}
	}()
	k.a.Eventually(point, reached)
	close(lost)
	end()
	if status := <-ended; status != http.StatusGatewayTimeout && status != http.StatusServiceUnavailable {
		t.Errorf("the answer that was lost is %d", status)
	}
}

// again repeats the message until the response is not a request to retry.
func (k *keyed) again(t *testing.T) (status int, answer programtest.Object, replayed bool) {
	t.Helper()
	k.b.Eventually("it is answered", func() bool {
		var header http.Header
		var err error
		if status, answer, header, err = k.post(t); err != nil {
			t.Fatal(err)
		}
		replayed = header.Get("Idempotency-Replayed") == "true"
		return status != http.StatusServiceUnavailable
	})
	return status, answer, replayed
}

// once fails unless the response is the one turn that the message started.
func (k *keyed) once(t *testing.T, ends string) {
	t.Helper()
	var turn string
	for i := range 2 {
		status, answer, replayed := k.again(t)
		if status != http.StatusAccepted || !replayed || i > 0 && programtest.Text(answer, "turnId") != turn {
			t.Fatalf("it is answered %d %v, as before: %v; its turn was %s", status, answer, replayed, turn)
		}
		turn = programtest.Text(answer, "turnId")
	}
	if status := k.events.WaitTurn(turn); status != ends {
		t.Errorf("its turn ended %s, not %s", status, ends)
	}
	if n := k.stall.Count(`select count(*) from turns where session_id = $1`, k.session); n != 2 {
		t.Errorf("there are %d turns, want the one before it and its own", n)
	}
}

func (k *keyed) stored() bool {
	return k.stall.Count(`select count(*) from message_keys where made <> ''`) == 1
}

func (k *keyed) delivered() bool { return k.siteA.Model.Asked("once") != "" }

// The owner is killed during a message with a key that another node forwarded, before or after its turn was stored.
// Until the owner is back, the response is when to retry. Then it is that turn.
func TestAKeyOfAnOwnerThatWasKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stalls  string
		reached func(*keyed) bool
	}{"stored": {"idempotency_keys", (*keyed).stored}, "begun": {"message_keys", (*keyed).delivered}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyed(t, c.stalls, withPort())
			k.lostAt(t, name, func() bool { return c.reached(k) }, func() {
				k.a.Kill()
				k.stall.End()
			})
			status, answer, header, err := k.post(t)
			if err != nil || status != http.StatusServiceUnavailable || programtest.Text(answer, "code") != "owner_unreachable" ||
				header.Get("Retry-After") == "" {
				t.Errorf("while its owner is away it is answered %d %v, again after %q, %v", status, answer, header.Get("Retry-After"), err)
			}
			k.a = k.siteA.Start()
			k.once(t, "completed")
		})
	}
}

// The owner is lost with its runtimes after the turn was stored. The session's new owner returns that turn.
func TestAKeyOfASessionThatWasTaken(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, "idempotency_keys", movable())
	k.kept(t, k.session, k.before)
	k.awaitGuarded(t)
	k.lostAt(t, "the turn is stored", k.stored, func() {
		k.a.Kill()
		k.siteA.EndRuntimes()
		k.stall.End()
	})
	k.once(t, "interrupted")
	if n := k.stall.Count(`select count(*) from sessions where id = $1 and epoch = 1`, k.session); n != 1 {
		t.Error("the session was not taken")
	}
}

// The owner is lost with its runtimes after codex got the message, with no line of codex stored. It is unknown
// whether the turn started, so the session's new owner does not send the message again. It accepts other messages.
func TestAKeyOfAMessageTheLostOwnerDelivered(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, "", movable())
	k.kept(t, k.session, k.before)
	k.awaitGuarded(t)
	k.a.SignalRuntime(syscall.SIGSTOP)
	k.lostAt(t, "the delivery to codex is noted", func() bool {
		return k.stall.Count(`select count(*) from message_keys where mark <> ''`) == 1
	}, func() {
		k.a.Kill()
		k.siteA.EndRuntimes()
	})
	for range 2 {
		if status, answer, _ := k.again(t); status != http.StatusConflict || programtest.Text(answer, "code") != "idempotency_outcome_unknown" {
			t.Errorf("it is answered %d %v", status, answer)
		}
	}
	if status := k.events.WaitTurn(k.b.Send(k.session, "MOCK_REPLY[after]")); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
}
