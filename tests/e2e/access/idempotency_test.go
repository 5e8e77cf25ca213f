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

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// keyed posts a request with a key.
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

// deliveries returns how often a session got a message, and the turn that started with it.
func deliveries(i *programtest.Server, session, message string) (times int, turn string) {
	i.T.Helper()
	for _, entry := range i.Transcript(session) {
		if programtest.Text(entry, "type") == "userMessage" && programtest.Text(entry, "content") == message {
			times, turn = times+1, programtest.Text(entry, "turnId")
		}
	}
	return times, turn
}

// A slow store and a kill between the creation of a session and storing the response: the server does not create it
// again. A retry gets the response that the first request may have been executed.
func TestKilledBeforeTheAnswerWasKept(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEngine(database.Postgres))
	server := s.Start()
	server.CreateSession(nil)
	stall := dbtest.NewStall(t, s.Store())
	stall.Updates("idempotency_keys")
	const sessions = `select count(*) from sessions`
	body, ended := programtest.Object{"cwd": s.Workspace}, make(chan error, 1)
	go func() {
		status, answer, err := keyed(server, "key", "/api/sessions", body)
		if err == nil {
			err = fmt.Errorf("it was answered %d %v", status, answer)
		}
		ended <- err
	}()
	server.Eventually("it is done", func() bool { return stall.Count(sessions) == 2 })
	server.Kill()
	if err := <-ended; strings.Contains(err.Error(), "answered") {
		t.Fatal(err)
	}
	stall.End()
	server = s.Start()
	server.WaitRuntime()
	status, answer, err := keyed(server, "key", "/api/sessions", body)
	if err != nil || status != http.StatusConflict || programtest.Text(answer, "code") != "idempotency_outcome_unknown" {
		t.Errorf("again: %d %v, %v", status, answer, err)
	}
	if n := stall.Count(sessions); n != 2 {
		t.Errorf("there are %d sessions", n)
	}
}

// A client retries a message with its key through kills at any moment. The session gets it at most once, and each
// retry gets the same response.
func TestAKeyOutlivesKills(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	path := "/api/sessions/" + session + "/messages"
	for round, moment := range []func(events *programtest.Follower, answered <-chan programtest.Object, message string){
		func(*programtest.Follower, <-chan programtest.Object, string) {},
		func(events *programtest.Follower, _ <-chan programtest.Object, message string) { // which may be steered into the previous message's turn
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
		if !known && programtest.Text(answer, "code") != "idempotency_outcome_unknown" || round != 1 && !known {
			t.Errorf("round %d was answered %d %v", round, status, answer)
		}
		if known {
			server.Eventually("what was answered is stored", func() bool { times, _ := deliveries(server, session, message); return times > 0 })
		}
		if times, turn := deliveries(server, session, message); times > 1 || known && turn != programtest.Text(answer, "turnId") {
			t.Errorf("round %d was delivered %d times, in turn %s; the answer was %v", round, times, turn, answer)
		}
	}
}
