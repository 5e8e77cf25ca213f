package login

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/tests/oidctest"
	"harness/tests/programtest"
)

// A token in GitHub Actions' format can post a transcript entry as ci, in its project, and nothing else. Its sockets
// end when it expires.
func TestAWorkloadPostsAnEntry(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	file := providers(t, map[string]any{"name": "actions", "kind": "workload", "issuer": issuer.URL, "audience": "harness", "role": "ci",
		"claims": map[string]string{"repository": "octo/app", "ref": "refs/heads/*"}},
		map[string]any{"name": "watch", "kind": "workload", "issuer": issuer.URL, "audience": "harness", "role": "viewer",
			"claims": map[string]string{"repository": "octo/dashboard"}})
	server := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+ownersToken, "HARNESS_OIDC_FILE="+file)).Start()
	server.Headers = map[string]string{"Authorization": "Bearer " + ownersToken}
	session := server.CreateSession(programtest.Object{})
	sign := func(audience string, more map[string]any) map[string]string {
		claims := map[string]any{"sub": "repo:octo/app:ref:refs/heads/main", "repository": "octo/app", "ref": "refs/heads/main", "actor": "ann"}
		for name, value := range more {
			claims[name] = value
		}
		return map[string]string{"Authorization": "Bearer " + issuer.Sign(issuer.Claims(audience, claims))}
	}
	upsert := "/api/sessions/" + session + "/transcript/upsert"
	entry := programtest.Object{"turnId": "t1", "messageId": "ci-1", "role": "system", "type": "ci.result", "content": "the build is green", "status": "complete"}
	for name, c := range map[string]struct {
		headers map[string]string
		status  int
		says    string
	}{
		"right":              {sign("harness", nil), http.StatusOK, ""},
		"another repository": {sign("harness", map[string]any{"repository": "octo/other"}), http.StatusForbidden, "invalid_role_claim"},
		"another audience":   {sign("other", nil), http.StatusUnauthorized, "invalid_bearer_token"},
		"expired":            {sign("harness", map[string]any{"exp": 1}), http.StatusUnauthorized, "invalid_bearer_token"},
		"another issuer":     {sign("harness", map[string]any{"iss": "https://other.example"}), http.StatusUnauthorized, "unauthorized"},
	} {
		server.Headers = c.headers
		status, body, err := server.Try(http.MethodPost, upsert, entry)
		if err != nil || status != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %d %s %v, want %d %s", name, status, body, err, c.status, c.says)
		}
	}
	server.Headers = sign("harness", nil)
	if status, body, err := server.Try(http.MethodPost, "/api/sessions", programtest.Object{}); err != nil || status != http.StatusForbidden {
		t.Errorf("a workload opens a session: %d %s %v", status, body, err)
	}
	if _, who := server.Call(http.MethodGet, "/api/me", nil); who["actor"] != "oidc:actions:repo:octo/app:ref:refs/heads/main" || who["role"] != "ci" {
		t.Errorf("it is %v", who)
	}
	ends := time.Now().Add(4 * time.Second)
	headers := sign("harness", map[string]any{"repository": "octo/dashboard", "exp": ends.Unix()})
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	conn, answer, err := websocket.Dial(ctx, server.URL+"/api/stream", &websocket.DialOptions{HTTPClient: server.Client(),
		HTTPHeader: http.Header{"Authorization": {headers["Authorization"]}}})
	if err != nil {
		t.Fatalf("%v %v", answer, err)
	}
	for err == nil {
		_, _, err = conn.Read(ctx)
	}
	if time.Now().Before(ends.Add(-2*time.Second)) || ctx.Err() != nil {
		t.Errorf("the socket ends at %v with %v, its token at %v", time.Now(), err, ends)
	}
	server.Stop()
}
