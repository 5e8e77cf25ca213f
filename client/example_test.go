package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/coder/websocket"

	"harness/client"
)

// answering is a server with the same response to every request.
func answering(status int, body string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
}

// List the sessions of a server.
func ExampleConnect() {
	server := answering(http.StatusOK, `{"data":[{"sessionId":"s-1","cwd":"/work/shop"}],"nextCursor":null}`)
	defer server.Close()

	api, err := client.Connect(server.URL, "the token")
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := client.Read[client.ListSessions200JSONResponseBody](api.ListSessions(context.Background(), nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, session := range page.Data {
		fmt.Println(session.SessionID, session.Cwd)
	}
	// Output: s-1 /work/shop
}

// A refused request is a StatusError: Code is for programs, Message is for people.
func ExampleStatusError() {
	server := answering(http.StatusNotFound, `{"status":"not_found","message":"there is no session s-2"}`)
	defer server.Close()

	api, err := client.Connect(server.URL, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Read[json.RawMessage](api.ReadSession(context.Background(), "s-2", nil))
	var refused *client.StatusError
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code)
		fmt.Println(refused.Message)
	}
	// Output:
	// 404 not_found
	// there is no session s-2
}

// streaming is a server with an event stream of these frames.
func streaming(frames ...string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		ctx := conn.CloseRead(r.Context())
		for _, frame := range frames {
			if conn.Write(ctx, websocket.MessageText, []byte(frame)) != nil {
				return
			}
		}
		<-ctx.Done()
	}))
}

// Print an agent's text as it grows, until its turn is completed. Follow reconnects automatically and misses no event.
func ExampleClient_Follow() {
	server := streaming(
		`{"type":"resumed","to":0}`,
		`{"type":"notification","threadId":"s-1","offset":0,
			"payload":{"method":"item/agentMessage/delta","params":{"itemId":"i-1","delta":"Hello, "}}}`,
		`{"type":"notification","threadId":"s-1","offset":0,"pos":16,
			"payload":{"method":"item/agentMessage/delta","params":{"itemId":"i-1","delta":"Hello, world."}}}`,
		`{"type":"notification","threadId":"s-1","pos":32,"payload":{"method":"turn/completed","params":{}}}`)
	defer server.Close()

	api, err := client.Connect(server.URL, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	completed := errors.New("the turn is completed")
	var texts client.Texts
	err = api.Follow(context.Background(), client.FollowOptions{Session: "s-1", After: "0"}, func(frame client.Frame) error {
		if frame.Missed() {
			return errors.New("events are gone: read the session again over REST")
		}
		if item, _, text := texts.Added(&frame); item != "" {
			fmt.Print(text) // a repeated text is added once
		}
		var line struct{ Method string }
		if json.Unmarshal(frame.Payload, &line) == nil && line.Method == "turn/completed" {
			return completed
		}
		return nil
	})
	fmt.Println()
	fmt.Println(err)
	// Output:
	// Hello, world.
	// the turn is completed
}
