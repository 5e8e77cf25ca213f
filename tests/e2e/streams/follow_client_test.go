package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"harness/client"
	"harness/tests/programtest"
)

// TestAFollowerMissesNothingAcrossARestart: a program that follows with package client gets every entry once and in
// order, while its server is killed and replaced.
func TestAFollowerMissesNothingAcrossARestart(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)

	// The next server has another port; this address stays.
	var target atomic.Pointer[url.URL]
	at := func(i *programtest.Server) {
		parsed, err := url.Parse(i.URL)
		if err != nil {
			t.Fatal(err)
		}
		target.Store(parsed)
	}
	at(server)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target.Load()) },
		Transport: &http.Transport{DisableKeepAlives: true},
		// The server is briefly down.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(proxy.Close)

	const perServer = 20
	ctx, cancel := context.WithTimeout(t.Context(), 2*programtest.Patience)
	defer cancel()
	api, err := client.Connect(proxy.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		pos int64
		id  string
	}
	events, stands, followed := make(chan seen, 4*perServer), make(chan struct{}, 8), make(chan error, 1)
	errEnough := errors.New("enough")
	go func() {
		n := 0
		followed <- api.Follow(ctx, client.FollowOptions{Session: session}, func(frame client.Frame) error {
			if frame.Missed() {
				return fmt.Errorf("it missed something: %s", frame.Raw)
			}
			if frame.Type == "resumed" {
				stands <- struct{}{}
			}
			if frame.Type != "transcript_updated" {
				return nil
			}
			var payload struct{ MessageID string }
			if err := json.Unmarshal(frame.Payload, &payload); err != nil {
				return err
			}
			events <- seen{frame.Pos, payload.MessageID}
			if n++; n == 2*perServer {
				return errEnough
			}
			return nil
		})
	}()
	select {
	case <-stands:
	case err := <-followed:
		t.Fatal(err)
	}
	write := func(i *programtest.Server, from int) {
		for n := from; n < from+perServer; n++ {
			id := fmt.Sprintf("entry-%02d", n)
			i.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", programtest.Object{"messageId": id, "turnId": "t",
				"role": "system", "type": "note", "content": id, "status": "complete"})
		}
	}
	write(server, 0)
	server.Kill()
	next := s.Start()
	at(next)
	write(next, perServer)
	if err := <-followed; !errors.Is(err, errEnough) {
		t.Fatalf("the follower ended: %v", err)
	}
	close(events)
	n, last := 0, int64(0)
	for event := range events {
		if want := fmt.Sprintf("entry-%02d", n); event.id != want || event.pos <= last {
			t.Fatalf("event %d is %s at %d, after %d", n, event.id, event.pos, last)
		}
		n, last = n+1, event.pos
	}
	if _, err := client.Read[client.ReadSession200JSONResponseBody](api.ReadSession(ctx, "unknown", nil)); !isNotFound(err) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func isNotFound(err error) bool {
	var refused *client.StatusError
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Code == "not_found" && refused.RequestID != ""
}
