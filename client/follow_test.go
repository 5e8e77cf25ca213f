package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/client"
)

// A slow handler, for example one that asks a person, does not lose the connection: the client answers pings in the
// meantime, and then passes on the messages that arrived, in order.
func TestFollowAnswersPingsWhileAFrameIsHandled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	handling, answered := make(chan struct{}), make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			answered <- err
			return
		}
		defer func() { _ = conn.CloseNow() }()
		ctx := conn.CloseRead(ctx)
		for _, frame := range []string{`{"type":"resumed","to":4}`, `{"type":"first","pos":5}`, `{"type":"second","pos":6}`} {
			if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
				answered <- err
				return
			}
		}
		<-handling
		answered <- conn.Ping(ctx)
		<-ctx.Done()
	}))
	t.Cleanup(server.Close)
	api, err := client.Connect(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	errEnough, received := errors.New("enough"), ""
	err = api.Follow(ctx, client.FollowOptions{Lost: func(err error) { t.Errorf("lost: %v", err) }}, func(frame client.Frame) error {
		received += frame.Type + " "
		switch frame.Type {
		case "first":
			close(handling)
			return <-answered
		case "second":
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || received != "resumed first second " {
		t.Errorf("it received %s and ended with %v", received, err)
	}
}
