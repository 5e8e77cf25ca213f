package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A user with a valid token is not asked for another one if the agent on the server is not logged in.
func TestARefusalNamesWhatIsToBeDone(t *testing.T) {
	for name := range map[string]bool{"HARNESS_URL": true, "HARNESS_TOKEN": true, "HARNESS_TOKEN_FILE": true, "HARNESS_PROFILE": true} {
		t.Setenv(name, "")
	}
	const token = "name the server's token in HARNESS_TOKEN"
	for body, names := range map[string]bool{
		`{"status":"error","code":"unauthorized","message":"a valid access token is required"}`:        true,
		`{"status":"unauthorized","code":"invalid_token"}`:                                             true,
		`{"status":"error","code":"auth_required","message":"the login of codex ... : harness login"}`: false,
		// A response of an older server with fewer details.
		`{"status":"error","code":"auth_required","message":"codex rpc error -32600: authentication required"}`: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(body))
		}))
		for _, args := range [][]string{{"models"}, {"projects", "list"}} {
			out, err := command(t, "", append(args, "--url", server.URL)...)
			if err == nil || strings.Contains(err.Error(), token) != names {
				t.Errorf("%v, answered %s: %s %v", args, body, out, err)
			}
		}
		server.Close()
	}
}
