package clients

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/tests/agenttest"
	"harness/tests/chromiumtest"
	"harness/tests/programtest"
)

//go:embed testdata/copilotkit.html
var copilotKitPage []byte

// chat is what a page of CopilotKit shows.
type chat struct {
	Running                          bool
	User, Assistant, Tools, Requests []string
	Failed                           string
}

// openChat opens a page of CopilotKit in Chromium that sends a message to a session. The page's origin is
// http://localhost:5173.
func openChat(t *testing.T, agui, message string) <-chan chat {
	t.Helper()
	bundle := filepath.Join(agenttest.Clients(t, "copilotkit", "package.json", ".npmrc", "build.mjs", "page.mjs"), "page")
	shown := make(chan chat, 1000)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(copilotKitPage)
	})
	mux.HandleFunc("POST /shown", func(_ http.ResponseWriter, r *http.Request) {
		var now chat
		if err := json.NewDecoder(r.Body).Decode(&now); err != nil {
			now.Failed = err.Error()
		}
		shown <- now
	})
	mux.Handle("GET /page/", http.StripPrefix("/page/", http.FileServerFS(os.DirFS(bundle))))
	pages := httptest.NewServer(mux)
	t.Cleanup(pages.Close)
	query := url.Values{"agui": {agui}, "say": {message}}
	chromiumtest.Open(t, "http://localhost:5173/?"+query.Encode(),
		map[string]string{"localhost:5173": strings.TrimPrefix(pages.URL, "http://")})
	return shown
}

// AG-11: a chat of CopilotKit in a real browser, on another origin, runs a session: it shows the call of a tool, what
// asks a person, who decides over REST, the text while it grows, and the end.
func copilotKitRunsASession(t *testing.T, s *programtest.Site, server *programtest.Server) {
	t.Helper()
	session, file := server.CreateSession(nil), filepath.Join(s.Workspace, "chatted")
	shown := openChat(t, server.URL+"/agui/"+session, "MOCK_CMD[touch "+file+"] MOCK_SLOW[3,1] MOCK_HOLD[chat]")
	var last chat
	until := func(what string, fits func() bool) {
		t.Helper()
		late := time.After(programtest.Patience)
		for !fits() {
			select {
			case last = <-shown:
			case <-late:
				t.Fatalf("%s is not shown: %+v", what, last)
			}
			if last.Failed != "" {
				t.Fatalf("the page fails: %s", last.Failed)
			}
		}
	}
	has := func(of []string, text string) bool { return strings.Contains(strings.Join(of, "\n"), text) }
	until("the request", func() bool { return last.Running && has(last.Requests, "harness.request ") && len(last.Tools) == 1 })
	approval := programtest.Text(server.Approvals(session)[0], "approvalId")
	if !has(last.Requests, approval) || !has(last.User, file) {
		t.Errorf("request %s shows as %+v", approval, last)
	}
	server.Decide(approval)
	until("the decision", func() bool { return has(last.Requests, "harness.request_resolved") })
	until("the text", func() bool { return has(last.Assistant, "word0 word1 word2") })
	if !last.Running || has(last.Assistant, "released") {
		t.Errorf("the held text shows as %+v", last)
	}
	s.Model.Release("chat")
	// The page may show the end a moment before the last of the text.
	until("the end", func() bool { return !last.Running && has(last.Assistant, "word0 word1 word2 released chat") })
	if len(last.Tools) != 1 || len(last.User) != 1 {
		t.Errorf("the run ends as %+v", last)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
