package access

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"harness/tests/programtest"
)

// A webhook refuses the message about an approval, and the server is killed. The next server sends it again with the
// same id, and then the message about the end of the turn. No message, log or response contains a secret.
func TestAWebhookGetsItsMessageDespiteAKill(t *testing.T) {
	t.Parallel()
	type message struct {
		id, body string
		content  struct {
			Type string
			Data map[string]string
		}
	}
	var takes atomic.Bool
	received := make(chan message, 100)
	place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		one := message{id: r.Header.Get("Webhook-Id"), body: string(body)}
		if err != nil || json.Unmarshal(body, &one.content) != nil || r.Header.Get("Webhook-Signature") == "" {
			t.Errorf("sent %v %q", r.Header, body)
		}
		if !takes.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		received <- one
	}))
	defer place.Close()
	const secret = "whsec_Y2FuYXJ5LW9mLXRoZS13ZWJob29r"
	s := programtest.New(t, programtest.WithEnv("HARNESS_NOTIFY_WEBHOOK_URL="+place.URL+"/canary-of-the-url",
		"HARNESS_NOTIFY_WEBHOOK_SECRET="+secret, "HARNESS_PUBLIC_URL=https://agents.example.com"))
	server := s.Start()
	next := func() message {
		t.Helper()
		select {
		case one := <-received:
			return one
		case <-time.After(time.Minute):
			t.Fatalf("no message came: %s", server.LogTail())
			return message{}
		}
	}
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	server.Send(session, "MOCK_CMD[echo canary-of-the-command >> ran.txt]")
	first := next()
	if kind := first.content.Type; kind != "approval.waiting" {
		t.Fatalf("got %s", first.body)
	}
	server.Kill()
	takes.Store(true)
	logged := server.Log()
	server = s.Start()
	again := next()
	if again.id != first.id || again.body != first.body {
		t.Errorf("first %s %s, then %s %s", first.id, first.body, again.id, again.body)
	}
	data := again.content.Data
	if data["sessionId"] != session || data["link"] != "https://agents.example.com/s/"+session {
		t.Errorf("got %s", again.body)
	}
	server.Decide(data["requestId"])
	ended := next()
	if ended.content.Type != "turn.ended" || ended.content.Data["sessionId"] != session || ended.id == first.id {
		t.Errorf("got %s", ended.body)
	}
	server.Eventually("deliveries are counted", func() bool {
		return server.Metric(`harness_notify_messages_total{outcome="delivered",target="webhook"}`) == 2
	})
	_, settings := server.Ask(http.MethodGet, "/api/health", nil)
	for _, text := range []string{again.body, ended.body, logged, server.Log(), server.Metrics(), settings} {
		for _, canary := range []string{"canary-of-the-url", "canary-of-the-webhook", secret} {
			if strings.Contains(text, canary) {
				t.Errorf("%s is in %s", canary, text)
			}
		}
	}
}
