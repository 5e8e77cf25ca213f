package access

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"harness/internal/dbtest"
	"harness/internal/programtest"
)

// keyed posts with a key.
func keyed(i *programtest.Server, key, path string, body programtest.Object) (int, programtest.Object, error) {
	i.T.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		i.T.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, i.URL+path, bytes.NewReader(encoded))
	if err != nil {
		i.T.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	response, err := i.Client().Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	var answer programtest.Object
	if err := json.Unmarshal(raw, &answer); err != nil {
		i.T.Errorf("%s was answered %d %q", path, response.StatusCode, raw)
	}
	return response.StatusCode, answer, nil
}

// told is how often a session was told a message, and the turns that began with it.
func told(i *programtest.Server, session, message string) (times int, turn string) {
	i.T.Helper()
	for _, entry := range i.Transcript(session) {
		if programtest.Text(entry, "type") == "userMessage" && programtest.Text(entry, "content") == message {
			times, turn = times+1, programtest.Text(entry, "turnId")
		}
	}
	return times, turn
}

// Killed between doing what was asked and keeping the answer, on a store that takes long to keep it, a server does not do
// it again: a session is begun once, a message told once, and who asks again hears that it may have been done.
func TestKilledBeforeTheAnswerWasKept(t *testing.T) {
	t.Parallel()
	role := dbtest.NewRole(t)
	s := programtest.New(t, programtest.WithDatabase(role.URL))
	server := s.Start()
	session := server.CreateSession(nil)
	role.Do(`create function dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$`)
	role.Do(`create trigger dawdle before update on idempotency_keys for each row execute function dawdle()`)
	sessions := func() int {
		return len(server.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)["data"].([]any))
	}
	times := func() int {
		times, _ := told(server, session, "MOCK_REPLY[once]")
		return times
	}
	db := dbtest.Connect(t, s.Store())
	turnIsStored := func() bool {
		var turns int
		err := db.Read().QueryRowContext(t.Context(), `select count(*) from turns where session_id = $1`, session).Scan(&turns)
		return err == nil && turns == 1 // its connection may have been cut off with the server's
	}
	ended := make(chan error, 1)
	for _, asked := range []struct {
		path string
		body programtest.Object
		done func() bool
	}{
		{"/api/sessions", programtest.Object{"cwd": s.Workspace}, func() bool { return sessions() == 2 }},
		{"/api/sessions/" + session + "/messages", programtest.Object{"text": "MOCK_REPLY[once]"}, turnIsStored},
	} {
		go func() {
			status, answer, err := keyed(server, "of:"+asked.path, asked.path, asked.body)
			if err == nil {
				err = fmt.Errorf("it was answered %d %v", status, answer)
			}
			ended <- err
		}()
		server.Eventually(asked.path+" is done", asked.done)
		server.Kill()
		if err := <-ended; strings.Contains(err.Error(), "answered") {
			t.Fatal(err)
		}
		role.Disconnect()
		role.Do(`alter table idempotency_keys disable trigger dawdle`)
		server = s.Start()
		server.WaitRuntime()
		status, answer, err := keyed(server, "of:"+asked.path, asked.path, asked.body)
		if err != nil || status != http.StatusConflict || programtest.Text(answer, "code") != "idempotency_outcome_unknown" {
			t.Errorf("%s again: %d %v, %v", asked.path, status, answer, err)
		}
		role.Do(`alter table idempotency_keys enable trigger dawdle`)
	}
	server.Eventually("what the agent was told is stored", func() bool { return times() > 0 })
	if sessions() != 2 || times() != 1 {
		t.Errorf("there are %d sessions, and it was told %d times", sessions(), times())
	}
}

// A message that is sent again and again with its key through kills at any moment is told at most once, and whoever is
// answered is answered the same.
func TestAKeyOutlivesKills(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	path := "/api/sessions/" + session + "/messages"
	for round, moment := range []func(events *programtest.Follower, answered <-chan programtest.Object, message string){
		func(*programtest.Follower, <-chan programtest.Object, string) {},
		func(events *programtest.Follower, _ <-chan programtest.Object, message string) { // which may be steered into the turn of the one before
			events.Wait("the message", func(f programtest.Frame) bool { return strings.Contains(f.Raw, message) })
		},
		func(_ *programtest.Follower, answered <-chan programtest.Object, _ string) { <-answered },
	} {
		message := fmt.Sprintf("MOCK_REPLY[%d]", round)
		key, body, answered, ended := fmt.Sprint("key-", round), programtest.Object{"text": message}, make(chan programtest.Object, 1), make(chan struct{})
		events := server.Follow("threadId=" + session)
		go func() {
			defer close(ended)
			if status, answer, err := keyed(server, key, path, body); err == nil && status == http.StatusAccepted {
				answered <- answer
			}
		}()
		moment(events, answered, message)
		server.Kill()
		<-ended
		server = s.Start()
		server.WaitRuntime()
		var (
			status int
			answer programtest.Object
		)
		server.Eventually("the server takes requests", func() bool {
			var err error
			if status, answer, err = keyed(server, key, path, body); err != nil {
				t.Fatal(err)
			}
			return status != http.StatusServiceUnavailable
		})
		known := status == http.StatusAccepted
		if !known && programtest.Text(answer, "code") != "idempotency_outcome_unknown" || round == 2 && !known {
			t.Errorf("round %d was answered %d %v", round, status, answer)
		}
		if known {
			server.Eventually("what was answered is stored", func() bool { times, _ := told(server, session, message); return times > 0 })
		}
		if times, turn := told(server, session, message); times > 1 || known && turn != programtest.Text(answer, "turnId") {
			t.Errorf("round %d was told %d times, in turn %s; the answer was %v", round, times, turn, answer)
		}
	}
}
