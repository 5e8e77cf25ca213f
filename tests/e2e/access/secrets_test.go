package access

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// Secrets planted in every place that accepts one appear in no log line, error, response or metric. codex does not
// inherit the server's secrets.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	const token, key = "canary-token-0123456789-0123", "sk-canary-9876543210"
	const others, undecided = "canary-of-another-provider", "canary-unasked"
	s := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+token, "OPENAI_API_KEY="+key, "LOG_LEVEL=debug",
		"ANTHROPIC_API_KEY="+others, "GEMINI_API_KEY="+others, "OPENCODE_CONFIG_CONTENT="+others, "UNASKED="+undecided,
		"ALLOWED=canary-allowed", "HARNESS_RUNTIME_ENV=closed", "HARNESS_RUNTIME_ENV_ALLOW=ALLOWED"))
	server := s.Start()
	var shown strings.Builder
	for _, path := range []string{"/api/health", "/api/sessions", "/metrics", "/api/stream", "/nowhere",
		"/api/sessions?access_token=" + token} {
		for _, authorization := range []string{"", "Bearer wrong", "Bearer " + token} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if authorization != "" {
				request.Header.Set("Authorization", authorization)
			}
			shown.WriteString(server.Show(request))
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/sessions", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if answer := server.Show(request); !strings.Contains(answer, `"sessionId"`) {
		t.Fatalf("the token does not open the door: %s", answer)
	}
	if runtime.GOOS == "linux" { // other systems do not show a process's environment
		_, health := server.Call(http.MethodGet, "/api/health", nil)
		codex, _ := health["codex"].(programtest.Object)
		shim, _ := codex["shim"].(programtest.Object)
		for _, pid := range []any{codex["pid"], shim["pid"]} {
			environ, err := os.ReadFile(fmt.Sprintf("/proc/%v/environ", pid))
			if err != nil {
				t.Fatal(err)
			}
			for secret, has := range map[string]bool{token: false, others: false, undecided: false, key: true,
				"canary-allowed": true} {
				if strings.Contains(string(environ), secret) != has {
					t.Errorf("process %v inherits %s: %t", pid, secret, !has)
				}
			}
		}
	}
	server.Stop()
	for place, content := range map[string]string{"an answer": shown.String(), "the log": server.LogTail()} {
		for _, secret := range []string{token, key} {
			if strings.Contains(content, secret) {
				t.Errorf("%s is in %s", secret, place)
			}
		}
	}
	if !strings.Contains(shown.String(), "unauthorized") ||
		!strings.Contains(shown.String(), "harness_journal_events_total") {
		t.Errorf("the test lost its point: %s", shown.String()[:min(2000, shown.Len())])
	}
}
