package clients

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"harness/tests/chromiumtest"
	"harness/tests/programtest"
)

// A real browser submits the form of a link's page as a same-origin request. The server has a token, and the browser
// has no login. The page's policy lets it render.
func TestALinkInABrowser(t *testing.T) {
	t.Parallel()
	requireConsole(t)
	links := make(chan string, 10)
	place := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Data map[string]string }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		links <- message.Data["decideLink"]
	}))
	defer place.Close()
	const public = "http://127.0.0.1"
	s := programtest.New(t, programtest.WithEnv("HARNESS_NOTIFY_WEBHOOK_URL="+place.URL, "HARNESS_NOTIFY_KINDS=approval.waiting",
		"HARNESS_NOTIFY_WEBHOOK_SECRET=a-key-of-the-webhook", "HARNESS_PUBLIC_URL="+public, "HARNESS_NOTIFY_DECIDE_LINKS=true"))
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_CMD[echo once >> ran.txt]")
	var link string
	select {
	case link = <-links:
	case <-time.After(time.Minute):
		t.Fatalf("no message came: %s", server.LogTail())
	}
	node := exec.CommandContext(t.Context(), "node", "e2e/link.mjs")
	node.Dir = consoleWeb
	node.Env = append(os.Environ(), "CONSOLE_LINK="+server.URL+strings.TrimPrefix(link, public),
		"CONSOLE_SAYS=echo once >> ran.txt", "CONSOLE_CHROMIUM="+chromiumtest.Shell(t))
	if out, err := node.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
}
