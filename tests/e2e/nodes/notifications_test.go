package nodes

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"harness/tests/programtest"
)

// Of two servers on one Postgres, exactly one notifies of an event, whichever server it happened on.
func TestOneNodeNotifiesOfAnEvent(t *testing.T) {
	t.Parallel()
	received := make(chan string, 100)
	place := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received <- r.Header.Get("Webhook-Id")
	}))
	t.Cleanup(place.Close)
	n := newNodes(t, withPort(), programtest.WithEnv("HARNESS_NOTIFY_WEBHOOK_URL="+place.URL,
		"HARNESS_NOTIFY_WEBHOOK_SECRET=the-secret-of-the-webhook", "HARNESS_NOTIFY_KINDS=turn.ended"))
	sessions := []string{n.a.CreateSession(nil), n.b.CreateSession(nil)}
	const turns = 6
	for i := range turns {
		n.a.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+sessions[i%2]+"/queue", programtest.Object{"text": "MOCK_REPLY[said]"})
	}
	seen := map[string]bool{}
	for len(seen) < turns {
		select {
		case id := <-received:
			if seen[id] {
				t.Errorf("%s is sent twice", id)
			}
			seen[id] = true
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d are sent", len(seen), turns)
		}
	}
	delivered := `harness_notify_messages_total{outcome="delivered",target="webhook"}`
	n.a.Eventually("all are counted", func() bool { return n.a.Metric(delivered)+n.b.Metric(delivered) == turns })
	if more := len(received); more > 0 {
		t.Errorf("%d more are sent", more)
	}
}
