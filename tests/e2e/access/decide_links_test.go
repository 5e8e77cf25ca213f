package access

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/tests/programtest"
)

// The link of a notification shows the approval to every holder. Pressing a button decides it, once, with the actor
// "link". All else requires the server's token.
func TestALinkOfANotificationDecides(t *testing.T) {
	t.Parallel()
	received := make(chan map[string]string, 10)
	place := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Data map[string]string }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		received <- message.Data
	}))
	defer place.Close()
	const public = "http://127.0.0.1/below"
	s := programtest.New(t, programtest.WithEnv("HARNESS_NOTIFY_WEBHOOK_URL="+place.URL, "HARNESS_NOTIFY_KINDS=approval.waiting",
		"HARNESS_NOTIFY_WEBHOOK_SECRET=a-key-of-the-webhook", "HARNESS_PUBLIC_URL="+public,
		"HARNESS_NOTIFY_DECIDE_LINKS=true"))
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_CMD[echo once >> ran.txt]")
	var got map[string]string
	select {
	case got = <-received:
	case <-time.After(time.Minute):
		t.Fatalf("no message came: %s", server.LogTail())
	}
	link, is := strings.CutPrefix(got["decideLink"], public)
	if !is {
		t.Fatalf("got %v", got)
	}
	post := func(path, decision string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path,
			strings.NewReader(url.Values{"decision": {decision}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if closed := answer.Body.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		return answer.StatusCode, string(body)
	}
	for range 2 {
		if status, page := server.Ask(http.MethodGet, "/below"+link, map[string]string{"Accept": "text/html"}); status != http.StatusOK ||
			!strings.Contains(page, "echo once &gt;&gt; ran.txt") || !strings.Contains(page, `value="accept"`) {
			t.Fatalf("the link shows %d %s", status, page)
		}
	}
	if status, page := post(link[:len(link)-4]+"AAAA", "accept"); status != http.StatusNotFound {
		t.Errorf("a changed link: %d %s", status, page)
	}
	if status, page := post(link+"?"+strings.Repeat("x", 66_000), "accept"); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a link that is too long: %d %s", status, page)
	}
	if waiting := server.Approvals(session); len(waiting) != 1 {
		t.Fatalf("decided by looking: %v", waiting)
	}
	if status, page := post(link, "accept"); status != http.StatusOK || !strings.Contains(page, "Approved") {
		t.Fatalf("approving: %d %s", status, page)
	}
	if status, page := post(link, "decline"); status != http.StatusGone || !strings.Contains(page, "link said accept.") {
		t.Errorf("used again: %d %s", status, page)
	}
	if by := programtest.Text(events.WaitType("approval_resolved").Decoded(), "decidedBy"); by != "link" {
		t.Errorf("decided by %q", by)
	}
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	events.Close()
	server.Stop()
	if code, rows := s.Command("audit", "export", "--session", session); code != 0 || !strings.Contains(rows, `"actor":"link"`) {
		t.Errorf("the audit log: %d %s", code, rows)
	}
	rows, log := requestsOf(t, s)
	for _, status := range []int{http.StatusOK, http.StatusNotFound, http.StatusGone, http.StatusRequestHeaderFieldsTooLarge} {
		if !slices.ContainsFunc(rows, func(one asked) bool { return one.Route == "POST /decide/{link}" && one.Status == status }) {
			t.Errorf("no record of a link that was answered %d: %v", status, rows)
		}
	}
	if strings.Contains(log, strings.TrimPrefix(link, "/decide/")) {
		t.Error("the link is in the audit log")
	}
	if strings.Contains(server.Log(), strings.TrimPrefix(link, "/decide/")) {
		t.Error("the link is in the log")
	}
}

// The server creates no links by default.
func TestThereAreNoLinksByDefault(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv("HARNESS_CONSOLE=false")).Start()
	if status, body := server.Ask(http.MethodGet, "/decide/abc", nil); status != http.StatusNotFound ||
		!strings.Contains(body, "not found") {
		t.Errorf("%d %s", status, body)
	}
}
